/**
 * What the ledger says, held against what happened outside: the card provider's payments, refunds and disputes, transfers
 * on chains, and items that were taken. Each payment is credited once, to whom it was for, and nothing is credited that was
 * not paid.
 */
import { memberOf, textOf } from '../../../src/formats/json.ts';
import type { SqlReader } from '../../../src/storage/sql/sql.ts';
import type { CardPayer } from './card-payer.ts';
import type { ChainPayer } from './chain-payer.ts';
import { type PaymentInstallation, payee, serviceWallet } from './installation.ts';
import type { Spender } from './spender.ts';
import type { X402Payer } from './x402-payer.ts';

export interface Memories {
  readonly cardPayers: readonly CardPayer[];
  readonly x402Payers: readonly X402Payer[];
  readonly chainPayers: readonly ChainPayer[];
  readonly spenders: readonly Spender[];
}

type Wrong = (what: string) => void;

interface Entry {
  readonly account: string;
  readonly amount: string;
  readonly reason: string;
  readonly change_id: string;
}

/** What does not agree, in words. */
export async function auditBooks(
  sql: SqlReader,
  cards: SqlReader,
  installation: PaymentInstallation,
  memories: Memories,
): Promise<string[]> {
  const problems: string[] = [];
  const wrong: Wrong = (what) => problems.push(what);
  const entries = await sql.all<Entry>('SELECT account, amount, reason, change_id FROM credits_entries');
  const byReason = Map.groupBy(entries, ({ reason }) => reason);
  await auditCards(sql, cards, entries, memories.cardPayers, wrong);
  await auditX402(sql, byReason.get('x402_payment') ?? [], installation, memories.x402Payers, wrong);
  await auditChains(sql, byReason.get('crypto_payment') ?? [], installation, memories.chainPayers, wrong);
  await auditSpendings(sql, memories.spenders, wrong);
  await auditDebts(sql, entries, wrong);
  return problems;
}

interface QuoteRow {
  readonly id: string;
  readonly state: string;
  readonly address: string;
  readonly winc: string;
  readonly returned: string;
  readonly paid_amount: number | null;
  readonly receipt_id: string | null;
}

const cardReasons = new Set(['payment', 'card_refund', 'chargeback', 'chargeback_reversed']);
/** Of disputes that have taken no money, or given it back. */
const harmless = new Set([
  'won',
  'prevented',
  'warning_needs_response',
  'warning_under_review',
  'warning_closed',
]);

async function auditCards(
  sql: SqlReader,
  cards: SqlReader,
  entries: readonly Entry[],
  payers: readonly CardPayer[],
  wrong: Wrong,
): Promise<void> {
  const quotes = await sql.all<QuoteRow>(
    "SELECT id, state, address, winc, returned, paid_amount, receipt_id FROM card_quotes WHERE purpose = 'top-up'",
  );
  const quoteOf = new Map(quotes.map((quote) => [quote.id, quote]));
  const booked = Map.groupBy(
    entries.filter(({ reason }) => cardReasons.has(reason)),
    ({ change_id: change }) => change.split(':')[0] ?? '',
  );
  const objects = await cards.all<{ kind: string; id: string; body: string }>(
    "SELECT kind, id, body FROM objects WHERE kind IN ('payment_intent', 'charge', 'dispute')",
  );
  const parsed = objects.map(({ kind, id, body }) => ({ kind, id, body: JSON.parse(body) as unknown }));
  const charges = new Map(parsed.filter(({ kind }) => kind === 'charge').map(({ id, body }) => [id, body]));
  const disputes = Map.groupBy(
    parsed.filter(({ kind }) => kind === 'dispute').map(({ body }) => body),
    (dispute) => textOf(dispute, 'payment_intent') ?? '',
  );
  const paid = new Set<string>();
  for (const { kind, id, body } of parsed) {
    if (kind !== 'payment_intent' || textOf(body, 'status') !== 'succeeded') continue;
    const quote = quoteOf.get(textOf(memberOf(body, 'metadata'), 'quoteId') ?? '');
    if (quote === undefined) {
      wrong(`the card payment ${id} has no quote`);
      continue;
    }
    paid.add(quote.id);
    const charge = charges.get(textOf(body, 'latest_charge') ?? '');
    const amount = Number(memberOf(body, 'amount'));
    const refunded = Number(memberOf(charge, 'amount_refunded'));
    const isDisputed = (disputes.get(id) ?? []).some(
      (dispute) => !harmless.has(textOf(dispute, 'status') ?? ''),
    );
    const sum = (booked.get(quote.receipt_id ?? '') ?? []).reduce((all, one) => all + BigInt(one.amount), 0n);
    const total = BigInt(quote.winc);
    const isGone = isDisputed || refunded >= amount;
    if (quote.state === 'failed') {
      if (!isGone) wrong(`the card payment ${id} bought nothing, and is kept`);
      if (sum !== 0n) wrong(`the card payment ${id} failed, and ${sum} winc stand for it`);
      continue;
    }
    if (quote.receipt_id === null) {
      wrong(`the card payment ${id} is made, and its quote is ${quote.state}`);
      continue;
    }
    const left = isGone ? 0n : total - (total * BigInt(refunded)) / BigInt(amount);
    if (sum !== left)
      wrong(
        `of the card payment ${id} (${amount}, ${refunded} back${isDisputed ? ', disputed' : ''}) ${sum} winc stand, not ${left}`,
      );
  }
  for (const { id, receipt_id: receipt } of quotes) {
    if (receipt !== null && !paid.has(id)) wrong(`the quote ${id} counts as paid, and nobody paid`);
  }
  for (const payment of payers.flatMap((payer) => [...payer.payments.values()])) {
    const quote = quoteOf.get(payment.quoteId);
    if (quote === undefined) wrong(`the quote ${payment.quoteId} was given, and is not there`);
    else if (BigInt(quote.winc) !== payment.winc || quote.address !== payment.address)
      wrong(`the quote ${payment.quoteId} is not what was promised`);
  }
}

interface X402Row {
  readonly id: string;
  readonly payer: string;
  readonly nonce: string;
  readonly value: string;
  readonly winc: string;
  readonly address: string;
  readonly state: string;
  readonly purchase: string | null;
  readonly item: string | null;
}

async function auditX402(
  sql: SqlReader,
  entries: readonly Entry[],
  { chain }: PaymentInstallation,
  payers: readonly X402Payer[],
  wrong: Wrong,
): Promise<void> {
  const rows = await sql.all<X402Row>(
    'SELECT id, payer, nonce, value, winc, address, state, purchase, item FROM x402_payments',
  );
  const byNonce = new Map(rows.map((row) => [row.nonce, row]));
  const booked = Map.groupBy(entries, ({ change_id: change }) => change);
  for (const row of rows) {
    const used = chain.useOf(row.payer, row.nonce);
    const lines = booked.get(row.id) ?? [];
    if (row.state !== 'credited') {
      if (lines.length > 0) wrong(`the payment ${row.id} is ${row.state}, and credited`);
      if (used !== undefined) wrong(`the payment ${row.id} was carried out, and is ${row.state}`);
      continue;
    }
    if (used?.transfer?.value !== BigInt(row.value))
      wrong(`the payment ${row.id} is credited, and was not made`);
    const sum = lines.reduce((all, { amount }) => all + BigInt(amount), 0n);
    if (lines.length === 0 || sum !== BigInt(row.winc))
      wrong(`the payment ${row.id} is worth ${row.winc}, and ${sum} was credited`);
  }
  for (const { transfer, isGood, block, hash } of chain.transactions.values()) {
    const nonce = transfer?.authorization?.nonce;
    if (nonce === undefined || !isGood || block === undefined) continue;
    if (!byNonce.has(nonce)) wrong(`${hash} was paid by x402, and nobody knows of it`);
  }
  for (const { nonce, winc, item } of payers.flatMap(({ promises }) => promises)) {
    const row = byNonce.get(nonce);
    if (row?.state !== 'credited') wrong(`the payment ${nonce} was taken, and is ${row?.state}`);
    else if (winc !== undefined && BigInt(row.winc) !== winc)
      wrong(`the payment ${nonce} was said to be worth ${winc}, and is worth ${row.winc}`);
    else if (item !== undefined && (row.item !== item || row.purchase === 'reserved'))
      wrong(`the payment ${nonce} bought ${item}, and its purchase is ${row.purchase} of ${row.item}`);
  }
}

interface ChainRow {
  readonly chain: string;
  readonly transaction_id: string;
  readonly token: string;
  readonly state: string;
  readonly quantity: string;
  readonly winc: string;
  readonly destination: string;
}

async function auditChains(
  sql: SqlReader,
  entries: readonly Entry[],
  { chain, arweave }: PaymentInstallation,
  payers: readonly ChainPayer[],
  wrong: Wrong,
): Promise<void> {
  const rows = await sql.all<ChainRow>(
    'SELECT chain, transaction_id, token, state, quantity, winc, destination FROM payment_chain_transactions',
  );
  const paidOn = (row: Pick<ChainRow, 'chain' | 'transaction_id'>): bigint => {
    if (row.chain === 'arweave') {
      const transaction = arweave.best.mined.get(row.transaction_id)?.transaction;
      const target = transaction && Buffer.from(transaction.target).toString('base64url');
      return transaction !== undefined && target === serviceWallet.address ? transaction.quantity : 0n;
    }
    const one = chain.transactions.get(row.transaction_id);
    if (one?.block === undefined || !one.isGood) return 0n;
    if (one.transfer !== undefined) return one.transfer.to === payee ? one.transfer.value : 0n;
    return one.to === payee ? one.value : 0n;
  };
  let credited = 0;
  for (const row of rows) {
    const lines = entries.filter(({ change_id: change }) => change.includes(row.transaction_id));
    if (row.state !== 'credited') {
      if (lines.length > 0) wrong(`${row.transaction_id} is ${row.state}, and credited`);
      continue;
    }
    credited += 1;
    if (paidOn(row) !== BigInt(row.quantity))
      wrong(`${row.transaction_id} is credited for ${row.quantity}, and paid ${paidOn(row)}`);
    const [line] = lines;
    if (lines.length !== 1 || line?.amount !== row.winc || line.account !== row.destination)
      wrong(
        `${row.transaction_id} is credited ${lines.length} times, with ${line?.amount} for ${line?.account}`,
      );
  }
  if (entries.length !== credited)
    wrong(`${entries.length} chain payments are in the ledger, and ${credited} were made`);
  const byId = new Map(rows.map((row) => [row.transaction_id, row]));
  for (const promise of payers.flatMap((payer) => [...payer.promises.values()])) {
    const row = byId.get(promise.id);
    const { told, id } = promise;
    if (told !== undefined && row === undefined) wrong(`${id} was ${told}, and nobody knows of it`);
    if (told === 'credited' && row?.state !== 'credited') wrong(`${id} was credited, and is ${row?.state}`);
    const isPaid = paidOn({ chain: promise.chain, transaction_id: id }) > 0n;
    if (told !== undefined && isPaid && row?.state !== 'credited')
      wrong(`${id} was paid and reported, and is ${row?.state}`);
    if (row !== undefined && row.destination !== promise.destination)
      wrong(`${id} is for ${promise.destination}, and was credited to ${row.destination}`);
  }
}

/** Each item is paid for once, with its price. */
async function auditSpendings(sql: SqlReader, spenders: readonly Spender[], wrong: Wrong): Promise<void> {
  const items = await sql.all<{ id: string; state: string; winc: string }>(
    'SELECT id, state, winc FROM upload_items',
  );
  const spendings = await sql.all<{ id: string; state: string; amount: string }>(
    "SELECT id, state, amount FROM credits_spendings WHERE reason = 'upload'",
  );
  const spent = new Map(spendings.map((one) => [one.id, one]));
  for (const { id, state, winc } of items) {
    const one = spent.get(id);
    spent.delete(id);
    const isPaid = one?.state === 'settled' && one.amount === winc;
    if (state !== 'failed' && winc !== '0' && !isPaid)
      wrong(`the item ${id} costs ${winc}, and was paid for with ${one?.amount} (${one?.state})`);
    if (state === 'failed' && one?.state === 'settled') wrong(`the item ${id} failed, and is paid for`);
  }
  for (const { id, state, amount } of spent.values()) {
    if (state === 'settled' && amount !== '0') wrong(`${amount} winc were taken for ${id}, which is no item`);
  }
  const known = new Set(items.map(({ id }) => id));
  for (const id of spenders.flatMap(({ receipts }) => [...receipts])) {
    if (!known.has(id)) wrong(`the item ${id} has a receipt, and is not there`);
  }
}

/** Whoever owes had a payment taken back. */
async function auditDebts(sql: SqlReader, entries: readonly Entry[], wrong: Wrong): Promise<void> {
  const accounts = await sql.all<{ address: string; balance: string }>(
    'SELECT address, balance FROM credits_accounts',
  );
  for (const { address, balance } of accounts) {
    if (!balance.startsWith('-')) continue;
    const isTakenBack = entries.some(
      ({ account, reason }) => account === address && (reason === 'chargeback' || reason === 'card_refund'),
    );
    if (!isTakenBack) wrong(`${address} owes ${balance}, and nothing was taken back`);
  }
}
