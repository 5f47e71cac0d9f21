/**
 * The figures of several processes as one Prometheus text: counters and histograms are sums, gauges what their kind says
 * (`Metrics.gauge`, `shareGauge`, `leastGauge`).
 */
import { AggregatorRegistry, type MetricObjectWithValues, type MetricValue } from 'prom-client';

type Figure = Omit<MetricObjectWithValues<MetricValue<string>>, 'collect'>;

/** What a process tells of itself; made to be sent to another. */
export type Figures = readonly Figure[];

/** Of our own processes, which are of one version. */
export const isFigures = (value: unknown): value is Figures => Array.isArray(value);

/** Undefined where nobody told anything. */
export async function mergedText(told: readonly Figures[]): Promise<string | undefined> {
  if (told.length === 0) return undefined;
  const text = await AggregatorRegistry.aggregate(told.map((figures) => figures.map(withKnown))).metrics();
  return `${text}\n# HELP workers Processes whose figures these are\n# TYPE workers gauge\nworkers ${told.length}\n`;
}

/** What one process does not know, another may. */
const withKnown = (figure: Figure): Figure => ({
  ...figure,
  values: figure.values.filter(({ value }) => !Number.isNaN(value)),
});
