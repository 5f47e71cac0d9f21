/** Who obeys this gateway's block list beside it: surfaces of this process at once, others when they ask for it again. */
import { LRUCache } from 'lru-cache';

const maxFollowers = 64;
/** One that has not asked for so many of its intervals is gone. */
const missedIntervals = 5;

export class Followers {
  readonly #here = new Set<string>();
  readonly #elsewhere = new LRUCache<string, number>({ max: maxFollowers });

  /** A surface of this process asks the list itself. */
  add(surface: string): void {
    this.#here.add(surface);
  }

  /** A process elsewhere has just asked, and will ask again. */
  seen(surfaces: string, everyMs: number): void {
    this.#elsewhere.set(surfaces, everyMs, { ttl: everyMs * missedIntervals });
  }

  /** For people: this gateway first. */
  list(): string[] {
    const elsewhere = [...this.#elsewhere.entries()].flatMap(([surfaces, everyMs]) =>
      surfaces.split(' ').map((surface) => `${surface} (another process, within ${everyMs / 1_000} s)`),
    );
    return ['gateway', ...this.#here, ...elsewhere];
  }
}
