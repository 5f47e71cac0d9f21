/** What the operator has lost: payments that went back and that nobody owes. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { LOSS_ACCOUNT, type Winc, winc } from '../credits.ts';

export async function readLosses(executor: SqlExecutor): Promise<Winc> {
  const row = await executor.get<{ balance: string }>(
    'SELECT balance FROM credits_accounts WHERE address = ?',
    LOSS_ACCOUNT.address,
  );
  return winc(-BigInt(row?.balance ?? 0));
}
