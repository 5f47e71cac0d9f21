/** Somebody who reads the index page by page, while the chain goes on and forks. */
import type { SeededRandom } from '../../support/seeded-random.ts';
import { short } from '../arweave.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import type { ReadingServer } from './installation.ts';
import type { Library } from './library.ts';
import { disorderOf, type Indexed, walk } from './walk.ts';

export interface IndexerOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly library: Library;
  readonly gateways: readonly ReadingServer[];
  /** Ids that could be read everywhere one evening, and since when: no fork reaches them. */
  readonly settled: ReadonlyMap<string, number>;
  readonly isDay: () => boolean;
}

const minute = 60_000;
const pauseMs = 15 * minute;
/** What was only found by asking for it is put into its place within this. */
const placedMs = 5 * minute;

export class Indexer {
  readonly process: SimulatedProcess;
  readonly #options: IndexerOptions;

  constructor(options: IndexerOptions) {
    this.#options = options;
    this.process = options.process;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay, network, gateways } = this.#options;
    for (;;) {
      await life.wait(pauseMs * (0.5 + random.fraction()));
      if (!isDay()) continue;
      const placedAt = life.world.time - placedMs;
      const isPlaced = (id: string): boolean =>
        (this.#options.settled.get(id) ?? Number.POSITIVE_INFINITY) <= placedAt;
      const server = random.pick(gateways);
      const sort = random.pick(['HEIGHT_DESC', 'HEIGHT_ASC'] as const);
      const indexed = await walk(life, network, server, sort, random.pick([7, 20, 100]));
      // What moves while somebody reads may be met twice or not at all; what has its place may not.
      const placed = (indexed ?? []).filter(({ id }) => isPlaced(id));
      const wrong = indexed && (disorderOf(placed, sort) ?? this.#missing(placed, isPlaced));
      if (wrong !== undefined) life.world.broken(`the pages of ${server.process.name}, ${sort}: ${wrong}`);
    }
  };

  #missing(placed: readonly Indexed[], isPlaced: (id: string) => boolean): string | undefined {
    const { settled, library } = this.#options;
    const counts = new Map<string, number>();
    for (const { id } of placed) counts.set(id, (counts.get(id) ?? 0) + 1);
    for (const id of [...settled.keys()].filter(isPlaced)) {
      const entry = library.entries.get(id);
      const count = counts.get(id) ?? 0;
      if (entry !== undefined && count !== 1) return `${short(id)} is there ${count} times`;
      const [found] = placed.filter((one) => one.id === id);
      if (entry !== undefined && found?.height !== library.heightOf(entry))
        return `${short(id)} is said to be at ${found?.height}`;
    }
    return undefined;
  }
}
