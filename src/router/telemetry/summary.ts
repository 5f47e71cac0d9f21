/** What the statistics routes say, from the hours that were kept. */
import { addHour, bucketsToObject, emptyHour, percentile } from './hour.ts';
import type { KeptHour } from './store.ts';

export interface Period {
  readonly start: Date;
  readonly end: Date;
}

const hourMs = 3_600_000;

/** One line per gateway, busiest first. */
export function summarize(hours: readonly KeptHour[], period: Period) {
  const inPeriod = Math.max(1, Math.ceil((period.end.getTime() - period.start.getTime()) / hourMs));
  return [...Map.groupBy(hours, ({ gateway }) => gateway)]
    .map(([gateway, own]) => {
      const sum = emptyHour();
      for (const { figures } of own) addHour(sum, figures);
      const hoursActive = new Set(own.map(({ hourBucket }) => hourBucket)).size;
      const failures = sum.serverErrors + sum.timeouts + sum.connectionErrors;
      return {
        gateway,
        period: { start: period.start.toISOString(), end: period.end.toISOString() },
        totalRequests: sum.totalRequests,
        successfulRequests: sum.successfulRequests,
        bytesServed: sum.bytesServed,
        successRate: ratio(sum.successfulRequests, sum.totalRequests),
        verificationSuccessRate: ratio(sum.verificationSuccess, sum.verificationAttempts),
        consensusAgreementRate: ratio(sum.consensusAgreements, sum.consensusParticipations),
        errorRate: ratio(failures, sum.totalRequests),
        avgLatencyMs: ratio(sum.latencySum, sum.latencyCount),
        p50LatencyMs: percentile(sum, 0.5),
        p95LatencyMs: percentile(sum, 0.95),
        p99LatencyMs: percentile(sum, 0.99),
        hoursActive,
        hoursMissing: Math.max(0, inPeriod - hoursActive),
        availabilityRate: ratio(sum.totalRequests - failures, sum.totalRequests),
      };
    })
    .sort((a, b) => b.totalRequests - a.totalRequests);
}

export type GatewaySummary = ReturnType<typeof summarize>[number];

/** Everything about one gateway, hour by hour. */
export function detail(hours: readonly KeptHour[]) {
  const sum = emptyHour();
  for (const { figures } of hours) addHour(sum, figures);
  return {
    summary: {
      totalRequests: sum.totalRequests,
      successfulRequests: sum.successfulRequests,
      verificationSuccess: sum.verificationSuccess,
      verificationFailed: sum.verificationFailed,
      bytesServed: sum.bytesServed,
      latencySum: sum.latencySum,
      latencyCount: sum.latencyCount,
      successRate: ratio(sum.successfulRequests, sum.totalRequests),
      avgLatencyMs: ratio(sum.latencySum, sum.latencyCount),
    },
    hourlyStats: hours.map(({ gateway, hourBucket, figures: { latency, ...figures } }) => ({
      gateway,
      hourBucket,
      ...figures,
      latencyBuckets: bucketsToObject(latency),
    })),
  };
}

export function totals(gateways: readonly GatewaySummary[]) {
  return {
    totalRequests: gateways.reduce((sum, one) => sum + one.totalRequests, 0),
    totalBytesServed: gateways.reduce((sum, one) => sum + one.bytesServed, 0),
    totalGateways: gateways.length,
    activeGateways: gateways.filter((one) => one.successfulRequests > 0).length,
  };
}

export function toCsv(gateways: readonly GatewaySummary[]): string {
  const head =
    'gateway,total_requests,successful_requests,bytes_served,success_rate,verification_success_rate,avg_latency_ms,availability_rate';
  const lines = gateways.map((one) =>
    [
      one.gateway,
      one.totalRequests,
      one.successfulRequests,
      one.bytesServed,
      one.successRate.toFixed(4),
      one.verificationSuccessRate.toFixed(4),
      one.avgLatencyMs.toFixed(2),
      one.availabilityRate.toFixed(4),
    ]
      .map(csvField)
      .join(','),
  );
  return [head, ...lines].join('\n');
}

function csvField(value: string | number): string {
  const text = String(value);
  return /[",\n\r]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

function ratio(part: number, whole: number): number {
  return whole === 0 ? 0 : part / whole;
}
