/** Figures over time: drawn, said in short, and as a table for who wants the numbers. */
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { texts } from '../texts.ts';
import { Button } from './button.tsx';
import { formatBytes, formatDecimal, formatDuration, formatTime } from './format.ts';
import type { Plot } from './plot.ts';
import { extentOf, type Point, type Series, sparkPath } from './series.ts';
import { Problem } from './state.tsx';
import { Table } from './table.tsx';

interface Props {
  readonly title: string;
  readonly series: readonly Series[];
  /** `bytes`, `ms` and `%` are written as such; anything else stands behind the number. */
  readonly unit: string;
  readonly kind?: 'line' | 'bars' | undefined;
}

const mostTableRows = 200;

export function Chart({ title, series, unit, kind = 'line' }: Props) {
  const box = useRef<HTMLDivElement>(null);
  const plot = useRef<Plot | undefined>(undefined);
  const latest = useRef(series);
  const [isTable, setTable] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const [round, setRound] = useState(0);
  const summaryId = useId();
  const format = (value: number): string => formatValue(value, unit);
  const isEmpty = series.every(({ points }) => points.length === 0);
  latest.current = series;
  useEffect(() => {
    if (isTable || isEmpty) return undefined;
    let isGone = false;
    import('./plot.ts').then(
      ({ drawPlot }) => {
        if (isGone || box.current === null) return;
        setFailure(undefined);
        plot.current = drawPlot(box.current, latest.current, format, kind);
      },
      (error: Error) => setFailure(error),
    );
    return () => {
      isGone = true;
      plot.current?.destroy();
      plot.current = undefined;
    };
  }, [isTable, isEmpty, kind, unit, round]);
  useEffect(() => plot.current?.update(series), [series]);
  return (
    <figure class="chart">
      <figcaption>
        <span class="chart-title">{title}</span>
        {!isEmpty && (
          <Button kind="quiet" small onClick={() => setTable(!isTable)}>
            {isTable ? texts.kit.showAsChart : texts.kit.showAsTable}
          </Button>
        )}
      </figcaption>
      {failure !== undefined && <Problem error={failure} again={() => setRound(round + 1)} />}
      {isEmpty && <p class="soft chart-empty">{texts.kit.noPoints}</p>}
      {!isEmpty && !isTable && (
        <div class="plot" ref={box} role="img" aria-label={title} aria-describedby={summaryId} />
      )}
      {!isEmpty && isTable && <PointTable title={title} series={series} format={format} />}
      <p class="unseen" id={summaryId}>
        {series.map((each) => summary(each, format)).join(' ')}
      </p>
    </figure>
  );
}

interface PointTableProps {
  readonly title: string;
  readonly series: readonly Series[];
  readonly format: (value: number) => string;
}

/** The newest points first. */
function PointTable({ title, series, format }: PointTableProps) {
  const values = series.map(({ points }) => new Map(points.map(([at, value]) => [at, value])));
  const times = [...new Set(series.flatMap(({ points }) => points.map(([at]) => at)))]
    .sort((a, b) => b - a)
    .slice(0, mostTableRows);
  return (
    <Table
      caption={title}
      rows={times}
      rowKey={(at) => String(at)}
      columns={[
        { id: 'time', head: texts.kit.time, cell: (at) => formatTime(at) },
        ...series.map(({ label }, index) => ({
          id: label,
          head: label,
          align: 'end' as const,
          cell: (at: number) => {
            const value = values[index]?.get(at);
            return value === undefined || value === null ? '–' : format(value);
          },
        })),
      ]}
    />
  );
}

function summary(series: Series, format: (value: number) => string): string {
  const extent = extentOf(series);
  if (extent === undefined) return '';
  return texts.kit.seriesSummary(
    series.label,
    format(extent.last),
    format(extent.lowest),
    format(extent.highest),
  );
}

function formatValue(value: number, unit: string): string {
  if (unit === 'bytes') return formatBytes(value);
  if (unit === 'ms') return formatDuration(value);
  const number = formatDecimal(BigInt(Math.round(value * 10_000)), 4);
  if (unit === '') return number;
  return unit === '%' ? `${number} %` : `${number} ${unit}`;
}

const [sparkWidth, sparkHeight] = [96, 24];
/** So that the line is not cut at its highest and lowest points. */
const sparkEdge = 2;

/** A small line beside a number that says the same, so that it is for the eyes alone. */
export function Spark({ points }: { readonly points: readonly Point[] }) {
  return (
    <svg
      class="spark"
      viewBox={`0 ${-sparkEdge} ${sparkWidth} ${sparkHeight + 2 * sparkEdge}`}
      width={sparkWidth}
      height={sparkHeight + 2 * sparkEdge}
      aria-hidden="true"
    >
      <path d={sparkPath(points, sparkWidth, sparkHeight)} />
    </svg>
  );
}
