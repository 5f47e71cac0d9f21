/** For tests of this room: a fresh ledger with a clock that the test moves, and the usual requests. */
import assert from 'node:assert/strict';
import type { OpenForTest } from '../../storage/sql/testing.ts';
import { type Credits, type SpendRequest, winc } from '../credits.ts';
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
