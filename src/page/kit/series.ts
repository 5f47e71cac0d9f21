/** Points of charts: series of different times brought onto one axis, and what they say in short. */

/** Time in milliseconds, value; null: not known then, which leaves a gap. */
export type Point = readonly [number, number | null];

export interface Series {
  readonly label: string;
  readonly points: readonly Point[];
}

/** Times in seconds, then the values of each series at them, as uPlot wants them; null where a series has none. */
export function alignSeries(series: readonly Series[]): [number[], ...(number | null)[][]] {
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))].sort((a, b) => a - b);
  const columns = series.map(({ points }) => {
    const values = new Map(points.map(([at, value]) => [at, value]));
    return times.map((at) => values.get(at) ?? null);
  });
  return [times.map((at) => at / 1000), ...columns];
}

export interface Extent {
  readonly last: number;
  readonly lowest: number;
  readonly highest: number;
}

export function extentOf({ points }: Series): Extent | undefined {
  let extent: Extent | undefined;
  for (const [, value] of points) {
    if (value === null) continue;
    extent = {
      last: value,
      lowest: Math.min(value, extent?.lowest ?? value),
      highest: Math.max(value, extent?.highest ?? value),
    };
  }
  return extent;
}

/** The line of a small chart in a box of this size; equal values are in its middle. */
export function sparkPath(points: readonly Point[], width: number, height: number): string {
  const [from, until] = [points[0]?.[0] ?? 0, points.at(-1)?.[0] ?? 0];
  const extent = extentOf({ label: '', points });
  if (extent === undefined || until === from) return '';
  const { lowest, highest } = extent;
  const y = (value: number): number =>
    highest === lowest ? height / 2 : height - ((value - lowest) / (highest - lowest)) * height;
  let command = 'M';
  let path = '';
  for (const [at, value] of points) {
    if (value === null) {
      command = 'M';
      continue;
    }
    path += `${command}${(((at - from) / (until - from)) * width).toFixed(1)} ${y(value).toFixed(1)}`;
    command = 'L';
  }
  return path;
}
