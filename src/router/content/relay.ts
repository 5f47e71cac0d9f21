/** A gateway's body on its way through: each piece to the reader as it comes, at the reader's pace. */
import type { ServerResponse } from 'node:http';
import { maxUntaken } from '../../kernel/http/send-stream.ts';
import type { AnswerBody, BodySink } from '../gateways/answer-body.ts';

/**
 * Says how many bytes went out. Rejects when the body failed or was not as long as promised; the connection is cut
 * then, so that what is incomplete never looks complete. A reader that left is no failure.
 */
export function relay(
  body: AnswerBody,
  raw: ServerResponse,
  length: number | undefined,
  stallTimeoutMs: number,
): Promise<number> {
  return new Promise((resolve, reject) => {
    body.take(new Relay(body, raw, length, stallTimeoutMs, resolve, reject));
  });
}

class Relay implements BodySink {
  readonly #body: AnswerBody;
  readonly #raw: ServerResponse;
  readonly #length: number | undefined;
  readonly #stallTimeoutMs: number;
  readonly #resolve: (sent: number) => void;
  readonly #reject: (error: unknown) => void;
  #sent = 0;
  #over = false;
  #stalled: NodeJS.Timeout | undefined;

  constructor(
    body: AnswerBody,
    raw: ServerResponse,
    length: number | undefined,
    stallTimeoutMs: number,
    resolve: (sent: number) => void,
    reject: (error: unknown) => void,
  ) {
    this.#body = body;
    this.#raw = raw;
    this.#length = length;
    this.#stallTimeoutMs = stallTimeoutMs;
    this.#resolve = resolve;
    this.#reject = reject;
    raw.on('close', () => this.#left());
    raw.on('drain', () => this.#drained());
  }

  piece(bytes: Buffer): boolean {
    if (this.#over) return false;
    this.#sent += bytes.length;
    if (this.#length !== undefined && this.#sent > this.#length) {
      this.failed(new Error('a body is longer than was promised'));
      this.#body.destroy();
      return false;
    }
    if (this.#raw.write(bytes) || this.#raw.writableLength < maxUntaken) return true;
    // A body that is late is no fault of the reader's; not to take what is there is.
    this.#stalled = setTimeout(() => this.#raw.destroy(), this.#stallTimeoutMs).unref();
    return false;
  }

  end(): void {
    if (this.#over) return;
    if (this.#length !== undefined && this.#sent < this.#length) {
      this.failed(new Error('a body is shorter than was promised'));
      return;
    }
    this.#over = true;
    // The last bytes may wait for a reader that stopped just before them.
    this.#raw.setTimeout(this.#stallTimeoutMs, () => this.#raw.destroy());
    this.#raw.end();
    this.#resolve(this.#sent);
  }

  failed(error: Error): void {
    if (this.#over) return;
    this.#over = true;
    clearTimeout(this.#stalled);
    this.#raw.destroy();
    this.#reject(error);
  }

  #drained(): void {
    clearTimeout(this.#stalled);
    if (!this.#over) this.#body.resume();
  }

  #left(): void {
    clearTimeout(this.#stalled);
    if (this.#over) return;
    this.#over = true;
    this.#resolve(this.#sent);
    this.#body.destroy();
  }
}
