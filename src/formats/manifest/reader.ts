/** Reads a manifest as it arrives, in memory that follows what it maps and not how it is written. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import { isTxId, type TxId } from '../base64url.ts';
import { type JsonListener, JsonScanner } from '../json-scanner.ts';
import { type Manifest, maxManifestBytes, withoutTrailingSlashes } from './manifest.ts';

/** Reads a document, or answers undefined when it is no manifest at all. */
export function parseManifest(bytes: Buffer): Manifest | undefined {
  const reader = new ManifestReader();
  return reader.write(bytes) ? reader.end() : undefined;
}

/** Some milliseconds' worth. */
const stepBytes = 512 * 1024;

/** Without blocking the event loop: after each step other work has its turn. */
export async function readManifestInSteps(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<Manifest | undefined> {
  const reader = new ManifestReader();
  let sinceYield = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += stepBytes) {
      const step = piece.subarray(at, at + stepBytes);
      if (!reader.write(step)) return undefined;
      sinceYield += step.length;
      if (sinceYield < stepBytes) continue;
      sinceYield = 0;
      await yieldToOthers();
    }
  }
  return reader.end();
}

export class ManifestReader {
  readonly #document = new Document();
  readonly #scanner = new JsonScanner(this.#document);
  #bytes = 0;

  /** False once it is clear that this is no manifest. */
  write(piece: Buffer): boolean {
    this.#bytes += piece.length;
    return this.#bytes <= maxManifestBytes && this.#scanner.write(piece) && !this.#document.isOther;
  }

  /** undefined when what came is no manifest at all. */
  end(): Manifest | undefined {
    const isWhole = this.#scanner.end() && this.#bytes <= maxManifestBytes;
    return isWhole && !this.#document.isOther ? this.#document.manifest() : undefined;
  }
}

/** The members that matter, by where they stand: `version`, `index.path`, `paths.{path}.id`. The last of equal ones wins. */
class Document implements JsonListener {
  isOther = false;
  #depth = 0;
  /** The keys that lead to where we are. */
  #member: string | undefined;
  #second: string | undefined;
  #third: string | undefined;
  /** What the root's member, and what its member is. */
  #memberIsObject = false;
  #secondIsObject = false;
  #version: string | undefined;
  #indexPath: string | undefined;
  #indexId: TxId | undefined;
  #fallbackId: TxId | undefined;
  #entryId: TxId | undefined;
  #paths = new Map<string, TxId>();
  /** By their paths as they stand. */
  #slashed = new Map<string, TxId>();

  wants(): boolean {
    return this.#depth === 1 || (this.#depth === 2 && this.#memberIsObject) || this.#inEntry();
  }

  open(container: 'object' | 'array'): void {
    this.#depth += 1;
    const isObject = container === 'object';
    if (this.#depth === 1) this.isOther ||= !isObject;
    else if (this.#depth === 2) {
      this.#memberIsObject = isObject && /^(index|fallback|paths)$/.test(this.#member ?? '');
      this.#setMember(undefined);
    } else if (this.#depth === 3 && this.#memberIsObject) {
      this.#secondIsObject = isObject && this.#member === 'paths';
      this.#entryId = undefined;
      if (this.#member !== 'paths') this.#setSecond(undefined);
    } else if (this.#depth === 4 && this.#secondIsObject && this.#third === 'id') this.#entryId = undefined;
  }

  close(): void {
    if (this.#depth === 3 && this.#memberIsObject) {
      if (this.#member === 'paths') this.#setSecond(this.#entryId);
      this.#secondIsObject = false;
    } else if (this.#depth === 2) this.#memberIsObject = false;
    this.#depth -= 1;
  }

  key(text: string | undefined): void {
    if (this.#depth === 1) this.#member = text;
    else if (this.#depth === 2) this.#second = text;
    else if (this.#depth === 3) this.#third = text;
  }

  scalar(text: string | undefined): void {
    if (this.#depth === 0) this.isOther = true;
    else if (this.#depth === 1) this.#setMember(text);
    else if (this.#depth === 2 && this.#memberIsObject)
      this.#setSecond(this.#member === 'paths' ? undefined : text);
    else if (this.#inEntry() && this.#third === 'id') this.#entryId = idOf(text);
  }

  manifest(): Manifest {
    const second = this.#version === '0.2.0';
    this.#addSlashed();
    return {
      version: this.#version,
      indexPath: this.#indexPath === undefined ? undefined : withoutTrailingSlashes(this.#indexPath),
      indexId: second ? this.#indexId : undefined,
      fallbackId: second ? this.#fallbackId : undefined,
      paths: this.#paths,
    };
  }

  /** Of paths that differ in trailing slashes only the shortest wins: the order of keys does not matter. */
  #addSlashed(): void {
    const lengths = new Map<string, number>();
    for (const [path, id] of this.#slashed) {
      const name = withoutTrailingSlashes(path);
      const shortest = lengths.get(name) ?? (this.#paths.has(name) ? name.length : Number.POSITIVE_INFINITY);
      if (path.length > shortest) continue;
      this.#paths.set(name, id);
      lengths.set(name, path.length);
    }
  }

  #inEntry(): boolean {
    return this.#depth === 3 && this.#secondIsObject;
  }

  /** A new value takes the place of what an equal key gave before, all of it. */
  #setMember(text: string | undefined): void {
    if (this.#member === 'version') this.#version = text;
    else if (this.#member === 'fallback') this.#fallbackId = undefined;
    else if (this.#member === 'index') {
      this.#indexPath = undefined;
      this.#indexId = undefined;
    } else if (this.#member === 'paths') {
      this.#paths = new Map();
      this.#slashed = new Map();
    }
  }

  #setSecond(text: string | undefined): void {
    if (this.#second === undefined) return;
    if (this.#member === 'paths') this.#setPath(this.#second, idOf(text));
    else if (this.#second === 'id') {
      if (this.#member === 'index') this.#indexId = idOf(text);
      else this.#fallbackId = idOf(text);
    } else if (this.#second === 'path' && this.#member === 'index') this.#indexPath = text;
  }

  #setPath(path: string, id: TxId | undefined): void {
    const name = withoutTrailingSlashes(path);
    const [paths, key] = name === path ? [this.#paths, name] : [this.#slashed, path];
    if (id === undefined) paths.delete(key);
    else paths.set(key, id);
  }
}

function idOf(text: string | undefined): TxId | undefined {
  return text !== undefined && isTxId(text) ? text : undefined;
}
