/** Work nobody waits for: repeated at an interval or begun by a request. It ends before the surface does. */
import type { Logger } from '../kernel/log.ts';

export class Background {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #stopped = false;

  constructor(log: Logger) {
    this.#log = log;
  }

  run(work: () => Promise<void>): void {
    if (this.#stopped) return;
    const running: Promise<void> = work()
      .catch((error: unknown) => this.#log.warn({ err: error }, 'background work on names failed'))
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Now, and again after each interval; never twice at once. */
  every(intervalMs: number, work: () => Promise<void>): void {
    const turn = () => {
      this.run(async () => {
        try {
          await work();
        } finally {
          if (!this.#stopped) {
            const timer = setTimeout(() => {
              this.#timers.delete(timer);
              turn();
            }, intervalMs).unref();
            this.#timers.add(timer);
          }
        }
      });
    };
    turn();
  }

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const timer of this.#timers) clearTimeout(timer);
    await this.settled();
  }
}
