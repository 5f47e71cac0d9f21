/** Work that a request begins and nobody waits for. It ends before the part stops. */
import type { Logger } from '../kernel/log.ts';

export class BackgroundWork {
  readonly #log: Logger;
  readonly #running = new Set<Promise<void>>();
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

  async settled(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    await this.settled();
  }
}
