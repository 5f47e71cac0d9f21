/** What a wallet has used lately, by day, and what is held for what is not certain yet. */
import { Type } from 'typebox';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, readInteger, readText, rowReader } from '../../storage/sql/typed-rows.ts';
import { type DaySpending, type Hold, spendReasons, useReasons, winc } from '../credits.ts';
import { approvalAccount, namesOf } from './accounts.ts';

const PAGE = 5_000;
/** A wallet that makes more entries than this in the time asked for is told the newest of them. */
const MOST_ENTRIES = 100_000;
const DAY_MS = 86_400_000;

const readEntry = rowReader(
  'an entry of the ledger',
  Type.Object({
    sequence: Type.Integer(),
    amount: amountText,
    reason: Type.String(),
    created_at: Type.Integer(),
  }),
);

const reasons = useReasons.flatMap((reason) => [`'${reason}'`, `'refunded_${reason}'`]).join(', ');

/** The days since then on which something was spent or came back, the newest first. A day is one of UTC. */
export async function spendingByDay(
  executor: SqlExecutor,
  address: string,
  since: number,
): Promise<{ readonly days: readonly DaySpending[]; readonly complete: boolean }> {
  const names = await namesOf(executor, address);
  const lent = await executor.all(
    'SELECT id FROM credits_approvals WHERE payer = ? AND used <> ? ORDER BY created_at DESC LIMIT 1000',
    names[0] ?? address,
    '0',
  );
  const days = new Map<string, { uploads: bigint; names: bigint; byOthers: bigint }>();
  let left = MOST_ENTRIES;
  const add = async (account: string, isLent: boolean): Promise<void> => {
    let before = Number.MAX_SAFE_INTEGER;
    while (left > 0) {
      const rows = (
        await executor.all(
          `SELECT sequence, amount, reason, created_at FROM credits_entries
           WHERE account = ? AND sequence < ? AND reason IN (${reasons}) ORDER BY sequence DESC LIMIT ${PAGE}`,
          account,
          before,
        )
      ).map(readEntry);
      const recent = rows.filter(({ created_at: at }) => at >= since);
      for (const { amount, reason, created_at: at } of recent) {
        const date = new Date(at).toISOString().slice(0, 10);
        const day = days.get(date) ?? { uploads: 0n, names: 0n, byOthers: 0n };
        const column = isLent ? 'byOthers' : reason.endsWith('upload') ? 'uploads' : 'names';
        day[column] -= BigInt(amount);
        days.set(date, day);
      }
      left -= rows.length;
      if (rows.length < PAGE || recent.length < rows.length) return;
      before = rows.at(-1)?.sequence ?? 0;
    }
  };
  for (const name of names) await add(name, false);
  for (const { id } of lent) await add(approvalAccount(readText(id)), true);
  const newestFirst = [...days].sort(([a], [b]) => (a < b ? 1 : -1));
  return {
    days: newestFirst.map(([date, day]) => ({
      date,
      winc: winc(day.uploads + day.names + day.byOthers),
      uploads: winc(day.uploads),
      names: winc(day.names),
      byOthers: winc(day.byOthers),
    })),
    complete: left > 0,
  };
}

/** The first moment of the oldest of so many days that end today. */
export const sinceDays = (days: number, now: number): number =>
  (Math.floor(now / DAY_MS) - days + 1) * DAY_MS;

const readHold = rowReader(
  'a reservation',
  Type.Object({
    id: Type.String(),
    reason: Type.Enum(spendReasons),
    amount: amountText,
    created_at: Type.Integer(),
  }),
);

/** What is reserved in the name of a wallet, the newest first, and how many there are in all. */
export async function readHolds(
  executor: SqlExecutor,
  address: string,
  limit: number,
): Promise<{ readonly holds: readonly Hold[]; readonly count: number }> {
  const names = await namesOf(executor, address);
  const where = `state = 'reserved' AND signer IN (${names.map(() => '?').join(', ')})`;
  const counted = await executor.get(`SELECT COUNT(*) AS n FROM credits_spendings WHERE ${where}`, ...names);
  const rows = await executor.all(
    `SELECT id, reason, amount, created_at FROM credits_spendings WHERE ${where}
     ORDER BY created_at DESC, id LIMIT ?`,
    ...names,
    limit,
  );
  return {
    holds: rows.map(readHold).map(({ amount, created_at: since, ...row }) => {
      return { ...row, amount: winc(BigInt(amount)), since };
    }),
    count: readInteger(counted?.n),
  };
}
