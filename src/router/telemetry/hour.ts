/** One gateway's figures of one hour, and how they add up. */
import type { Outcome } from '../gateways/outcome.ts';

export const latencyBounds = [10, 25, 50, 100, 250, 500, 1_000, 2_500, 5_000, 10_000, 30_000] as const;
const overflow = latencyBounds.length;
const neutral: ReadonlySet<Outcome> = new Set(['client_error', 'throttled', 'unproven']);

export type HourFigures = ReturnType<typeof emptyHour>;

export function emptyHour() {
  return {
    totalRequests: 0,
    successfulRequests: 0,
    clientErrors: 0,
    serverErrors: 0,
    timeouts: 0,
    connectionErrors: 0,
    verificationAttempts: 0,
    verificationSuccess: 0,
    verificationFailed: 0,
    verificationSkipped: 0,
    consensusParticipations: 0,
    consensusAgreements: 0,
    consensusDisagreements: 0,
    latencySum: 0,
    latencyCount: 0,
    /** One count per bound, the last for everything slower; not cumulated. */
    latency: new Array<number>(overflow + 1).fill(0),
    bytesServed: 0,
  };
}

/**
 * Neither a success nor a failure: what the gateway does not have, and what cannot be proven whoever sends it. A wrong
 * answer counts as a server's error: it is no answer to what was asked.
 */
export function addAttempt(hour: HourFigures, outcome: Outcome, latencyMs: number): void {
  hour.totalRequests += 1;
  if (outcome === 'success') hour.successfulRequests += 1;
  else if (neutral.has(outcome)) hour.clientErrors += 1;
  else if (outcome === 'server_error' || outcome === 'wrong') hour.serverErrors += 1;
  else if (outcome === 'timeout') hour.timeouts += 1;
  else hour.connectionErrors += 1;
  addLatency(hour, latencyMs);
}

export function addLatency(hour: HourFigures, latencyMs: number): void {
  hour.latencySum += latencyMs;
  hour.latencyCount += 1;
  const index = latencyBounds.findIndex((bound) => latencyMs <= bound);
  const at = index === -1 ? overflow : index;
  hour.latency[at] = (hour.latency[at] ?? 0) + 1;
}

/** The figures that are added up as they are. */
export const counts = [
  'totalRequests',
  'successfulRequests',
  'clientErrors',
  'serverErrors',
  'timeouts',
  'connectionErrors',
  'verificationAttempts',
  'verificationSuccess',
  'verificationFailed',
  'verificationSkipped',
  'consensusParticipations',
  'consensusAgreements',
  'consensusDisagreements',
  'latencySum',
  'latencyCount',
  'bytesServed',
] as const;

export function addHour(sum: HourFigures, hour: HourFigures): void {
  for (const name of counts) sum[name] += hour[name];
  hour.latency.forEach((count, index) => {
    sum.latency[index] = (sum.latency[index] ?? 0) + count;
  });
}

/** The upper bound of the bucket that reaches the rank; the longest bound for everything slower. */
export function percentile(hour: HourFigures, fraction: number): number {
  const total = hour.latency.reduce((sum, count) => sum + count, 0);
  if (total === 0) return 0;
  let seen = 0;
  for (const [index, count] of hour.latency.entries()) {
    seen += count;
    if (seen >= fraction * total) return latencyBounds[Math.min(index, overflow - 1)] ?? 0;
  }
  return 0;
}

/** `{"le_10": 3, …, "le_inf": 1}` with the empty ones left out. */
export function bucketsToObject(latency: readonly number[]): Record<string, number> {
  const named: Record<string, number> = {};
  latency.forEach((count, index) => {
    if (count > 0) named[`le_${latencyBounds[index] ?? 'inf'}`] = count;
  });
  return named;
}

export function bucketsFromText(text: string): number[] {
  const latency = new Array<number>(overflow + 1).fill(0);
  const parsed: unknown = JSON.parse(text);
  if (typeof parsed !== 'object' || parsed === null) return latency;
  for (const [name, count] of Object.entries(parsed)) {
    const bound = latencyBounds.findIndex((one) => name === `le_${one}`);
    if (typeof count === 'number') latency[bound === -1 ? overflow : bound] = count;
  }
  return latency;
}
