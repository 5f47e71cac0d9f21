/** The last hour of every surface's figures, one sample every five seconds. */
import type { Charts, FigureName, OperatorService, SurfaceCharts } from '../api.ts';
import type { SurfaceFigures } from './figures.ts';

export const sampleMs = 5_000;
const maxSamples = 3_600_000 / sampleMs;

export type AllFigures = Readonly<Partial<Record<OperatorService, SurfaceFigures>>>;

interface Sampled {
  /** Unix milliseconds. */
  readonly at: number;
  readonly surfaces: AllFigures;
}

export class ChartStore {
  readonly #samples: Sampled[] = [];

  add(at: number, surfaces: AllFigures): void {
    // A clock that was set back, as by a reset of a local network that had travelled, begins anew.
    if (at <= (this.#samples.at(-1)?.at ?? 0)) this.#samples.length = 0;
    this.#samples.push({ at, surfaces });
    if (this.#samples.length > maxSamples) this.#samples.shift();
  }

  /** Samples after this time. */
  read(since: number): Charts {
    const samples = this.#samples.filter(({ at }) => at > since);
    const names = new Set(samples.flatMap(({ surfaces }) => Object.keys(surfaces) as OperatorService[]));
    return {
      everyMs: sampleMs,
      times: samples.map(({ at }) => at),
      surfaces: Object.fromEntries([...names].map((name) => [name, seriesOf(name, samples)])),
    };
  }
}

function seriesOf(name: OperatorService, samples: readonly Sampled[]): SurfaceCharts {
  const told = samples.map(({ surfaces }) => surfaces[name]);
  const queues = new Set(told.flatMap((one) => Object.keys(one?.queues ?? {})));
  const series = (read: (one: SurfaceFigures) => number | undefined) =>
    told.map((one) => (one === undefined ? null : (read(one) ?? null)));
  const figure = (which: FigureName) => series(({ figures }) => figures[which]);
  return {
    figures: {
      requestsPerSecond: figure('requestsPerSecond'),
      errorsPerSecond: figure('errorsPerSecond'),
      latencyP50: figure('latencyP50'),
      latencyP95: figure('latencyP95'),
      inFlight: figure('inFlight'),
      cacheHitShare: figure('cacheHitShare'),
      eventLoopLag: figure('eventLoopLag'),
      memoryBytes: figure('memoryBytes'),
      cpu: figure('cpu'),
    },
    queues: Object.fromEntries(
      [...queues].map((queue) => [queue, series(({ queues: waiting }) => waiting[queue])]),
    ),
  };
}
