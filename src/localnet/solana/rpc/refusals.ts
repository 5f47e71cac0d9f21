/**
 * Refusals on a WebSocket. The first is sent at once. Some clients answer one by asking again without a pause, for ever
 * (web3.js does for any subscription), so each further refusal of the same method waits twice as long.
 */
import type { TextSocket } from './websocket.ts';

const firstPauseMs = 1_000;
const longestPauseMs = 60_000;
/** Different methods that are told apart, and answers that may wait; a client beyond either is cut off. */
const maxKept = 100;
const maxMethodLength = 64;

export class Refusals {
  readonly #socket: TextSocket;
  readonly #pauses = new Map<string, number>();
  readonly #waiting = new Set<NodeJS.Timeout>();

  constructor(socket: TextSocket) {
    this.#socket = socket;
  }

  send(method: string, answer: string): void {
    const key = method.slice(0, maxMethodLength);
    const pause = this.#pauses.get(key) ?? 0;
    this.#pauses.set(key, pause === 0 ? firstPauseMs : Math.min(longestPauseMs, pause * 2));
    if (this.#pauses.size > maxKept || this.#waiting.size >= maxKept) {
      this.#socket.close();
      return;
    }
    if (pause === 0) {
      this.#socket.send(answer);
      return;
    }
    const timer = setTimeout(() => {
      this.#waiting.delete(timer);
      this.#socket.send(answer);
    }, pause);
    this.#waiting.add(timer);
  }

  stop(): void {
    for (const timer of this.#waiting) clearTimeout(timer);
    this.#waiting.clear();
  }
}
