/** Whether a spending would go through, without making it: the answer may be outdated when it arrives. */
import type { Sql } from '../../storage/sql/sql.ts';
import type { PayerShare, SpendRequest } from '../credits.ts';
import { splitAmount } from './payers.ts';

export async function previewSpending(
  sql: Sql,
  request: SpendRequest,
  now: number,
): Promise<PayerShare[] | undefined> {
  const account = await sql.get<{ balance: string }>(
    'SELECT balance FROM credits_accounts WHERE address = ?',
    request.signer,
  );
  const balances = new Map<string, bigint>();
  if (account !== undefined) balances.set(request.signer, BigInt(account.balance));
  return splitAmount(sql, request, balances, now);
}
