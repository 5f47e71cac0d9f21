/**
 * Questions and answers between two processes. A question that is not answered in time fails, and so do all that wait
 * when the other process is gone.
 */
import { isRecord } from '../../formats/json.ts';
import { messageOf } from '../errors.ts';

/** What it throws, or rejects with, fails the question. */
export type Answerer = (topic: string, message: unknown) => unknown;

/** What goes over the wire; made to be copied by `v8.serialize`. */
export type Packet =
  | { readonly kind: 'ask'; readonly id: number; readonly topic: string; readonly message: unknown }
  | { readonly kind: 'answer'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly reason: string };

interface Waiting {
  readonly resolve: (value: unknown) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
}

/** More than this wait for an answer only where the other process does not answer at all. */
const maxWaiting = 10_000;

export class Channel {
  readonly #send: (packet: Packet) => void;
  readonly #answer: Answerer;
  readonly #waiting = new Map<number, Waiting>();
  #lastId = 0;
  #isClosed = false;

  constructor(send: (packet: Packet) => void, answer: Answerer) {
    this.#send = send;
    this.#answer = answer;
  }

  ask(topic: string, message: unknown, timeoutMs: number): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(new Error('the other process is gone'));
    if (this.#waiting.size >= maxWaiting) return Promise.reject(new Error('too many questions wait'));
    const id = ++this.#lastId;
    return new Promise((resolve, reject) => {
      const late = () =>
        this.#settle(id, ({ reject: fail }) => fail(new Error(`"${topic}" was not answered`)));
      this.#waiting.set(id, { resolve, reject, timer: setTimeout(late, timeoutMs).unref() });
      this.#send({ kind: 'ask', id, topic, message });
    });
  }

  /** Takes what came over the wire; anything else is left alone. */
  take(packet: unknown): void {
    if (!isRecord(packet) || typeof packet.id !== 'number') return;
    const { id } = packet;
    if (packet.kind === 'ask') void this.#reply(id, String(packet.topic), packet.message);
    else if (packet.kind === 'answer') this.#settle(id, ({ resolve }) => resolve(packet.value));
    else if (packet.kind === 'failure') {
      this.#settle(id, ({ reject }) => reject(new Error(String(packet.reason))));
    }
  }

  close(): void {
    this.#isClosed = true;
    for (const id of [...this.#waiting.keys()]) {
      this.#settle(id, ({ reject }) => reject(new Error('the other process is gone')));
    }
  }

  #settle(id: number, end: (waiting: Waiting) => void): void {
    const waiting = this.#waiting.get(id);
    if (waiting === undefined) return;
    this.#waiting.delete(id);
    clearTimeout(waiting.timer);
    end(waiting);
  }

  async #reply(id: number, topic: string, message: unknown): Promise<void> {
    try {
      const value = await this.#answer(topic, message);
      if (!this.#isClosed) this.#send({ kind: 'answer', id, value });
    } catch (error) {
      if (!this.#isClosed) this.#send({ kind: 'failure', id, reason: messageOf(error) });
    }
  }
}
