/** Somebody who brings content to the chain and gives names targets, and sees to it that both arrive. */
import { ANCHOR_DEPTH } from '../../../src/localnet/arweave/rules.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { type ArweaveNetwork, short } from '../arweave.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import { askOnce } from './asking.ts';
import type { Library, Publication } from './library.ts';
import type { Registry } from './registry.ts';

export interface PublisherOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly arweave: ArweaveNetwork;
  readonly library: Library;
  readonly registry: Registry;
  readonly isDay: () => boolean;
}

const second = 1_000;
const minute = 60 * second;
/** Between two publications, on average. */
const pauseMs = 9 * minute;
/** A block as deep as that is there to stay. */
const deepBlocks = 15;

export class Publisher {
  readonly process: SimulatedProcess;
  readonly #options: PublisherOptions;

  constructor(options: PublisherOptions) {
    this.process = options.process;
    this.#options = options;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay, registry, library } = this.#options;
    for (;;) {
      await life.idle(random, pauseMs);
      if (!isDay()) continue;
      const count = random.below(3) === 0 ? random.between(2, 4) : 1;
      for (let index = 0; index < count; index += 1) void this.#publish(life);
      const targets = library.published();
      if (targets.length > 0 && random.below(2) === 0) registry.point(random.pick(targets).id);
    }
  };

  async #publish(life: Life): Promise<void> {
    const { library, arweave, network, random } = this.#options;
    const begun = arweave.best.height;
    const anchor = await askOnce(life, network, random.pick(arweave.nodes).url, { path: '/tx_anchor' });
    if (anchor?.status !== 200) return;
    const publication = await library.make(anchor.body.toString());
    const { id, data, entries } = publication;
    const items = entries.slice(1).map((entry) => short(entry.id));
    this.process.tell(`publishes ${[`${short(id)}, ${data.length} bytes`, ...items].join(', ')}`);
    for (;;) {
      const height = library.heightOf({ root: id });
      const isThere = library.isOnChain({ root: id });
      if (isThere && height !== undefined && arweave.best.height - height >= deepBlocks) return;
      if (height === undefined && arweave.best.height - begun > ANCHOR_DEPTH) break;
      if (!isThere) await this.#post(life, publication);
      await life.wait(minute * (1 + 2 * random.fraction()));
    }
    publication.isGivenUp = true;
    this.process.tell(`gives ${short(id)} up: its anchor is too old`);
  }

  /** To all nodes: any of them may forget it. */
  async #post(life: Life, { json, dataRoot, data, tree }: Publication): Promise<void> {
    const { network, arweave } = this.#options;
    const post = (url: string, path: string, body: string) =>
      askOnce(life, network, url, { method: 'POST', path, body });
    await Promise.all(
      arweave.nodes.map(async ({ url }) => {
        await post(url, '/tx', json);
        for (const { start, end, offset, dataPath } of tree.proofs()) {
          const chunk = {
            ...{ data_root: dataRoot, data_size: String(data.length), offset: String(offset) },
            data_path: dataPath.toString('base64url'),
            chunk: data.subarray(start, end).toString('base64url'),
          };
          await post(url, '/chunk', JSON.stringify(chunk));
        }
      }),
    );
  }
}
