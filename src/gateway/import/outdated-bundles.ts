/** Bundles that were read or skipped under other filters are judged again, a few at a time. */
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { GatewayContext } from '../chain/context.ts';
import { ranks } from '../unbundle/queue.ts';
import { type BundleIntake, queueKnownBundle } from './queue-bundle.ts';

const perRound = 200;
const pauseMs = 200;

export function judgeOutdatedBundles(
  options: BundleIntake & Pick<GatewayContext, 'index' | 'log'>,
): WakeableTask {
  const { index, queue, log } = options;
  const task = new WakeableTask({
    name: 'bundles of other filters',
    stuckAfterMs: Number.POSITIVE_INFINITY,
    async run() {
      const outdated = await queue.outdated(perRound);
      let any = false;
      for (const { id, depth } of outdated) {
        if (task.isStopped) return undefined;
        const rank = depth === 0 ? ranks.chain : ranks.nested;
        any = (await queueKnownBundle(index, options, id.toString('base64url'), rank, { depth })) || any;
      }
      if (any) queue.notify();
      return outdated.length === perRound ? pauseMs : undefined;
    },
    failed(error) {
      log.warn({ err: error }, 'bundles of other filters could not be judged');
      return pauseMs;
    },
  });
  return task;
}
