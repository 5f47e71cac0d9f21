/** An account as people read it. */

import { toText } from '../../pricing/decimal.ts';
import { parseToken, tokenFacts } from '../../pricing/tokens.ts';
import { inBytes, inCredits, withoutZeros } from '../amounts.ts';
import type { Account, DailySpending, Holds, PaymentById, Payments } from './account-client.ts';

export interface AccountReport {
  readonly account: Account;
  /** What the next upload of so many bytes costs. */
  readonly bytes: number;
  readonly price: bigint;
  /** Items up to this size cost nothing, where there is an allowance. */
  readonly freeItemBytes: number;
  /** What only the owner is told; absent without a key. */
  readonly own?: {
    readonly payments: Payments;
    readonly spending: DailySpending;
    readonly days: number;
    readonly holds: Holds;
    /** Below what balance its wallet is told; 0 is never. */
    readonly notice: bigint;
  };
}

export function describeAccount({ account, bytes, price, freeItemBytes, own }: AccountReport): string {
  const lines: [string, string][] = [['account', account.address]];
  for (const form of account.otherForms) lines.push(['', `${form} leads here too`]);
  lines.push(['balance', `${inCredits(BigInt(account.winc))} credits (${account.winc} winc)`]);
  if (!account.known) lines.push(['', 'nothing was ever paid to it here']);
  if (account.owedWinc !== '0') {
    lines.push([
      'owes',
      `${inCredits(BigInt(account.owedWinc))} credits: a payment was taken back after they were spent`,
    ]);
  }
  const usable = BigInt(account.effectiveBalance);
  lines.push([
    'next upload',
    `${inBytes(bytes)} cost ${inCredits(price)} credits (${price} winc)${enough(price, usable)}`,
  ]);
  lines.push(['free', freeWords(account.bytesRemaining, freeItemBytes)]);
  for (const { payingAddress, ...shared } of account.receivedApprovals) {
    lines.push(['shared with it', `${left(shared)} of ${payingAddress}${until(shared)}`]);
  }
  for (const { approvedAddress, ...shared } of account.givenApprovals) {
    lines.push(['it shares', `${left(shared)} with ${approvedAddress}${until(shared)}`]);
  }
  if (own !== undefined) lines.push(...ownLines(own));
  if (account.topUp !== null) lines.push(['top up', account.topUp]);
  return table(lines);
}

function ownLines({
  payments,
  spending,
  days,
  holds,
  notice,
}: NonNullable<AccountReport['own']>): [string, string][] {
  const lines: [string, string][] = [];
  if (notice > 0n) lines.push(['notice', `when less than ${inCredits(notice)} credits are left`]);
  for (const { id, reason, winc, since } of holds.holds.slice(0, 10)) {
    lines.push([
      'held',
      `${inCredits(BigInt(winc))} credits for ${reasonWords[reason] ?? reason} ${id} since ${when(since)}`,
    ]);
  }
  if (holds.count > 10) lines.push(['', `and ${holds.count - 10} more`]);
  for (const one of payments.payments) {
    const how = one.type === 'fiat' ? `by card, ${one.receiptId ?? ''}` : coinWords(one);
    lines.push(['paid', `${when(one.date)}  ${inCredits(BigInt(one.wincCredited))} credits ${how}`]);
  }
  if (payments.hasMore) lines.push(['', 'and more, further back']);
  if (spending.days.length === 0) lines.push(['spent', `nothing in ${days} days`]);
  for (const { date, winc, uploads, names, byOthers } of spending.days) {
    const parts = [
      ['uploads', uploads],
      ['names', names],
      ['others, of what it shares', byOthers],
    ].filter(([, amount]) => amount !== '0');
    const told = parts
      .map(([what = '', amount = '0']) => `${inCredits(BigInt(amount))} for ${what}`)
      .join(', ');
    lines.push(['spent', `${date}  ${inCredits(BigInt(winc))} credits: ${told}`]);
  }
  if (!spending.complete) lines.push(['', 'and more than can be counted at once']);
  return lines;
}

const reasonWords: Readonly<Record<string, string>> = {
  upload: 'the upload',
  arns_action: 'the name action',
  arns_purchase_order: 'the name',
  payment_return: 'the return',
};

/** One payment, with what it means. */
export function describePayment(payment: PaymentById): string {
  const { id, state, explanation, kind, winc, amount, currency, sender, address } = payment;
  const lines: [string, string][] = [
    ['payment', id],
    ['state', `${state}: ${explanation}`],
  ];
  if (kind !== undefined && amount !== undefined && currency !== undefined) {
    lines.push([
      'paid',
      kind === 'card'
        ? `${amount} (smallest unit of ${currency})`
        : `${inCoins(amount, currency)} ${currency}`,
    ]);
  }
  if (winc !== undefined) lines.push(['credits', `${inCredits(BigInt(winc))} (${winc} winc)`]);
  if (sender != null) lines.push(['sender', sender]);
  if (address != null) lines.push(['account', address]);
  return table(lines);
}

function coinWords({
  tokenType = '',
  tokenQuantity = '0',
  transactionId = '',
}: Payments['payments'][number]): string {
  return `for ${inCoins(tokenQuantity, tokenType)} ${tokenType}, ${transactionId}`;
}

/** In whole coins; a token that this version does not know stays in its smallest unit. */
function inCoins(quantity: string, name: string): string {
  const token = parseToken(name);
  if (token === undefined || !/^[0-9]{1,60}$/.test(quantity)) return quantity;
  return withoutZeros(toText({ digits: BigInt(quantity), scale: tokenFacts[token].exponent }));
}

function enough(price: bigint, usable: bigint): string {
  if (price === 0n) return '';
  const times = usable / price;
  return times === 0n
    ? ': not enough for one'
    : `: enough for ${times > 1_000_000n ? 'more than a million' : times}`;
}

function freeWords(remaining: number | null, itemBytes: number): string {
  if (remaining === 0) return 'nothing: every upload is paid';
  if (remaining !== null) return `${inBytes(remaining)} are left`;
  return itemBytes > 0
    ? `items up to ${inBytes(itemBytes)} cost nothing`
    : 'uploads cost this wallet nothing';
}

interface Shared {
  readonly approvedWincAmount: string;
  readonly usedWincAmount: string;
  readonly expirationDate?: string | undefined;
}
const left = ({ approvedWincAmount, usedWincAmount }: Shared): string =>
  `${inCredits(BigInt(approvedWincAmount) - BigInt(usedWincAmount))} credits`;
const until = ({ expirationDate }: Shared): string =>
  expirationDate === undefined ? '' : ` until ${when(expirationDate)}`;

/** `2026-01-31 12:00` of UTC. */
const when = (date: string): string => date.slice(0, 16).replace('T', ' ');

/** A heading is shown once for the lines that follow with the same. */
function table(lines: readonly (readonly [string, string])[]): string {
  const width = Math.max(...lines.map(([head]) => head.length));
  let last = '';
  return lines
    .map(([head, text]) => {
      const shown = head === last ? '' : head;
      last = head === '' ? last : head;
      return `${shown.padEnd(width)}  ${text}`;
    })
    .join('\n');
}
