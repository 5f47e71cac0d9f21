/**
 * What the ledger says, held against what happened outside: the card provider's payments, refunds and disputes, transfers
 * on chains, and items that were taken. Each payment is credited once, to whom it was for, and nothing is credited that was
 * not paid.
 */

import type { SqlReader } from '../../../src/storage/sql/sql.ts';
import { paymentsAt } from '../cards.ts';
import type { Losses } from '../restorer.ts';
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
  losses: Losses,
): Promise<string[]> {
  const problems: string[] = [];
  const wrong: Wrong = (what) => problems.push(what);
  const entries = await sql.all<Entry>('SELECT account, amount, reason, change_id FROM credits_entries');
  const byReason = Map.groupBy(entries, ({ reason }) => reason);
  await auditCards(sql, cards, entries, memories.cardPayers, losses, wrong);
  const byX402 = byReason.get('x402_payment') ?? [];
  await auditX402(sql, byX402, installation, memories.x402Payers, losses, wrong);
  await auditChains(sql, byReason.get('crypto_payment') ?? [], installation, memories.chainPayers, wrong);
  await auditSpendings(sql, memories.spenders, losses, wrong);
  await auditReturns(sql, cards, installation, wrong);
  await auditDebts(sql, entries, wrong);
  return problems;
}

interface QuoteRow {
  readonly id: string;
  readonly state: string;
  readonly address: string;
  readonly address_type: string;
  readonly winc: string;
  readonly returned: string;
  readonly receipt_id: string | null;
  readonly refund_due: number;
}

interface GiftRow {
  readonly receipt_id: string;
  readonly amount: string;
  readonly redeemed_by: string | null;
}

const cardReasons = new Set([
  'payment',
  'gifted_payment_redemption',
  'card_refund',
  'chargeback',
  'chargeback_reversed',
]);

async function auditCards(
  sql: SqlReader,
  cards: SqlReader,
  entries: readonly Entry[],
  payers: readonly CardPayer[],
  losses: Losses,
  wrong: Wrong,
): Promise<void> {
  const quotes = await sql.all<QuoteRow>(
    "SELECT id, state, address, address_type, winc, returned, receipt_id, refund_due FROM card_quotes WHERE purpose = 'top-up'",
  );
  const quoteOf = new Map(quotes.map((quote) => [quote.id, quote]));
  const booked = Map.groupBy(
    entries.filter(({ reason }) => cardReasons.has(reason)),
    ({ change_id: change }) => change.split(':')[0] ?? '',
  );
  const paid = new Set<string>();
  const gifts = new Map(
    (await sql.all<GiftRow>('SELECT receipt_id, amount, redeemed_by FROM payment_gifts')).map((gift) => [
      gift.receipt_id,
      gift,
    ]),
  );
  for (const { id, quoteId, amount, refunded, returns, isDisputed, wasDisputed } of await paymentsAt(cards)) {
    const quote = quoteOf.get(quoteId);
    if (quote === undefined) {
      wrong(`the card payment ${id} has no quote`);
      continue;
    }
    paid.add(quote.id);
    const sum = (booked.get(quote.receipt_id ?? '') ?? []).reduce((all, one) => all + BigInt(one.amount), 0n);
    const total = BigInt(quote.winc);
    const isGone = isDisputed || refunded >= amount;
    if (quote.state === 'failed') {
      if (!isGone && !(wasDisputed && quote.refund_due === 1))
        wrong(`the card payment ${id} bought nothing, and is kept`);
      if (sum !== 0n) wrong(`the card payment ${id} failed, and ${sum} winc stand for it`);
      continue;
    }
    if (quote.receipt_id === null) {
      wrong(`the card payment ${id} is made, and its quote is ${quote.state}`);
      continue;
    }
    const returned = BigInt(quote.returned);
    const others = BigInt(refunded - [...returns.values()].reduce((all, one) => all + one, 0));
    const share = (total * others) / BigInt(amount);
    // What its holder returned is taken by the return, and not once more by the refund that it made.
    const takenBack = isGone || share > total - returned ? total - returned : share;
    const left = total - takenBack;
    const gift = gifts.get(quote.receipt_id);
    if (quote.address_type === 'email' && gift?.redeemed_by == null) {
      if (sum !== 0n) wrong(`the gift of ${id} waits, and ${sum} winc stand for it`);
      if (BigInt(gift?.amount ?? '0') !== left)
        wrong(`the gift of ${id} is of ${gift?.amount ?? 'nothing'}, not of ${left}`);
    } else if (sum !== left)
      wrong(
        `of the card payment ${id} (${amount}, ${refunded} back${isDisputed ? ', disputed' : ''}) ${sum} winc stand, not ${left}`,
      );
  }
  for (const { id, receipt_id: receipt } of quotes) {
    if (receipt !== null && !paid.has(id)) wrong(`the quote ${id} counts as paid, and nobody paid`);
  }
  for (const payment of payers.flatMap((payer) => [...payer.payments.values()])) {
    const quote = quoteOf.get(payment.quoteId);
    if (quote === undefined) {
      if (!losses.covers(payment)) wrong(`the quote ${payment.quoteId} was given, and is not there`);
    } else if (BigInt(quote.winc) !== payment.winc || quote.address !== payment.address)
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
  losses: Losses,
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
  for (const promise of payers.flatMap(({ promises }) => promises)) {
    const { nonce, winc, item } = promise;
    const row = byNonce.get(nonce);
    if (row?.state !== 'credited') wrong(`the payment ${nonce} was taken, and is ${row?.state}`);
    // What it was paid for is not on its chain.
    else if (losses.covers(promise)) continue;
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
async function auditSpendings(
  sql: SqlReader,
  spenders: readonly Spender[],
  losses: Losses,
  wrong: Wrong,
): Promise<void> {
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
  for (const [id, said] of spenders.flatMap(({ receipts }) => [...receipts])) {
    if (!known.has(id) && !losses.covers(said)) wrong(`the item ${id} has a receipt, and is not there`);
  }
}

interface ReturnRow {
  readonly id: string;
  readonly kind: string;
  readonly state: string;
  readonly amount: string;
  readonly recipient: string;
  readonly reference: string | null;
}

/** What was returned went back once, and nothing else did. */
async function auditReturns(
  sql: SqlReader,
  cards: SqlReader,
  { arweave }: PaymentInstallation,
  wrong: Wrong,
): Promise<void> {
  const rows = await sql.all<ReturnRow>(
    'SELECT id, kind, state, amount, recipient, reference FROM payment_returns',
  );
  const refunds = new Map((await paymentsAt(cards)).flatMap(({ returns }) => [...returns]));
  const transfers = new Map(
    [...arweave.best.mined.values()]
      .map(({ transaction }) => transaction)
      .map(({ id, target, quantity }) => ({ id: base64url(id), target: base64url(target), quantity }))
      .filter(({ target, quantity }) => quantity > 0n && target !== serviceWallet.address)
      .map((transfer) => [transfer.id, transfer]),
  );
  for (const { id, kind, state, amount, recipient, reference } of rows) {
    const isCard = kind === 'card';
    const transfer = transfers.get(reference ?? '');
    const sent = isCard ? refunds.get(id) : transfer?.quantity;
    if (isCard) refunds.delete(id);
    else transfers.delete(reference ?? '');
    if (state === 'confirmed' && String(sent) !== amount)
      wrong(`the return ${id} of ${amount} is confirmed, and ${sent ?? 'nothing'} went back`);
    if (state !== 'confirmed' && sent !== undefined) wrong(`the return ${id} is ${state}, and went back`);
    if (transfer !== undefined && transfer.target !== recipient) wrong(`the return ${id} went to another`);
  }
  for (const id of [...refunds.keys(), ...transfers.keys()]) wrong(`${id} went back, and nobody returned it`);
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

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
