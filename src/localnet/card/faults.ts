/** What tests may do to webhooks on their way: lose, double, hold back, turn round. All off by default. */

export interface FaultSettings {
  /** How many of the next deliveries are lost. */
  readonly drop: number;
  /** How many of the next deliveries arrive twice. */
  readonly duplicate: number;
  /** Every delivery waits so long first. */
  readonly delayMs: number;
  /** Whether what waits at the same time is sent one by one, the newest first. */
  readonly reverse: boolean;
  /** Nothing is sent while true. */
  readonly hold: boolean;
}

export const noFaults: FaultSettings = { drop: 0, duplicate: 0, delayMs: 0, reverse: false, hold: false };

export class Faults {
  #settings: FaultSettings = noFaults;
  readonly #sleepers = new Set<() => void>();

  get settings(): FaultSettings {
    return this.#settings;
  }

  set(settings: FaultSettings): void {
    this.#settings = settings;
    if (settings.delayMs === 0) this.release();
  }

  /** The batches in which to send what is due: all at once, or one by one from the end. */
  arrange<T>(due: readonly T[]): readonly (readonly T[])[] {
    return this.#settings.reverse ? due.toReversed().map((delivery) => [delivery]) : [due];
  }

  /** How often to send the next delivery; 0 loses it. */
  copies(): 0 | 1 | 2 {
    if (this.#settings.drop > 0) {
      this.#settings = { ...this.#settings, drop: this.#settings.drop - 1 };
      return 0;
    }
    if (this.#settings.duplicate > 0) {
      this.#settings = { ...this.#settings, duplicate: this.#settings.duplicate - 1 };
      return 2;
    }
    return 1;
  }

  pause(): Promise<void> {
    const { delayMs } = this.#settings;
    if (delayMs === 0) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        this.#sleepers.delete(wake);
        resolve();
      };
      const timer = setTimeout(wake, delayMs);
      this.#sleepers.add(wake);
    });
  }

  /** Ends every pause now. */
  release(): void {
    for (const wake of [...this.#sleepers]) wake();
  }
}
