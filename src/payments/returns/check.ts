/**
 * Proves that returns and the ledger agree, while both are used: each return has a spending of its winc in the state that
 * goes with its own, and no payment has returned more than it brought.
 */
import { Type } from 'typebox';
import { fieldsReader, optionalText } from '../../storage/sql/fields.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { amountText, readText } from '../../storage/sql/typed-rows.ts';
import { lockQuote } from '../card/quotes.ts';
import { returnStates, undoneStates } from './returns.ts';
import { standingReturns } from './rows.ts';

const page = 500;
const mostProblems = 100;

const readRow = fieldsReader(
  'a return with its spending',
  Type.Object({
    id: Type.String(),
    state: Type.Enum(returnStates),
    winc: amountText,
    spent: Type.Union([amountText, Type.Undefined()]),
    spending: optionalText,
  }),
);

/** One sentence per disagreement. */
export async function checkReturns(sql: Sql): Promise<string[]> {
  const problems: string[] = [];
  let after = '';
  for (;;) {
    // One statement per page, so that a return and its spending are seen as they were at one moment.
    const rows = await sql.all(
      `SELECT payment_returns.id, payment_returns.state, payment_returns.winc,
         credits_spendings.amount AS spent, credits_spendings.state AS spending
       FROM payment_returns LEFT JOIN credits_spendings
         ON credits_spendings.id = payment_returns.id AND credits_spendings.reason = 'payment_return'
       WHERE payment_returns.id > ? ORDER BY payment_returns.id LIMIT ${page}`,
      after,
    );
    for (const { id, state, winc, spent, spending } of rows.map(readRow)) {
      after = id;
      const expected = undoneStates.includes(state)
        ? 'refunded'
        : state === 'confirmed'
          ? 'settled'
          : 'reserved';
      if (spending !== expected || spent !== winc) {
        problems.push(
          `return ${id} is ${state} with ${winc} winc, but the ledger has ${spent ?? 'none'} ${spending ?? ''}`,
        );
      }
    }
    if (rows.length < page || problems.length >= mostProblems) break;
  }
  return [...problems, ...(await overReturned(sql))].slice(0, mostProblems);
}

/** What the quotes of card payments say was returned is what their returns took. */
async function overReturned(sql: Sql): Promise<string[]> {
  const problems: string[] = [];
  let after = '';
  for (;;) {
    const rows = await sql.all(
      `SELECT id FROM card_quotes WHERE returned <> '0' AND id > ? ORDER BY id LIMIT ${page}`,
      after,
    );
    for (const row of rows) {
      after = readText(row.id);
      const [returned, taken] = await sql.transaction((tx) => returnedOf(tx, after));
      if (returned !== taken) {
        problems.push(`quote ${after} has ${returned} winc returned, but its returns took ${taken}`);
      }
    }
    if (rows.length < page || problems.length >= mostProblems) return problems;
  }
}

async function returnedOf(tx: SqlExecutor, quoteId: string): Promise<[bigint, bigint]> {
  const quote = await lockQuote(tx, quoteId);
  const returns = await standingReturns(tx, [quote?.receiptId ?? '']);
  return [quote?.returned ?? 0n, returns.reduce((sum, { winc }) => sum + winc, 0n)];
}
