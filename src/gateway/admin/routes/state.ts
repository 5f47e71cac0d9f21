/** `debug` and `prune-stable-data-items` (interface §4.4). */
import { Type } from 'typebox';
import type { App } from '../../../kernel/http/server.ts';
import { traced } from '../../../kernel/tracing/tracing.ts';
import { type DebugDeps, debugReport } from '../debug.ts';
import { badRequest, pruneRunning } from '../errors.ts';
import type { Pruning } from '../prune.ts';
import type { SharedJob } from '../shared-job.ts';

const Whole = Type.Integer({ minimum: 0, maximum: Number.MAX_SAFE_INTEGER });
const badThreshold = 'Invalid indexedAtThreshold - must be a positive integer';
const inMilliseconds = 'Invalid indexedAtThreshold - must be in seconds, and seems to be in milliseconds';
const inTheFuture = 'Invalid indexedAtThreshold - must not be in the future';
const badDryRun = 'Invalid dryRun - must be a boolean';
const badStart = 'Invalid startHeight - must be a positive integer';
const badEnd = 'Invalid endHeight - must be a positive integer greater than or equal to startHeight';
const words: Record<string, string> = { startHeight: badStart, endHeight: badEnd, dryRun: badDryRun };

/** A caller's clock may be so many seconds ahead of ours. */
const clockSkewSeconds = 5;
/** As seconds these are more than a hundred years from now; as milliseconds they began in 1973. */
const surelyMilliseconds = 100_000_000_000;

function refuseBadThreshold(threshold: number): void {
  if (threshold >= surelyMilliseconds) throw badRequest(inMilliseconds);
  if (threshold > Date.now() / 1000 + clockSkewSeconds) throw badRequest(inTheFuture);
}

export function stateRoutes(app: App, debug: DebugDeps, pruning: Pruning, job: SharedJob): void {
  // Counting is work: callers that come together share it.
  let counting: Promise<object> | undefined;
  app.get(
    '/debug',
    { schema: { summary: 'State, counts, warnings and errors', tags: ['admin'] } },
    async () => {
      counting ??= traced(
        'count for debug',
        () => ({}),
        () => debugReport(debug),
      ).finally(() => {
        counting = undefined;
      });
      return await counting;
    },
  );

  app.post(
    '/prune-stable-data-items',
    {
      schema: {
        summary:
          'Remove stable data items that were indexed before a time from the index; they stay readable',
        tags: ['admin'],
        body: Type.Object({
          indexedAtThreshold: Whole,
          startHeight: Type.Optional(Whole),
          endHeight: Type.Optional(Whole),
          dryRun: Type.Optional(Type.Boolean()),
        }),
      },
      config: { invalid: (_part, field) => words[field] ?? badThreshold },
    },
    async (request) => {
      const { indexedAtThreshold, startHeight = 0, endHeight = Number.MAX_SAFE_INTEGER } = request.body;
      if (endHeight < startHeight) throw badRequest(badEnd);
      refuseBadThreshold(indexedAtThreshold);
      const range = { indexedBefore: indexedAtThreshold, minHeight: startHeight, maxHeight: endHeight };
      if (request.body.dryRun === true) {
        const { count, ...where } = await pruning.preview(range);
        return {
          message: 'Dry run: nothing was removed',
          dryRun: true,
          wouldPruneCount: count,
          ...where,
          contentStaysReadable: true,
        };
      }
      if (!(await job.claim())) throw pruneRunning();
      const running = pruning.run(range);
      const told = job.follow(() => pruning.status, running);
      const prunedCount = await running;
      const { warning, leftOutHeights } = pruning.status;
      await told;
      return {
        message: 'Stable data items pruned successfully',
        prunedCount,
        ...(warning !== undefined && { warning }),
        ...(leftOutHeights !== undefined && { leftOutHeights }),
      };
    },
  );

  app.get(
    '/prune-stable-data-items/status',
    { schema: { summary: 'How far the pruning is', tags: ['admin'] } },
    () => job.status(),
  );
}
