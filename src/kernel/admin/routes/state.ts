/** `GET /state`: how the surface is, what is wrong with it, and how its background work goes. */
import type { Config } from '../../../config/config.ts';
import type { SurfaceState } from '../../../formats/admin-answers.ts';
import type { App } from '../../http/app.ts';
import { jobReports, type Part, problemsOf } from '../../part.ts';

export type Figures = SurfaceState['figures'];

export interface StateDeps {
  readonly surface: string;
  readonly version: string;
  readonly config: Pick<Config, 'WORLD'>;
  /** Unix milliseconds. */
  readonly startedAt: number;
  readonly parts: () => readonly Part[];
  /** What is wrong beside what the parts say. */
  readonly problems?: (() => Promise<readonly string[]>) | undefined;
  /** What this surface counts. */
  readonly figures: () => Promise<Figures>;
}

export function stateRoute(app: App, deps: StateDeps): void {
  // Counting is work: callers that come together share it.
  let counting: Promise<SurfaceState> | undefined;
  app.get(
    '/state',
    { schema: { summary: 'Version, problems, background jobs and figures', tags: ['admin'] } },
    async () => {
      counting ??= stateOf(deps).finally(() => {
        counting = undefined;
      });
      return await counting;
    },
  );
}

async function stateOf(deps: StateDeps): Promise<SurfaceState> {
  const parts = deps.parts();
  return {
    surface: deps.surface,
    version: deps.version,
    world: deps.config.WORLD,
    startedAt: deps.startedAt,
    pid: process.pid,
    problems: [...((await deps.problems?.()) ?? []), ...(await problemsOf(parts))],
    jobs: jobReports(parts),
    figures: await deps.figures(),
  };
}
