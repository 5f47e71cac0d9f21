/**
 * Chain payments that nobody has reported here, found among the transactions of our own wallets. The chain proves each:
 * it is taken in as if its sender had reported it. What a wallet of ours sent itself is no payment.
 */
import type { Sql } from '../../storage/sql/sql.ts';
import type { CreditOutcome, OutsideRecord, OutsideSource } from '../outside-records.ts';
import { type AcceptedToken, isPaidTo } from './chain.ts';
import type { ChainPayments } from './chain-payments.ts';
import { readRow } from './store.ts';

export interface UnknownPaymentsOptions {
  readonly sql: Sql;
  readonly tokens: ReadonlyMap<string, AcceptedToken>;
  readonly payments: Pick<ChainPayments, 'takeIn'>;
  /** Wallets whose payments are refused, in normal form. */
  readonly excludedSenders: ReadonlySet<string>;
}

/** One for each coin; some tokens are two names of one. */
export function unknownChainPayments(options: UnknownPaymentsOptions): OutsideSource[] {
  const listed = new Set<AcceptedToken['reader']>();
  return [...options.tokens.values()].flatMap((token) => {
    if (listed.has(token.reader)) return [];
    listed.add(token.reader);
    return [sourceOf(options, token)];
  });
}

function sourceOf(options: UnknownPaymentsOptions, token: AcceptedToken): OutsideSource {
  const { sql } = options;
  return {
    name: `payments in ${token.token}`,
    async *unknown(since) {
      for await (const { id, at } of token.history(since)) {
        if ((await readRow(sql, token.chain, id)) !== undefined) continue;
        const record = await recordOf(options, token, id, at);
        if (record !== undefined) yield record;
      }
    },
  };
}

/** Undefined for what pays us nothing. */
async function recordOf(
  { payments, excludedSenders }: UnknownPaymentsOptions,
  token: AcceptedToken,
  id: string,
  at: number | undefined,
): Promise<OutsideRecord | undefined> {
  const found = await token.reader.read(id);
  // It is listed as one of ours, and may be worth something: a later run sees it.
  if (!('transfer' in found)) {
    const what = `a transaction in ${token.token}`;
    return { kind: 'chain', id, at, what, openBecause: 'its chain does not show it now: run this again' };
  }
  const { sender, recipient, quantity } = found.transfer;
  if (!isPaidTo(token, recipient) || isPaidTo(token, sender) || quantity <= 0n) return undefined;
  if (excludedSenders.has(sender) || found.state === 'reverted') return undefined;
  return {
    kind: 'chain',
    id,
    at,
    what: `${quantity} of ${token.token} from ${sender}`,
    credit: async (): Promise<CreditOutcome> => {
      const row = await payments.takeIn(token.token, id);
      if (row === undefined) return { state: 'open', reason: 'it is not taken as a payment' };
      if (row.state !== 'credited') return { state: 'taken in', reason: `it is ${row.state}` };
      return { state: 'credited', address: row.destination, winc: BigInt(row.winc) };
    },
  };
}
