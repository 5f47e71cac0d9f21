/** How gateways did over the last hours and days. */
import { Button } from '../../../kit/button.tsx';
import { Card } from '../../../kit/card.tsx';
import { Chart } from '../../../kit/chart.tsx';
import { clampText, formatBytes, formatCount } from '../../../kit/format.ts';
import { Loaded, useLoad } from '../../../kit/load.tsx';
import type { Series } from '../../../kit/series.ts';
import { Empty } from '../../../kit/state.tsx';
import { Table } from '../../../kit/table.tsx';
import type { Ask } from '../../../services/operator/ask.ts';
import {
  type RouterGatewaySeries,
  type RouterTelemetry,
  type TelemetryRange,
  telemetryRanges,
} from '../../../services/operator/router.ts';
import { texts } from '../../../texts.ts';
import { formatMs, formatShare } from './share.ts';

const words = texts.operator.router;

interface Props {
  readonly ask: Ask;
  readonly range: TelemetryRange;
  onRange(range: TelemetryRange): void;
}

export function RouterTelemetryPart({ ask, range, onRange }: Props) {
  const telemetry = useLoad(() => ask<RouterTelemetry>('GET', `telemetry?range=${range}`), [ask, range], {
    everyMs: 10_000,
    keep: true,
  });
  return (
    <>
      <fieldset class="operator-choice">
        <legend class="unseen">{words.range}</legend>
        {telemetryRanges.map((each) => (
          <Button key={each} small pressed={each === range} onClick={() => onRange(each)}>
            {words.ranges[each]}
          </Button>
        ))}
      </fieldset>
      <Loaded of={telemetry}>
        {(told) =>
          told.enabled ? (
            <Figures told={told} />
          ) : (
            <Empty title={words.telemetryOff}>{words.telemetryOffNote}</Empty>
          )
        }
      </Loaded>
    </>
  );
}

type Told = Extract<RouterTelemetry, { enabled: true }>;
type HourPoint = RouterGatewaySeries['points'][number];

function Figures({ told }: { readonly told: Told }) {
  return (
    <>
      <div class="operator-charts">
        <Chart
          title={words.requestsPerHour}
          unit=""
          kind={told.buckets.length === 1 ? 'bars' : 'line'}
          series={seriesOf(told, ({ requests }) => requests)}
        />
        <Chart
          title={words.timeToFirstByte}
          unit="ms"
          series={seriesOf(told, ({ latencyMs }) => latencyMs)}
        />
        <Chart
          title={words.errorShare}
          unit="%"
          series={seriesOf(told, ({ errorRate }) => (errorRate === null ? null : 100 * errorRate))}
        />
      </div>
      <Card title={words.figures}>
        <Table
          caption={words.figures}
          rows={told.gateways}
          rowKey={({ gateway }) => gateway}
          empty={<Empty title={words.noFigures} />}
          columns={[
            {
              id: 'gateway',
              head: words.gateway,
              wide: true,
              cell: ({ gateway }) => <bdi class="foreign">{clampText(gateway, 120)}</bdi>,
            },
            {
              id: 'requests',
              head: words.requests,
              align: 'end',
              cell: ({ totalRequests }) => formatCount(totalRequests),
            },
            {
              id: 'success',
              head: words.success,
              align: 'end',
              cell: ({ successRate }) => formatShare(successRate),
            },
            {
              id: 'errors',
              head: words.errors,
              align: 'end',
              cell: ({ errorRate }) => formatShare(errorRate),
            },
            { id: 'p50', head: 'p50', align: 'end', cell: ({ p50LatencyMs }) => formatMs(p50LatencyMs) },
            { id: 'p95', head: 'p95', align: 'end', cell: ({ p95LatencyMs }) => formatMs(p95LatencyMs) },
            { id: 'p99', head: 'p99', align: 'end', cell: ({ p99LatencyMs }) => formatMs(p99LatencyMs) },
            {
              id: 'bytes',
              head: words.bytes,
              align: 'end',
              cell: ({ bytesServed }) => formatBytes(bytesServed),
            },
            {
              id: 'proven',
              head: words.proven,
              align: 'end',
              cell: ({ gateway, verificationSuccessRate }) =>
                gateway === words.fromCache ? '–' : formatShare(verificationSuccessRate),
            },
          ]}
        />
      </Card>
    </>
  );
}

/** Lines that can be told apart; the others are in the table. */
const mostLines = 6;

function seriesOf({ buckets, series }: Told, pick: (point: HourPoint) => number | null): readonly Series[] {
  const times = buckets.map((bucket) => new Date(bucket).getTime());
  return series.slice(0, mostLines).map(({ gateway, points }) => ({
    label: clampText(gateway, 40),
    points: points.flatMap((point, at): [number, number][] => {
      const [time, value] = [times[at], pick(point)];
      return time === undefined || value === null ? [] : [[time, value]];
    }),
  }));
}
