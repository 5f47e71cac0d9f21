/** Which heights are missing below what is imported. */
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';

/** The highest run of heights from `start` on that is not imported although a higher block is. */
export async function highestHole(
  index: SqlGatewayIndex,
  start: number,
): Promise<{ from: number; to: number } | undefined> {
  const counted = await index.sql.get<{ n: number; low: number | null; high: number | null }>(
    'SELECT count(*) AS n, min(height) AS low, max(height) AS high FROM blocks WHERE height >= ?',
    start,
  );
  if (counted === undefined || counted.low === null || counted.high === null) return undefined;
  if (counted.low === start && counted.n === counted.high - counted.low + 1) return undefined;
  const upper = await index.sql.get<{ height: number }>(
    `SELECT b.height FROM blocks b WHERE b.height > ? AND NOT EXISTS
       (SELECT 1 FROM blocks c WHERE c.height = b.height - 1) ORDER BY b.height DESC LIMIT 1`,
    start,
  );
  if (upper === undefined) return undefined;
  const lower = await index.sql.get<{ height: number | null }>(
    'SELECT max(height) AS height FROM blocks WHERE height < ? AND height >= ?',
    upper.height,
    start,
  );
  return { from: lower?.height == null ? start : lower.height + 1, to: upper.height - 1 };
}
