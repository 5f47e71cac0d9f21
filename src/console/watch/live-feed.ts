/** The state of everything, again and again, for as long as somebody listens. */
import { setTimeout as pause } from 'node:timers/promises';
import type { Logger } from '../../kernel/log.ts';
import type { LiveState } from '../api.ts';

const everyMs = 2_000;

export class LiveFeed {
  readonly #observe: () => Promise<LiveState>;
  readonly #log: Logger;
  readonly #listeners = new Set<(state: LiveState) => void>();
  readonly #ending = new AbortController();
  #newest: LiveState | undefined;
  #running: Promise<void> | undefined;

  constructor(observe: () => Promise<LiveState>, log: Logger) {
    this.#observe = observe;
    this.#log = log;
  }

  /** Gets the newest state at once where there is one. The function that is returned ends it. */
  listen(listener: (state: LiveState) => void): () => void {
    if (this.#newest !== undefined) listener(this.#newest);
    this.#listeners.add(listener);
    if (!this.#ending.signal.aborted) this.#running ??= this.#run();
    return () => this.#listeners.delete(listener);
  }

  async stop(): Promise<void> {
    this.#ending.abort();
    await this.#running;
  }

  async #run(): Promise<void> {
    const { signal } = this.#ending;
    while (this.#listeners.size > 0 && !signal.aborted) {
      try {
        const state = await this.#observe();
        this.#newest = state;
        for (const listener of this.#listeners) listener(state);
      } catch (error) {
        this.#log.warn({ err: error }, 'the services could not be looked at');
      }
      await pause(everyMs, undefined, { signal }).catch(() => {});
    }
    // What is old by the time that somebody listens again is not told.
    this.#newest = undefined;
    this.#running = undefined;
  }
}
