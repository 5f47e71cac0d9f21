/**
 * The body of a gateway's answer, handed over as it arrives and at its reader's pace. Not a stream of Node's: one
 * of those costs more than all the rest of a small answer.
 */
import type { Dispatcher } from 'undici';
import { LiveReader } from '../../delivery/live-reader.ts';
import { MinimumSpeed } from '../../delivery/minimum-speed.ts';
import { messageOf } from '../../kernel/errors.ts';

/** Takes a body; the calls come in this order, and one of the last two comes last. */
export interface BodySink {
  /** False: no more until `resume`. */
  piece(bytes: Buffer): boolean;
  end(): void;
  failed(error: Error): void;
}

/** Bytes that may wait for whoever reads them. */
const maxWaiting = 64 * 1024;
/** What nobody wants is read up to this size. */
const worthReading = 16 * 1024;

export class AnswerBody implements AsyncIterable<Buffer> {
  readonly #controller: Dispatcher.DispatchController;
  #waiting: Buffer[] | undefined;
  #waitingBytes = 0;
  #sink: BodySink | undefined;
  #ended = false;
  #error: Error | undefined;

  constructor(controller: Dispatcher.DispatchController) {
    this.#controller = controller;
  }

  /** From the connection: the next bytes. */
  push(piece: Buffer): void {
    if (this.#sink !== undefined) {
      if (!this.#sink.piece(piece)) this.#controller.pause();
      return;
    }
    this.#waiting ??= [];
    this.#waiting.push(piece);
    this.#waitingBytes += piece.length;
    if (this.#waitingBytes >= maxWaiting) this.#controller.pause();
  }

  /** From the connection: that was all. */
  end(): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#sink?.end();
  }

  /** From the connection: it broke off. */
  fail(error: Error): void {
    if (this.#ended) return;
    this.#error = error;
    this.#sink?.failed(error);
  }

  /** Hands everything to `sink`: at once what is there, the rest as it comes. Called once. */
  take(sink: BodySink): void {
    if (this.#sink !== undefined) throw new Error('a body has one reader');
    const error = this.#error;
    this.#sink = sink;
    let wantsMore = true;
    for (const piece of this.#waiting ?? []) {
      wantsMore = sink.piece(piece);
      if (this.#error !== error) return;
    }
    this.#waiting = undefined;
    if (error !== undefined) sink.failed(error);
    else if (this.#ended) sink.end();
    else if (wantsMore) this.#controller.resume();
  }

  /** The sink takes more again. */
  resume(): void {
    if (!this.#ended && this.#error === undefined) this.#controller.resume();
  }

  /** Breaks the answer off where it is not over, which costs its connection. */
  destroy(): void {
    if (this.#ended || this.#error !== undefined) return;
    this.#controller.abort(new Error('the body is not wanted any more'));
  }

  /**
   * Lets go of a body nobody wants; `length` is what it promised to have. A small rest may come, so that the connection
   * can be used again; one that does not end is broken off.
   */
  discard(length: number | undefined): void {
    if (this.#ended || this.#error !== undefined || this.#sink !== undefined) return;
    if (length !== undefined && length > worthReading) {
      this.destroy();
      return;
    }
    let size = 0;
    this.take({
      piece: (bytes) => {
        size += bytes.length;
        if (size > worthReading) this.destroy();
        return true;
      },
      end() {},
      failed() {},
    });
  }

  /** The pieces, broken off when the reader has left. */
  until(gone: AbortSignal): AsyncIterable<Buffer> {
    if (gone.aborted) this.destroy();
    else gone.addEventListener('abort', () => this.destroy(), { once: true });
    return this;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    const reader = new LiveReader();
    this.take({
      piece: (bytes) => {
        reader.give(bytes);
        return reader.lag < maxWaiting;
      },
      end: () => reader.end(undefined),
      failed: (error) => reader.end(error),
    });
    try {
      for (;;) {
        if (reader.lag === 0) this.resume();
        const piece = await reader.take();
        if (piece === undefined) return;
        yield piece;
      }
    } finally {
      this.destroy();
    }
  }
}

/** A body that is too long, or comes too slowly. */
export class BodyRefused extends Error {
  override readonly name = 'BodyRefused';
}

/** The pieces of a body of at most `limit` bytes. */
export function readPieces(
  body: Pick<AnswerBody, 'take' | 'destroy'>,
  limit: number,
  slowAfterMs?: number,
): Promise<Buffer[]> {
  return new Promise((resolve, reject) => {
    const pieces: Buffer[] = [];
    const speed = new MinimumSpeed(slowAfterMs);
    let size = 0;
    body.take({
      piece(bytes) {
        size += bytes.length;
        try {
          speed.arrived(bytes.length);
          if (size > limit) throw new Error('the answer is too long');
        } catch (cause) {
          reject(new BodyRefused(messageOf(cause), { cause }));
          body.destroy();
          return false;
        }
        speed.waiting();
        pieces.push(bytes);
        return true;
      },
      end: () => resolve(pieces),
      failed: reject,
    });
  });
}
