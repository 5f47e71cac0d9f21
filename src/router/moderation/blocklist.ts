/**
 * What may not be served. Asked at every hop of a request (name, what it points at, manifest, file in it), so it
 * answers from two sets in memory. Changes are written to the file before they count; the file may also be
 * changed by hand or replaced, and a bad one changes nothing.
 */

import { appendFile, mkdir, open, readFile, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { hasCode, messageOf, StartupError } from '../../kernel/errors.ts';
import { writeFileDurably } from '../../kernel/files.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import { labelAndName } from '../request/host.ts';
import { type BlockEntry, type BlockType, blocklistText, parseBlocklist } from './entries.ts';
import { watchFile } from './watch-file.ts';

export interface AuditLine {
  readonly at: string;
  readonly actor: string;
  readonly action: 'block' | 'unblock' | 'reload';
  readonly type?: BlockType;
  readonly value?: string;
  readonly reason?: string;
  readonly source: 'api' | 'admin' | 'file';
}

const fileLimit = 64 * 1024 * 1024;
const auditShown = 256 * 1024;

export class Blocklist implements Part {
  readonly name = 'moderation';
  readonly path: string;
  readonly #log: Logger;
  #entries = new Map<string, BlockEntry>();
  #names = new Set<string>();
  #ids = new Set<string>();
  #lastUpdated: string | null = null;
  #text = '';
  #changes: Promise<unknown> = Promise.resolve();
  #unwatch: (() => void) | undefined;
  /** Why the file is not what is enforced. */
  problem: string | undefined;
  failedReloads = 0;

  constructor(path: string, log: Logger) {
    this.path = path;
    this.#log = log;
  }

  /** A list that cannot be read at start is fatal: serving what should be blocked is worse than not serving. */
  async start(): Promise<void> {
    try {
      await mkdir(dirname(this.path), { recursive: true });
      const text = await this.#readFile();
      if (text === undefined) await this.#store([]);
      else this.#adopt(parseBlocklist(text), text);
    } catch (error) {
      throw new StartupError(`MODERATION_BLOCKLIST_PATH ${this.path}: ${messageOf(error)}`, {
        cause: error,
      });
    }
    this.#unwatch = watchFile(this.path, () => void this.reload('file').catch(() => {}));
  }

  async stop(): Promise<void> {
    this.#unwatch?.();
  }

  problems(): readonly string[] {
    return this.problem === undefined ? [] : [`blocklist: ${this.problem}`];
  }

  blocksId(id: string): boolean {
    return this.#ids.has(id);
  }

  /** A blocked name takes its undernames with it; a blocked undername is blocked alone. */
  blocksLabel(label: string): boolean {
    if (this.#names.size === 0) return false;
    return labelAndName(asciiLowerCase(label)).some((name) => this.#names.has(name));
  }

  find(type: BlockType, value: string): BlockEntry | undefined {
    return this.#entries.get(keyOf(type, value));
  }

  entries(type?: BlockType): BlockEntry[] {
    return [...this.#entries.values()].filter((entry) => type === undefined || entry.type === type);
  }

  stats() {
    return {
      totalEntries: this.#entries.size,
      arnsCount: this.#names.size,
      /** Ids that are blocked by themselves or through a name. */
      txIdCount: this.#ids.size,
      lastUpdated: this.#lastUpdated,
      filePath: this.path,
    };
  }

  /** Adds an entry, or what is new about one. True when anything changed. */
  block(entry: BlockEntry, source: AuditLine['source']): Promise<boolean> {
    return this.#change(async () => {
      await this.#followFile();
      const key = keyOf(entry.type, entry.value);
      const known = this.#entries.get(key);
      if (known !== undefined && (known.resolvedTxId !== undefined || entry.resolvedTxId === undefined)) {
        return false;
      }
      const next = new Map(this.#entries).set(
        key,
        known === undefined || entry.resolvedTxId === undefined
          ? entry
          : { ...known, resolvedTxId: entry.resolvedTxId },
      );
      await this.#store([...next.values()]);
      const { type, value, reason, blockedBy: actor, blockedAt: at } = entry;
      if (known === undefined) await this.#audit({ at, actor, action: 'block', type, value, reason, source });
      return true;
    });
  }

  /** The entry that was removed; undefined when there was none. */
  unblock(
    type: BlockType,
    value: string,
    actor: string,
    source: AuditLine['source'],
  ): Promise<BlockEntry | undefined> {
    return this.#change(async () => {
      await this.#followFile();
      const key = keyOf(type, value);
      const entry = this.#entries.get(key);
      if (entry === undefined) return undefined;
      const next = new Map(this.#entries);
      next.delete(key);
      await this.#store([...next.values()]);
      await this.#audit({ at: new Date().toISOString(), actor, action: 'unblock', type, value, source });
      return entry;
    });
  }

  /** Reads the file again. One that is wrong changes nothing and is an error. */
  reload(source: AuditLine['source']): Promise<void> {
    return this.#change(async () => {
      try {
        const text = await this.#readFile();
        if (text === undefined) throw new Error('the file is gone');
        const isNew = text !== this.#text;
        if (isNew) this.#adopt(parseBlocklist(text), text);
        this.problem = undefined;
        if (!isNew) return;
        this.#log.info({ entries: this.#entries.size }, 'blocklist reloaded');
        await this.#audit({ at: new Date().toISOString(), actor: source, action: 'reload', source });
      } catch (error) {
        this.problem = messageOf(error);
        this.failedReloads += 1;
        this.#log.error({ err: error }, 'the blocklist cannot be read: the last good one stays in force');
        throw error;
      }
    });
  }

  /** The newest lines of the audit log, newest first. */
  async audit(limit: number): Promise<unknown[]> {
    const file = await open(this.#auditPath).catch(() => undefined);
    if (file === undefined) return [];
    try {
      const { size } = await file.stat();
      const length = Math.min(size, auditShown);
      const { buffer } = await file.read(Buffer.alloc(length), 0, length, size - length);
      const lines = buffer.toString('utf8').split('\n');
      if (length < size) lines.shift();
      return lines.flatMap(parseLine).slice(-limit).reverse();
    } finally {
      await file.close();
    }
  }

  get #auditPath(): string {
    return join(dirname(this.path), `${basename(this.path)}.audit.jsonl`);
  }

  /** One change at a time, each whole. */
  #change<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#changes.then(work);
    this.#changes = done.catch(() => {});
    return done;
  }

  /** What was just written by hand is part of what is written next; a file that is wrong is not. */
  async #followFile(): Promise<void> {
    try {
      const text = await this.#readFile();
      if (text === undefined || text === this.#text) return;
      this.#adopt(parseBlocklist(text), text);
      await this.#audit({ at: new Date().toISOString(), actor: 'file', action: 'reload', source: 'file' });
    } catch (error) {
      this.#log.warn({ err: error }, 'a blocklist that cannot be read is replaced by the one in force');
    }
  }

  async #readFile(): Promise<string | undefined> {
    const found = await stat(this.path).catch((error: unknown) => {
      if (!hasCode(error, 'ENOENT')) throw error;
    });
    if (found === undefined) return undefined;
    if (found.size > fileLimit) throw new Error('the blocklist is larger than 64 MiB');
    return await readFile(this.path, 'utf8');
  }

  async #store(entries: readonly BlockEntry[]): Promise<void> {
    const text = blocklistText(entries, new Date().toISOString());
    await writeFileDurably(this.path, text, 0o600);
    this.#adopt(entries, text);
  }

  #adopt(entries: readonly BlockEntry[], text: string): void {
    this.#entries = new Map(entries.map((entry) => [keyOf(entry.type, entry.value), entry]));
    this.#names = new Set(entries.filter(({ type }) => type === 'arns').map(({ value }) => value));
    this.#ids = new Set(
      entries.flatMap((entry) => (entry.type === 'txid' ? entry.value : (entry.resolvedTxId ?? []))),
    );
    this.#lastUpdated = new Date().toISOString();
    this.#text = text;
  }

  async #audit(line: AuditLine): Promise<void> {
    await appendFile(this.#auditPath, `${JSON.stringify(line)}\n`, { mode: 0o600 }).catch(
      (error: unknown) => {
        this.#log.error({ err: error, line }, 'the audit log cannot be written');
      },
    );
  }
}

/** A line that a crash cut short is left out. */
function parseLine(line: string): unknown[] {
  try {
    return [JSON.parse(line)];
  } catch {
    return [];
  }
}

function keyOf(type: BlockType, value: string): string {
  return `${type}/${value}`;
}
