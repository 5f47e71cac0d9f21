/**
 * Reads a bundle from pieces of any size in one pass, with memory for the bundle's header and one item's
 * header. A broken item is reported and skipped by its stated size: it never hides its neighbours.
 *
 * @example
 * const reader = new BundleReader(dataSize, {
 *   bundle(header) { … },
 *   payload(index, slice) { … },
 *   item(index, end) { … },
 *   broken(index, problem) { … },
 * });
 * for await (const piece of chunks) {
 *   const problem = reader.push(piece);
 *   if (problem !== undefined) return refuse(problem);
 * }
 * const problem = reader.finish();
 */
import {
  type BundleHeader,
  type BundleProblem,
  bundleCountBytes,
  measureBundleHeader,
  parseBundleHeader,
} from './bundle-header.ts';
import { type ItemEnd, ItemParser, type ItemParserOptions } from './item-parser.ts';
import type { ItemProblem } from './item-problem.ts';

/** Calls come in the order of the bytes. Slices are views of the pushed piece: copy what is kept. */
export interface BundleVisitor {
  bundle?(header: BundleHeader): void;
  /** The next bytes of the payload of item `index`. */
  payload?(index: number, slice: Buffer): void;
  item(index: number, end: ItemEnd): void;
  broken(index: number, problem: ItemProblem): void;
}

export interface BundleReaderOptions extends ItemParserOptions {
  /** More items than this are refused; default one million. */
  readonly maxItems?: number;
}

export class BundleReader {
  readonly #bundleBytes: number;
  readonly #visitor: BundleVisitor;
  readonly #options: BundleReaderOptions;
  #collected: Buffer[] = [];
  #collectedBytes = 0;
  #needed = bundleCountBytes;
  #header: BundleHeader | undefined;
  #problem: BundleProblem | undefined;
  #index = 0;
  #parser: ItemParser;
  /** Bytes of the item at `#index` that are still to come. */
  #left = 0;

  /** `bundleBytes` is the size of the whole bundle, known from the transaction or item that holds it. */
  constructor(bundleBytes: number, visitor: BundleVisitor, options: BundleReaderOptions = {}) {
    this.#bundleBytes = bundleBytes;
    this.#visitor = visitor;
    this.#options = options;
    this.#parser = new ItemParser(options);
  }

  /** Takes the next piece; answers what is wrong with the bundle as a whole, if anything. */
  push(piece: Buffer): BundleProblem | undefined {
    if (this.#problem !== undefined) return this.#problem;
    let rest: Buffer = piece;
    if (this.#header === undefined) {
      const after = this.#pushHeader(piece);
      if (typeof after === 'string') {
        this.#problem = after;
        return after;
      }
      rest = after;
    }
    const header = this.#header;
    if (header === undefined) return undefined;
    while (rest.length > 0) {
      if (this.#index === header.count) {
        this.#problem = 'trailing-bytes';
        return this.#problem;
      }
      const slice = rest.length <= this.#left ? rest : rest.subarray(0, this.#left);
      rest = rest.subarray(slice.length);
      this.#left -= slice.length;
      this.#pushItem(slice);
      if (this.#left === 0) this.#finishItem(header);
    }
    return undefined;
  }

  finish(): BundleProblem | undefined {
    if (this.#problem !== undefined) return this.#problem;
    const complete = this.#header !== undefined && this.#index === this.#header.count;
    return complete ? undefined : 'truncated-bundle';
  }

  #pushHeader(piece: Buffer): Buffer | BundleProblem {
    let rest = piece;
    for (;;) {
      const slice = rest.subarray(0, this.#needed - this.#collectedBytes);
      this.#collected.push(Buffer.from(slice));
      this.#collectedBytes += slice.length;
      rest = rest.subarray(slice.length);
      if (this.#collectedBytes < this.#needed) return rest;
      const bytes = Buffer.concat(this.#collected);
      const length = measureBundleHeader(bytes, this.#bundleBytes);
      if (typeof length === 'string') return length;
      if (length > bundleCountBytes + 64 * (this.#options.maxItems ?? 1_000_000)) return 'item-count';
      if (length === bytes.length) return this.#begin(bytes, rest);
      this.#needed = length;
    }
  }

  #begin(bytes: Buffer, rest: Buffer): Buffer | BundleProblem {
    const header = parseBundleHeader(bytes, this.#bundleBytes);
    if (typeof header === 'string') return header;
    this.#header = header;
    this.#collected = [];
    this.#left = header.sizes[0] ?? 0;
    this.#visitor.bundle?.(header);
    return rest;
  }

  #pushItem(slice: Buffer): void {
    const payload = this.#parser.push(slice);
    if (typeof payload !== 'string' && payload.length > 0) this.#visitor.payload?.(this.#index, payload);
  }

  #finishItem(bundle: BundleHeader): void {
    const index = this.#index;
    const end = this.#parser.finish();
    this.#parser = new ItemParser(this.#options);
    this.#index++;
    this.#left = bundle.sizes[this.#index] ?? 0;
    if (typeof end === 'string') this.#visitor.broken(index, end);
    else if (!end.header.idBytes.equals(bundle.idBytes(index))) this.#visitor.broken(index, 'id-mismatch');
    else this.#visitor.item(index, end);
  }
}
