/**
 * Names paid by card, held against the card provider and the chain: each payment bought its name once, or went back. Of what
 * went back, whoever was given credits has none of them left, and whoever signed for it owes the rest; where nobody
 * signed, nobody does.
 */
import { LOSS_ACCOUNT } from '../../../src/credits/credits.ts';
import type { SqlReader } from '../../../src/storage/sql/sql.ts';
import { paymentsAt } from '../cards.ts';
import { short } from './buyer.ts';
import type { CardPurchase } from './card-buyer.ts';

interface PaidRow {
  readonly id: string;
  readonly state: string;
  readonly address: string;
  readonly debtor: string | null;
  readonly winc: string;
  readonly status: string | null;
  readonly name: string;
  readonly excess: string | null;
  readonly failed_reason: string | null;
  readonly refund_due: number;
}

export interface CardNames {
  readonly purchases: readonly CardPurchase[];
  /** What accounts had of their own. */
  readonly own: ReadonlyMap<string, bigint>;
  /** How often the registry was paid for a purchase. */
  readonly paidFor: (nonce: string) => number;
}

/** What does not agree, in words. */
export async function auditCardNames(
  sql: SqlReader,
  cards: SqlReader,
  { purchases, own, paidFor }: CardNames,
): Promise<string[]> {
  const wrong: string[] = [];
  const rows = await sql.all<PaidRow>(
    `SELECT q.id, q.state, q.address, q.debtor, q.winc, p.status, p.name, p.excess_winc AS excess, p.failed_reason,
            q.refund_due
       FROM card_quotes q LEFT JOIN arns_purchase p ON p.nonce = q.id WHERE q.purpose = 'arns'`,
  );
  const byId = new Map(rows.map((row) => [row.id, row]));
  const expected = new Map([[LOSS_ACCOUNT.address as string, 0n], ...own]);
  const move = (account: string, amount: bigint) =>
    void expected.set(account, (expected.get(account) ?? 0n) + amount);
  const paid = new Set<string>();
  for (const { id, quoteId, amount, refunded, isDisputed, wasDisputed } of await paymentsAt(cards)) {
    const row = byId.get(quoteId);
    if (row === undefined) {
      wrong.push(`the card payment ${id} has no quote`);
      continue;
    }
    paid.add(row.id);
    const what = `${row.name} (${short(row.id)})`;
    const isGone = isDisputed || refunded >= amount;
    const times = paidFor(row.id);
    if (row.status !== 'CONFIRMED') {
      if (row.status === null && row.state !== 'failed') wrong.push(`${what} is paid, and ${row.state}`);
      if (row.status === 'PENDING') wrong.push(`${what} is paid, and neither done nor given up`);
      if (!isGone && !(wasDisputed && row.refund_due === 1))
        wrong.push(`${what} was not delivered (${row.failed_reason}), and the card is charged`);
      if (times > 0) wrong.push(`${what} was given up, and the registry is paid for it`);
      continue;
    }
    if (times !== 1) wrong.push(`${what} is confirmed, and the registry was paid ${times} times`);
    const total = BigInt(row.winc);
    const takenBack = isGone ? total : (total * BigInt(refunded)) / BigInt(amount);
    const excess = BigInt(row.excess ?? '0');
    const ofExcess = (excess * takenBack) / total;
    move(row.address, excess - ofExcess);
    move(row.debtor ?? LOSS_ACCOUNT.address, ofExcess - takenBack);
  }
  for (const { id, status } of rows) {
    if (status !== null && !paid.has(id)) wrong.push(`${short(id)} is ${status}, and nobody paid for it`);
  }
  for (const { nonce, what, told, address, signer } of purchases) {
    const row = byId.get(nonce);
    if (row === undefined) wrong.push(`${what} was quoted, and is not there`);
    else if (row.address !== address || (row.debtor !== null && row.debtor !== signer))
      wrong.push(`${what} is for ${row.address}, owed by ${row.debtor}, and ${signer ?? 'nobody'} signed`);
    if (told === 'CONFIRMED' && row?.status !== 'CONFIRMED')
      wrong.push(`${what} was confirmed, and is ${row?.status}`);
    if (told === 'FAILED' && row?.status === 'CONFIRMED') wrong.push(`${what} had failed, and is confirmed`);
  }
  for (const [account, amount] of expected) {
    const stored = await sql.get<{ balance: string }>(
      'SELECT balance FROM credits_accounts WHERE address = ?',
      account,
    );
    if (BigInt(stored?.balance ?? '0') !== amount)
      wrong.push(`${account} has ${stored?.balance ?? 0}, and should have ${amount}`);
  }
  return wrong;
}
