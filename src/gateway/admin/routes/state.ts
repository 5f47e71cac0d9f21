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
const badStart = 'Invalid startHeight - must be a positive integer';
const badEnd = 'Invalid endHeight - must be a positive integer greater than or equal to startHeight';
const words: Record<string, string> = { startHeight: badStart, endHeight: badEnd };

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
        summary: 'Remove stable data items that were indexed before a time',
        tags: ['admin'],
        body: Type.Object({
          indexedAtThreshold: Whole,
          startHeight: Type.Optional(Whole),
          endHeight: Type.Optional(Whole),
        }),
      },
      config: { invalid: (_part, field) => words[field] ?? badThreshold },
    },
    async (request) => {
      const { indexedAtThreshold, startHeight = 0, endHeight = Number.MAX_SAFE_INTEGER } = request.body;
      if (endHeight < startHeight) throw badRequest(badEnd);
      if (!(await job.claim())) throw pruneRunning();
      const running = pruning.run({
        indexedBefore: indexedAtThreshold,
        minHeight: startHeight,
        maxHeight: endHeight,
      });
      const told = job.follow(() => pruning.status, running);
      const prunedCount = await running;
      await told;
      return { message: 'Stable data items pruned successfully', prunedCount };
    },
  );

  app.get(
    '/prune-stable-data-items/status',
    { schema: { summary: 'How far the pruning is', tags: ['admin'] } },
    () => job.status(),
  );
}
