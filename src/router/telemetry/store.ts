/** Where figures are kept between restarts. */
import type { Sql } from '../../storage/sql/sql.ts';
import type { Attempt } from '../gateways/gateway.ts';
import { addHour, bucketsFromText, bucketsToObject, emptyHour, type HourFigures } from './hour.ts';

export interface SampledEvent extends Attempt {
  readonly at: number;
  /** How many events this one stands for: one over the probability that it was kept. */
  readonly weight: number;
}

export interface KeptHour {
  readonly gateway: string;
  readonly hourBucket: string;
  readonly figures: HourFigures;
}

interface HourRow {
  gateway: string;
  hour_bucket: string;
  total_requests: number;
  successful_requests: number;
  client_errors: number;
  server_errors: number;
  timeouts: number;
  connection_errors: number;
  verification_attempts: number;
  verification_success: number;
  verification_failed: number;
  verification_skipped: number;
  consensus_participations: number;
  consensus_agreements: number;
  consensus_disagreements: number;
  latency_sum: number;
  latency_count: number;
  latency_buckets: string;
  bytes_served: number;
}

const read = 'SELECT * FROM gateway_hourly_stats';
const upsert = `INSERT INTO gateway_hourly_stats VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
ON CONFLICT (gateway, hour_bucket) DO UPDATE SET
  total_requests = excluded.total_requests, successful_requests = excluded.successful_requests,
  client_errors = excluded.client_errors, server_errors = excluded.server_errors,
  timeouts = excluded.timeouts, connection_errors = excluded.connection_errors,
  verification_attempts = excluded.verification_attempts,
  verification_success = excluded.verification_success, verification_failed = excluded.verification_failed,
  verification_skipped = excluded.verification_skipped,
  consensus_participations = excluded.consensus_participations,
  consensus_agreements = excluded.consensus_agreements,
  consensus_disagreements = excluded.consensus_disagreements,
  latency_sum = excluded.latency_sum, latency_count = excluded.latency_count,
  latency_buckets = excluded.latency_buckets, bytes_served = excluded.bytes_served`;

export class TelemetryStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds the hours to what is kept, and the events beside them, in one transaction. */
  async add(hours: readonly KeptHour[], events: readonly SampledEvent[]): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      for (const { gateway, hourBucket, figures } of hours) {
        const sum = emptyHour();
        addHour(sum, figures);
        const row = await tx.get<HourRow>(
          `${read} WHERE gateway = ? AND hour_bucket = ?`,
          gateway,
          hourBucket,
        );
        if (row !== undefined) addHour(sum, figuresOf(row));
        await tx.run(
          upsert,
          gateway,
          hourBucket,
          sum.totalRequests,
          sum.successfulRequests,
          sum.clientErrors,
          sum.serverErrors,
          sum.timeouts,
          sum.connectionErrors,
          sum.verificationAttempts,
          sum.verificationSuccess,
          sum.verificationFailed,
          sum.verificationSkipped,
          sum.consensusParticipations,
          sum.consensusAgreements,
          sum.consensusDisagreements,
          sum.latencySum,
          sum.latencyCount,
          JSON.stringify(bucketsToObject(sum.latency)),
          sum.bytesServed,
        );
      }
      for (const event of events) {
        await tx.run(
          'INSERT INTO gateway_events (timestamp, gateway, role, outcome, http_status, latency_ms, weight) VALUES (?, ?, ?, ?, ?, ?, ?)',
          event.at,
          event.gateway,
          event.role,
          event.outcome,
          event.status ?? null,
          event.latencyMs,
          event.weight,
        );
      }
    });
  }

  /** Hours that begin within the bounds, by gateway and hour. */
  async hours(start: string, end: string, gateway?: string): Promise<KeptHour[]> {
    const where = 'WHERE hour_bucket >= ? AND hour_bucket <= ?';
    const rows =
      gateway === undefined
        ? await this.#sql.all<HourRow>(`${read} ${where} ORDER BY gateway, hour_bucket`, start, end)
        : await this.#sql.all<HourRow>(
            `${read} ${where} AND gateway = ? ORDER BY hour_bucket`,
            start,
            end,
            gateway,
          );
    return rows.map((row) => ({
      gateway: row.gateway,
      hourBucket: row.hour_bucket,
      figures: figuresOf(row),
    }));
  }

  async gateways(): Promise<string[]> {
    const rows = await this.#sql.all<{ gateway: string }>(
      'SELECT DISTINCT gateway FROM gateway_hourly_stats ORDER BY gateway',
    );
    return rows.map(({ gateway }) => gateway);
  }

  async purge(before: Date): Promise<void> {
    await this.#sql.run('DELETE FROM gateway_hourly_stats WHERE hour_bucket < ?', before.toISOString());
    await this.#sql.run('DELETE FROM gateway_events WHERE timestamp < ?', before.getTime());
  }

  async close(): Promise<void> {
    await this.#sql.close();
  }
}

function figuresOf(row: HourRow): HourFigures {
  return {
    totalRequests: row.total_requests,
    successfulRequests: row.successful_requests,
    clientErrors: row.client_errors,
    serverErrors: row.server_errors,
    timeouts: row.timeouts,
    connectionErrors: row.connection_errors,
    verificationAttempts: row.verification_attempts,
    verificationSuccess: row.verification_success,
    verificationFailed: row.verification_failed,
    verificationSkipped: row.verification_skipped,
    consensusParticipations: row.consensus_participations,
    consensusAgreements: row.consensus_agreements,
    consensusDisagreements: row.consensus_disagreements,
    latencySum: row.latency_sum,
    latencyCount: row.latency_count,
    latency: bucketsFromText(row.latency_buckets),
    bytesServed: row.bytes_served,
  };
}
