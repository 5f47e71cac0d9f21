/** For tests: what wallets were told, in the order it was written, whether it was numbered yet or not. */
import type { SqlExecutor } from '../storage/sql/sql.ts';
import { readWalletEvents } from './wallet-events.ts';

export interface ToldWallet {
  readonly wallet: string;
  readonly type: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Of one wallet, or of all. */
export async function toldWallets(sql: SqlExecutor, wallet?: string): Promise<ToldWallet[]> {
  const rows = await sql.all<{ topic: string; subject: string; body: Buffer; made_at: number }>(
    'SELECT topic, subject, body, made_at FROM event_log ORDER BY entry',
  );
  return rows
    .filter(({ subject }) => wallet === undefined || subject === wallet)
    .flatMap(({ made_at: madeAt, ...row }) =>
      readWalletEvents({ ...row, seq: 0, madeAt }).map(({ type, data }) => ({
        wallet: row.subject,
        type,
        data,
      })),
    );
}
