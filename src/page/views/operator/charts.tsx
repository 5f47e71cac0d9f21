/** The last hour of every service, from its own metrics. */
import type { Charts, FigureName } from '../../../console/api.ts';
import { Chart } from '../../kit/chart.tsx';
import { type Load, Loaded, useLoad } from '../../kit/load.tsx';
import { Empty } from '../../kit/state.tsx';
import { askOperator } from '../../services/operator/ask.ts';
import { texts } from '../../texts.ts';
import { figureSeries, queueSeries } from './chart-series.ts';

const words = texts.operator.charts;
const labels = texts.operator.services;

interface Kind {
  readonly title: string;
  readonly unit: string;
  readonly factor?: number;
}

const kinds: Readonly<Record<FigureName, Kind>> = {
  requestsPerSecond: { title: words.requests, unit: words.perSecond },
  errorsPerSecond: { title: words.errors, unit: words.perSecond },
  latencyP50: { title: words.p50, unit: 'ms', factor: 1000 },
  latencyP95: { title: words.p95, unit: 'ms', factor: 1000 },
  inFlight: { title: words.inFlight, unit: '' },
  cacheHitShare: { title: words.cache, unit: '%', factor: 100 },
  eventLoopLag: { title: words.lag, unit: 'ms', factor: 1000 },
  memoryBytes: { title: words.memory, unit: 'bytes' },
  cpu: { title: words.cpu, unit: words.cores },
};

const useCharts = (): Load<Charts> =>
  useLoad(() => askOperator<Charts>('GET', 'charts'), [], { everyMs: 5_000 });

interface FigureChartsProps {
  readonly figures: readonly FigureName[];
  readonly withQueues?: boolean;
}

export function FigureCharts({ figures, withQueues = false }: FigureChartsProps) {
  const charts = useCharts();
  return (
    <Loaded of={charts}>
      {(told) =>
        told.times.length === 0 ? (
          <Empty title={words.collecting}>{words.notTold}</Empty>
        ) : (
          <div class="operator-charts">
            {figures.map((figure) => {
              const { title, unit, factor } = kinds[figure];
              return (
                <Chart
                  key={figure}
                  title={title}
                  unit={unit}
                  series={figureSeries(told, figure, labels, factor)}
                />
              );
            })}
            {withQueues &&
              (['gateway', 'upload', 'payment', 'router'] as const).map((service) => {
                const series = queueSeries(told, service);
                return (
                  series.length > 0 && (
                    <Chart
                      key={service}
                      title={words.queues(labels[service])}
                      unit={words.waiting}
                      series={series}
                    />
                  )
                );
              })}
          </div>
        )
      }
    </Loaded>
  );
}
