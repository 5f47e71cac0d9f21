/** Bundles that were read or skipped under other filters are judged again, a few at a time. */
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { ranks } from '../unbundle/queue.ts';
import { type BundleIntake, queueKnownBundle } from './queue-bundle.ts';

export interface OutdatedBundlesOptions extends BundleIntake {
  readonly index: SqlGatewayIndex;
  readonly log: Logger;
}

const perRound = 200;
const pauseMs = 200;

export class OutdatedBundles {
  readonly #options: OutdatedBundlesOptions;
  readonly #task: WakeableTask;

  constructor(options: OutdatedBundlesOptions) {
    this.#options = options;
    this.#task = new WakeableTask({
      run: async () => ((await this.#judgeSome()) ? pauseMs : undefined),
      failed(error) {
        options.log.warn({ err: error }, 'bundles of other filters could not be judged');
        return pauseMs;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  stop(): Promise<void> {
    return this.#task.stop();
  }

  /** Answers whether there may be more. */
  async #judgeSome(): Promise<boolean> {
    const { index, queue } = this.#options;
    const outdated = await queue.outdated(perRound);
    let any = false;
    for (const { id, depth } of outdated) {
      if (this.#task.isStopped) return false;
      const rank = depth === 0 ? ranks.chain : ranks.nested;
      any = (await queueKnownBundle(index, this.#options, id.toString('base64url'), rank, depth)) || any;
    }
    if (any) queue.notify();
    return outdated.length === perRound;
  }
}
