/**
 * The chain's height as it was last heard. Taking an item in never waits for the chain: the deadline in a receipt
 * counts from the last known height, and only a height that is hours old is no longer good enough.
 */
import type { Logger } from '../../kernel/log.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';

const refreshMs = 15_000;
const usableMs = 3 * 60 * 60 * 1_000;

export class ChainHead {
  readonly #nodes: Pick<ArweaveNodes, 'height'>;
  readonly #log: Logger;
  readonly #now: () => number;
  #height: number | undefined;
  #heardAt = 0;
  #asking: Promise<void> | undefined;
  #timer: NodeJS.Timeout | undefined;

  constructor(nodes: Pick<ArweaveNodes, 'height'>, log: Logger, now: () => number) {
    this.#nodes = nodes;
    this.#log = log;
    this.#now = now;
  }

  async start(): Promise<void> {
    this.#timer = setInterval(() => void this.refresh(), refreshMs).unref();
    await this.refresh();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** The last known height, or undefined when it is unknown or too old. */
  get height(): number | undefined {
    return this.#now() - this.#heardAt < usableMs ? this.#height : undefined;
  }

  /** Asks now; several callers share one question. */
  refresh(): Promise<void> {
    this.#asking ??= this.#ask().finally(() => {
      this.#asking = undefined;
    });
    return this.#asking;
  }

  async #ask(): Promise<void> {
    try {
      this.#height = await this.#nodes.height();
      this.#heardAt = this.#now();
    } catch (error) {
      this.#log.warn({ err: error }, 'no Arweave node says the height');
    }
  }
}
