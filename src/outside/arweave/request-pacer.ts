/**
 * How much is asked of one node at a time, and by whom. Each lane has a part of the node that no other can take, so
 * that a flood of ids that nobody knows holds up neither the import nor the reading of what is known.
 */
/** Who asks: those who follow the chain, those who read chunks, those who ask for what the index does not have. */
export type Lane = 'import' | 'bytes' | 'lookup';

export interface PacerOptions {
  /** Requests in flight at most; the others wait, each lane in its order. */
  readonly maxConcurrent: number;
  /** Requests begun per second at most; Infinity for a node of our own. */
  readonly requestsPerSecond: number;
}

const lanes: readonly Lane[] = ['import', 'bytes', 'lookup'];
/** The part of the node that is kept for each lane. */
const kept = 1 / 5;
/** How many may wait. The importer bounds itself: it fetches only some blocks ahead. */
const maxWaiting: Readonly<Record<Lane, number>> = {
  import: Number.POSITIVE_INFINITY,
  bytes: 8_192,
  lookup: 1_024,
};

export class TooManyWait extends Error {
  override readonly name = 'TooManyWait';
}

export class RequestPacer {
  readonly #maxConcurrent: number;
  readonly #perSecond: number;
  readonly #kept: number;
  readonly #inside: Record<Lane, number> = { import: 0, bytes: 0, lookup: 0 };
  readonly #waiting: Readonly<Record<Lane, Set<() => void>>> = {
    import: new Set(),
    bytes: new Set(),
    lookup: new Set(),
  };
  #allowance: number;
  #counted = performance.now();
  /** The lane that is looked at first when there is room again. */
  #turnOf = 0;

  constructor(options: PacerOptions) {
    this.#maxConcurrent = options.maxConcurrent;
    this.#perSecond = options.requestsPerSecond;
    this.#allowance = options.requestsPerSecond;
    this.#kept = Math.floor(options.maxConcurrent * kept);
  }

  /** Resolves with what has to be called afterwards. Rejects with the signal's reason, or with `TooManyWait` at once. */
  async enter(lane: Lane, signal: AbortSignal): Promise<() => void> {
    signal.throwIfAborted();
    if (this.#waiting[lane].size === 0 && this.#hasRoom(lane)) this.#inside[lane] += 1;
    else await this.#wait(lane, signal);
    const release = (): void => {
      this.#inside[lane] -= 1;
      this.#admit();
    };
    try {
      await this.#turn(signal);
    } catch (error) {
      release();
      throw error;
    }
    return release;
  }

  #wait(lane: Lane, signal: AbortSignal): Promise<void> {
    const waiting = this.#waiting[lane];
    if (waiting.size >= maxWaiting[lane]) {
      throw new TooManyWait(`${waiting.size} requests wait for the node already`);
    }
    return new Promise<void>((resolve, reject) => {
      const admit = (): void => {
        signal.removeEventListener('abort', leave);
        resolve();
      };
      const leave = (): void => {
        waiting.delete(admit);
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
      waiting.add(admit);
    });
  }

  /** What other lanes have not taken of their own part is not there for this one. */
  #hasRoom(lane: Lane): boolean {
    let free = this.#maxConcurrent;
    for (const one of lanes) {
      free -= one === lane ? this.#inside[one] : Math.max(this.#inside[one], this.#kept);
    }
    return free > 0;
  }

  /** Lanes in turn, each in its own order. */
  #admit(): void {
    for (let looked = 0; looked < lanes.length; looked += 1) {
      const lane = lanes[this.#turnOf % lanes.length] ?? 'import';
      this.#turnOf += 1;
      const [first] = this.#waiting[lane];
      if (first === undefined || !this.#hasRoom(lane)) continue;
      this.#waiting[lane].delete(first);
      this.#inside[lane] += 1;
      first();
      looked = -1;
    }
  }

  /** A token bucket of one second's size. */
  async #turn(signal: AbortSignal): Promise<void> {
    if (this.#perSecond === Number.POSITIVE_INFINITY) return;
    const now = performance.now();
    this.#allowance = Math.min(
      this.#perSecond,
      this.#allowance + ((now - this.#counted) / 1_000) * this.#perSecond,
    );
    this.#counted = now;
    this.#allowance -= 1;
    if (this.#allowance >= 0) return;
    const waitMs = (-this.#allowance / this.#perSecond) * 1_000;
    await new Promise<void>((resolve, reject) => {
      const timer = setTimeout(() => {
        signal.removeEventListener('abort', leave);
        resolve();
      }, waitMs);
      const leave = (): void => {
        clearTimeout(timer);
        this.#allowance += 1;
        reject(signal.reason);
      };
      signal.addEventListener('abort', leave, { once: true });
    });
  }
}
