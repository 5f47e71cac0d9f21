/** Lines of charts out of the figures that the console's server has collected. */
import type { Charts, FigureName, OperatorService } from '../../../console/api.ts';
import type { Series } from '../../kit/series.ts';

const services: readonly OperatorService[] = ['gateway', 'payment', 'upload', 'router'];

/** One line for each service that tells the figure. */
export function figureSeries(
  { times, surfaces }: Charts,
  figure: FigureName,
  labels: Readonly<Record<OperatorService, string>>,
  factor = 1,
): readonly Series[] {
  return services.flatMap((service) => {
    const points = pointsOf(times, surfaces[service]?.figures[figure] ?? [], factor);
    return points.length === 0 ? [] : [{ label: labels[service], points }];
  });
}

/** One line for each queue of a service in which anything ever waited; the fullest first. */
export function queueSeries(
  { times, surfaces }: Charts,
  service: OperatorService,
  most = 6,
): readonly Series[] {
  return Object.entries(surfaces[service]?.queues ?? {})
    .map(([label, values]) => ({ label: label.replaceAll('_', ' '), points: pointsOf(times, values, 1) }))
    .filter(({ points }) => points.some(([, value]) => (value ?? 0) > 0))
    .toSorted((a, b) => highest(b) - highest(a))
    .slice(0, most);
}

const highest = ({ points }: Series): number => Math.max(...points.map(([, value]) => value ?? 0));

function pointsOf(
  times: readonly number[],
  values: readonly (number | null)[],
  factor: number,
): (readonly [number, number])[] {
  return times.flatMap((time, at) => {
    const value = values[at];
    return value == null ? [] : [[time, value * factor] as const];
  });
}
