/** The usual time to the first byte, so that what is unusual can be told. */
export class UsualLatency {
  readonly #samples = new Float64Array(256);
  #count = 0;
  #p95 = 500;

  observe(milliseconds: number): void {
    this.#samples[this.#count % this.#samples.length] = milliseconds;
    this.#count += 1;
    if (this.#count % 16 !== 0) return;
    const sorted = this.#samples.slice(0, Math.min(this.#count, this.#samples.length)).sort();
    this.#p95 = sorted[Math.floor(sorted.length * 0.95)] ?? this.#p95;
  }

  /** When to ask a second gateway. */
  get hedgeAfterMs(): number {
    return Math.min(3_000, Math.max(15, this.#p95 * 1.5));
  }
}
