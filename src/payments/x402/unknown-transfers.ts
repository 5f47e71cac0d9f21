/**
 * Transfers to the service's wallet that no payment here knows of. A transfer that used an authorisation (EIP-3009) tells
 * who paid and under which nonce, and no nonce is used twice: it is credited to whoever paid, once. What it was paid for
 * nobody knows any more.
 */
import { type Credits, winc } from '../../credits/credits.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import { requirementV2 } from '../../formats/x402/requirements.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { type Sql, type SqlExecutor, UniqueViolation } from '../../storage/sql/sql.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import type { CreditOutcome, OutsideRecord, OutsideSource } from '../outside-records.ts';
import type { AuthorizationChain, IncomingTransfer } from './chain.ts';
import { creditPayment, settled } from './credit-payment.ts';
import { insertPaymentRow, type PaymentRow, readPaymentRow } from './payment-rows.ts';

export interface UnknownTransfersOptions {
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pick<Pricing, 'wincForUsdc'>;
  readonly chain: Pick<AuthorizationChain, 'knows' | 'transfersTo'>;
  readonly networks: readonly X402Network[];
  readonly payTo: string;
  readonly now: () => number;
}

/** A payment that was begun here is left so long to those who carry it out. */
const settlingMs = 10 * 60_000;

export function unknownTransfers(options: UnknownTransfersOptions): OutsideSource {
  const { sql, chain, networks, payTo } = options;
  return {
    name: 'x402 payments',
    async *unknown(since) {
      for (const network of networks.filter((one) => chain.knows(one))) {
        for await (const transfer of chain.transfersTo(network, payTo, since)) {
          if (!(await isKnown(sql, transfer.transaction))) yield recordOf(options, network, transfer);
        }
      }
    },
  };
}

/** As an x402 payment, or as a transfer that its sender reported. */
async function isKnown(sql: Sql, transaction: string): Promise<boolean> {
  const hash = transaction.toLowerCase();
  const row = await sql.get(
    `SELECT 1 AS one FROM x402_payments WHERE transaction_id = ?
     UNION ALL SELECT 1 AS one FROM payment_chain_transactions WHERE transaction_id = ?`,
    hash,
    hash,
  );
  return row !== undefined;
}

function recordOf(
  options: UnknownTransfersOptions,
  network: X402Network,
  transfer: IncomingTransfer,
): OutsideRecord {
  const { from, value, nonce, transaction, at } = transfer;
  const where = network.name ?? network.caip2;
  const base = {
    kind: 'x402',
    id: transaction,
    at,
    what: `${value} of USDC on ${where} from ${from}`,
  } as const;
  const payer = parseEthereumAddress(from);
  if (nonce === undefined || payer === undefined) {
    return { ...base, openBecause: 'it used no authorisation: its sender can report it, or ask for it back' };
  }
  return { ...base, credit: () => takeIn(options, network, { ...transfer, payer, nonce }) };
}

async function takeIn(
  { sql, credits, pricing, payTo, now }: UnknownTransfersOptions,
  network: X402Network,
  { payer, nonce, value, transaction }: IncomingTransfer & { readonly payer: string; readonly nonce: string },
): Promise<CreditOutcome> {
  const bought = winc(await pricing.wincForUsdc(value));
  const credit = async (tx: SqlExecutor): Promise<CreditOutcome> => {
    const id = `${network.caip2}:${payer}:${nonce}`;
    let row = await readPaymentRow(tx, id);
    if (row === undefined) {
      row = newRow(id, network, { payer, nonce, value, winc: bought, payTo }, now());
      await insertPaymentRow(tx, row, now());
    } else if (row.state === 'open' && now() - row.createdAt < settlingMs) {
      return { state: 'taken in', reason: 'the service is settling it' };
    }
    if (row.value !== value) return { state: 'open', reason: 'the payment here is of another amount' };
    // Whoever wanted to buy something with it has to ask again: all of it is given as credits.
    const isNew = await creditPayment(tx, credits, row, settled(row, transaction), 'returned', now());
    if (!isNew) return { state: 'taken in', reason: 'it was credited meanwhile' };
    return { state: 'credited', address: row.address, winc: row.winc };
  };
  return sql.transaction(credit).catch((error: unknown) => {
    if (!(error instanceof UniqueViolation)) throw error;
    return { state: 'taken in', reason: 'another takes it in at the same moment' };
  });
}

/** As it was stored before it was settled, as far as the chain tells. */
function newRow(
  id: string,
  network: X402Network,
  {
    payer,
    nonce,
    value,
    winc: bought,
    payTo,
  }: Pick<PaymentRow, 'payer' | 'nonce' | 'value' | 'winc'> & { payTo: string },
  now: number,
): PaymentRow {
  const offer = {
    ...{ amount: value, payTo, networks: [network], maxTimeoutSeconds: 0 },
    ...{ resource: '', description: 'found on its chain', mimeType: 'application/json' },
  };
  return {
    ...{ id, version: 2, network: network.caip2, payer, nonce, value, validBefore: 0n },
    request: {
      x402Version: 2,
      paymentPayload: { x402Version: 2 },
      paymentRequirements: requirementV2(offer, network),
    },
    ...{ purpose: 'top-up', reference: undefined, address: payer, addressType: 'ethereum', winc: bought },
    ...{ reserved: undefined, purchase: undefined, item: undefined, claim: undefined, state: 'open' },
    ...{ settlement: undefined, leasedUntil: 0, attempts: 0, createdAt: now },
  };
}
