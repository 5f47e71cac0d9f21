/** For tests of this room: a fresh ledger with a clock that the test moves, and the usual requests. */
import assert from 'node:assert/strict';
import { toldWallets } from '../../events/testing-wallets.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { OpenForTest } from '../../storage/sql/testing.ts';
import { type Credits, clawbackReasons, creditReasons, type SpendRequest, winc } from '../credits.ts';
import { creditsMigrations } from '../migrations.ts';
import { createCredits } from './ledger.ts';

export async function openTestLedger(open: OpenForTest) {
  const clock = { now: Date.UTC(2026, 0, 1) };
  const sql = await open(creditsMigrations);
  const credits = createCredits({ sql, now: () => clock.now });
  return { sql, credits, clock };
}

export const give = (credits: Credits, address: string, amount: bigint, id = `tx-${address}`) =>
  credits.credit({ address, addressType: 'arweave', amount: winc(amount), reason: 'crypto_payment', id });

export const upload = (
  signer: string,
  amount: bigint,
  id: string,
  more: Partial<SpendRequest> = {},
): SpendRequest => ({
  id,
  reason: 'upload',
  signer,
  signerType: 'arweave',
  amount: winc(amount),
  ...more,
});

export const lend = (
  credits: Credits,
  payer: string,
  approved: string,
  amount: bigint,
  id: string,
  seconds?: number,
) =>
  credits.approve({
    id,
    payer,
    approved,
    amount: winc(amount),
    ...(seconds === undefined ? {} : { expiresInSeconds: seconds }),
  });

export const owned = async (credits: Credits, address: string) => (await credits.balance(address))?.winc;

export async function assertSound(credits: Credits): Promise<void> {
  const { ok, problems, drift } = await credits.selfCheck();
  assert.deepEqual({ ok, problems, drift }, { ok: true, problems: [], drift: 0n });
}

/** Everything that came into a wallet, was taken from it or was lent was told to it, once, and nothing else was. */
export async function assertToldOnce(sql: Sql): Promise<void> {
  const entries = await sql.all<{ account: string; reason: string; change_id: string; amount: string }>(
    "SELECT account, reason, change_id, amount FROM credits_entries WHERE account NOT LIKE 'approval:%'",
  );
  const expected = entries.flatMap(({ account, reason, change_id, amount }) => {
    if (creditReasons.some((known) => known === reason)) return [`${account} paid ${amount} by ${change_id}`];
    if (clawbackReasons.some((known) => known === reason))
      return [`${account} taken ${amount} by ${change_id}`];
    if (reason === 'delegated_payment_approval') return [`${account} lent ${amount} by ${change_id}`];
    return reason.startsWith('delegated_payment') ? [`${account} got ${amount} back`] : [];
  });
  const told = (await toldWallets(sql)).flatMap(({ wallet, type, data }) => {
    if (type === 'credits.paid') return [`${wallet} paid ${data.winc} by ${data.id}`];
    if (type === 'credits.taken') return [`${wallet} taken -${data.winc} by ${data.id}`];
    if (type !== 'credits.shared' || data.payer !== wallet) return [];
    if (data.state === 'given') return [`${wallet} lent -${data.winc} by ${data.approvalId}`];
    return [`${wallet} got ${data.returnedWinc} back`];
  });
  assert.deepEqual(told.sort(), expected.sort());
}
