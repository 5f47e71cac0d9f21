/**
 * Reads one data item from pieces of any size, in one pass. The header is collected once; payload bytes are
 * hashed as they pass and handed back as slices of the piece they came in, for the caller to write where it
 * wants. Nothing but the header is kept.
 *
 * @example
 * const parser = new ItemParser();
 * for await (const piece of body) {
 *   const payload = parser.push(piece);
 *   if (typeof payload === 'string') return refuse(payload);
 *   await file.write(piece);
 * }
 * const end = parser.finish();
 */
import { DeepHashBlob } from '../deep-hash.ts';
import {
  type ItemHeader,
  type ItemReadOptions,
  maxItemHeaderBytes,
  measureItemHeader,
  parseItemHeader,
} from './item-header.ts';
import type { ItemProblem } from './item-problem.ts';

export interface ItemParserOptions extends ItemReadOptions {
  /** Hashes the payload for `ItemEnd.message`; default true. Off for readers that only want headers. */
  readonly hash?: boolean;
}

export interface ItemEnd {
  readonly header: ItemHeader;
  readonly payloadBytes: number;
  /** Deep hash of the payload; empty when hashing is off. */
  readonly dataHash: Buffer;
}

const nothing = Buffer.alloc(0);

export class ItemParser {
  readonly #options: ItemParserOptions;
  #collected: Buffer = nothing;
  #collectedBytes = 0;
  #needed = 2;
  #header: ItemHeader | undefined;
  #problem: ItemProblem | undefined;
  #payloadHash: DeepHashBlob | undefined;
  #payloadBytes = 0;

  constructor(options: ItemParserOptions = {}) {
    this.#options = options;
  }

  /** Known as soon as its last byte has been pushed. */
  get header(): ItemHeader | undefined {
    return this.#header;
  }

  /** Item bytes pushed so far. */
  get bytesRead(): number {
    return (this.#header?.length ?? this.#collectedBytes) + this.#payloadBytes;
  }

  /** Takes the next piece; answers the part of it that is payload, or what is wrong with the item. */
  push(piece: Buffer): Buffer | ItemProblem {
    if (this.#problem !== undefined) return this.#problem;
    const payload = this.#header === undefined ? this.#pushHeader(piece) : piece;
    if (typeof payload === 'string') {
      this.#problem = payload;
    } else if (payload.length > 0) {
      this.#payloadBytes += payload.length;
      this.#payloadHash?.update(payload);
    }
    return payload;
  }

  /** The item is over; answers what it was, or what is wrong with it. */
  finish(): ItemEnd | ItemProblem {
    if (this.#problem !== undefined) return this.#problem;
    if (this.#header === undefined) return 'truncated';
    return {
      header: this.#header,
      payloadBytes: this.#payloadBytes,
      dataHash: this.#payloadHash?.digest() ?? nothing,
    };
  }

  #pushHeader(piece: Buffer): Buffer | ItemProblem {
    let rest = piece;
    for (;;) {
      const missing = this.#needed - this.#collectedBytes;
      const taken = Math.min(missing, rest.length);
      this.#reserve(this.#collectedBytes + taken);
      rest.copy(this.#collected, this.#collectedBytes, 0, taken);
      this.#collectedBytes += taken;
      rest = rest.subarray(taken);
      if (taken < missing) return nothing;
      const length = measureItemHeader(this.#collected, this.#collectedBytes, this.#options);
      if (typeof length === 'string') return length;
      if (length <= this.#collectedBytes) break;
      this.#needed = length;
    }
    const header = parseItemHeader(this.#collected.subarray(0, this.#collectedBytes), this.#options);
    if (typeof header === 'string') return header;
    this.#header = header;
    if (this.#options.hash !== false) this.#payloadHash = new DeepHashBlob();
    return rest;
  }

  /** Grows by what has arrived, never by what a header merely claims. */
  #reserve(bytes: number): void {
    if (bytes <= this.#collected.length) return;
    const grown = Buffer.allocUnsafeSlow(Math.max(bytes, Math.min(2 * bytes, maxItemHeaderBytes)));
    this.#collected.copy(grown, 0, 0, this.#collectedBytes);
    this.#collected = grown;
  }
}
