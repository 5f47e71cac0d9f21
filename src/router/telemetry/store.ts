/** Where figures are kept between restarts. */
import { insertion } from '../../storage/sql/columns.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Attempt } from '../gateways/gateway.ts';
import { addHour, bucketsFromText, bucketsToObject, counts, emptyHour, type HourFigures } from './hour.ts';

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

type HourRow = Omit<HourFigures, 'latency'> & { gateway: string; hourBucket: string; latency: string };

const columnOf = (count: string): string => count.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
const named = counts.map((count) => `${columnOf(count)} AS "${count}"`).join(', ');
const read = `SELECT gateway, hour_bucket AS "hourBucket", latency_buckets AS latency, ${named} FROM gateway_hourly_stats`;
const figureColumns = ['latency_buckets', ...counts.map(columnOf)];
/** A row of nothing, where there is none yet: whoever adds to it holds it. */
const begin = `INSERT INTO gateway_hourly_stats (gateway, hour_bucket, ${figureColumns.join(', ')})
VALUES (?, ?, '{}'${', 0'.repeat(counts.length)}) ON CONFLICT (gateway, hour_bucket) DO NOTHING`;
const update = `UPDATE gateway_hourly_stats SET ${figureColumns.map((column) => `${column} = ?`).join(', ')}
WHERE gateway = ? AND hour_bucket = ?`;

export class TelemetryStore {
  readonly #sql: Sql;

  constructor(sql: Sql) {
    this.#sql = sql;
  }

  /** Adds the hours to what is kept, and the events beside them, in one transaction. */
  async add(hours: readonly KeptHour[], events: readonly SampledEvent[]): Promise<void> {
    await this.#sql.transaction(async (tx) => {
      // Always in one order, so that two processes never wait for each other.
      for (const { gateway, hourBucket, figures } of hours.toSorted(byKey)) {
        const sum = emptyHour();
        addHour(sum, figures);
        await tx.run(begin, gateway, hourBucket);
        const row = await tx.get<HourRow>(
          `${read} WHERE gateway = ? AND hour_bucket = ? ${tx.forUpdate}`,
          gateway,
          hourBucket,
        );
        if (row !== undefined) addHour(sum, keptHour(row).figures);
        const buckets = JSON.stringify(bucketsToObject(sum.latency));
        await tx.run(update, buckets, ...counts.map((count) => sum[count]), gateway, hourBucket);
      }
      for (const event of events) {
        const { at: timestamp, gateway, role, outcome, weight } = event;
        const measured = { http_status: event.status ?? null, latency_ms: event.latencyMs };
        const columns = { timestamp, gateway, role, outcome, weight, ...measured };
        await tx.run(`INSERT INTO gateway_events ${insertion(columns)}`, ...Object.values(columns));
      }
    });
  }

  /** Hours that begin within the bounds, by gateway and hour. */
  async hours(start: string, end: string, gateway?: string): Promise<KeptHour[]> {
    const [where, values] = gateway === undefined ? ['', []] : ['AND gateway = ?', [gateway]];
    const rows = await this.#sql.all<HourRow>(
      `${read} WHERE hour_bucket >= ? AND hour_bucket <= ? ${where} ORDER BY gateway, hour_bucket`,
      start,
      end,
      ...values,
    );
    return rows.map(keptHour);
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

const keyOf = ({ gateway, hourBucket }: KeptHour): string => `${gateway} ${hourBucket}`;

const byKey = (one: KeptHour, other: KeptHour): number =>
  Number(keyOf(one) > keyOf(other)) - Number(keyOf(one) < keyOf(other));

function keptHour({ gateway, hourBucket, latency, ...figures }: HourRow): KeptHour {
  return { gateway, hourBucket, figures: { ...figures, latency: bucketsFromText(latency) } };
}
