/**
 * A cache bounded by weight that hits cost next to nothing: a hit sets a mark, and only when room is needed are entries
 * looked at, oldest first; a marked one loses its mark and goes to the end (the clock algorithm). A page asks for a
 * hundred entries at once, for which the bookkeeping of a strict order costs more than the rest of the page.
 */
interface Entry<V> {
  readonly value: V;
  readonly weight: number;
  marked: boolean;
}

export class ClockCache<K, V> {
  readonly #maxWeight: number;
  readonly #entries = new Map<K, Entry<V>>();
  #weight = 0;

  constructor(maxWeight: number) {
    this.#maxWeight = maxWeight;
  }

  get weight(): number {
    return this.#weight;
  }

  get(key: K): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined) return undefined;
    entry.marked = true;
    return entry.value;
  }

  set(key: K, value: V, weight: number): void {
    this.delete(key);
    if (weight > this.#maxWeight) return;
    while (this.#weight + weight > this.#maxWeight) this.#makeRoom();
    this.#entries.set(key, { value, weight, marked: false });
    this.#weight += weight;
  }

  delete(key: K): void {
    const entry = this.#entries.get(key);
    if (entry === undefined) return;
    this.#entries.delete(key);
    this.#weight -= entry.weight;
  }

  /** One round at most goes by without an entry leaving: it takes all marks away. */
  #makeRoom(): void {
    for (const [key, entry] of this.#entries) {
      this.#entries.delete(key);
      if (!entry.marked) {
        this.#weight -= entry.weight;
        return;
      }
      entry.marked = false;
      this.#entries.set(key, entry);
    }
  }
}
