import { randomUUID } from 'node:crypto';
import { existsSync } from 'node:fs';
import { readProcessConfig } from '../../config/config.ts';
import { type Credits, LOSS_ACCOUNT, WINC_PER_CREDIT, type Winc, winc } from '../../credits/credits.ts';
import { readLosses } from '../../credits/ledger/accounts.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import { type Holding, takenBackNames } from '../../names/receipts.ts';
import { waitingGifts } from '../../payment/gifts.ts';
import { endRefundByHand, owedRefunds } from '../../payments/card/refunds.ts';
import { failedPayments, voidPayment } from '../../payments/chain/store.ts';
import { endByHand, unclearPayments } from '../../payments/x402/by-hand.ts';
import { parseDecimal, scaled } from '../../pricing/decimal.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { parseAddress, type WalletAddress } from '../../wallets/address.ts';
import { inCredits } from '../amounts.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { addressOfAnyWallet } from '../wallet-file.ts';

const shownAtOnce = 1_000;
/** A slip of the hand is more likely than such a gift. */
const mostGiven = 1_000_000n;

export const ledger: Command = {
  usage: `turnpike ledger check                         prove that every balance is the sum of its entries
turnpike ledger show <wallet>                 balance, approvals and the newest entries of a wallet
turnpike ledger credit <wallet> <credits>     give credits, for example 0.5
turnpike ledger open                          refunds that are owed, and payments that only a person can end
turnpike ledger losses                        payments that went back and that no wallet owes, and names kept for them
turnpike ledger settle <payment> <hash>       an x402 payment was made after all, by that transaction: credit it
turnpike ledger void <payment>                an x402 or chain payment was never made, or was made good otherwise
turnpike ledger gifts                         credits bought for email addresses that wait to be redeemed
turnpike ledger refunded <quote>              a refund that failed for good was made by other means

A wallet is named by its address or by the file of its key.

  --message <text>  with credit: shown in the wallet's payment history
  --id <id>         with credit: giving again with the same id gives nothing
  --json            for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: { json: { type: 'boolean' }, message: { type: 'string' }, id: { type: 'string' } },
      allowPositionals: true,
    });
    const [action, subject, amount, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const sql = await openLedgerDatabase(readProcessConfig());
    try {
      const credits = createCredits({ sql });
      const json = values.json === true;
      switch (action) {
        case 'check':
          return await check(credits, json);
        case 'show':
          return await show(credits, wallet(subject), json);
        case 'open':
          return await showOpen(sql, json);
        case 'losses':
          return await showLosses(sql, credits, json);
        case 'settle':
          return await endPayment(sql, credits, subject, transaction(amount), json);
        case 'void':
          return await endPayment(sql, credits, subject, undefined, json);
        case 'gifts':
          return await showGifts(sql, json);
        case 'refunded':
          return await endRefund(sql, subject, json);
        case 'credit':
          return await give(credits, wallet(subject), parseCredits(amount), values);
        default:
          throw new UsageError(`there is no "ledger ${action ?? ''}"`);
      }
    } finally {
      await sql.close();
    }
  },
};

async function check(credits: Credits, json: boolean): Promise<number> {
  const report = await credits.selfCheck();
  if (json) {
    printJson(report);
  } else {
    const { accounts, entries, approvals, spendings, drift, losses, problems } = report;
    console.log(
      `${accounts} accounts, ${entries} entries, ${approvals} approvals, ${spendings} spendings; drift ${drift} winc`,
    );
    if (losses !== 0n) console.log(`${losses} winc were lost: turnpike ledger losses`);
    for (const problem of problems) console.log(`  ${problem}`);
    console.log(report.ok ? 'the ledger adds up' : 'the ledger does NOT add up');
  }
  return report.ok ? 0 : 1;
}

async function show(credits: Credits, { address }: WalletAddress, json: boolean): Promise<number> {
  const balance = await credits.balance(address);
  const { items } = await credits.entries(address, { limit: 20 });
  if (json) {
    printJson({ address, balance: balance ?? null, entries: items });
    return 0;
  }
  if (balance === undefined) {
    console.log(`${address} has never held credits`);
    return 0;
  }
  console.log(`${address}  ${balance.winc} winc  (${inCredits(balance.winc)} credits)`);
  for (const given of balance.givenApprovals) {
    console.log(
      `  may be spent by ${given.approvedAddress}: ${given.approvedWincAmount}, used ${given.usedWincAmount}`,
    );
  }
  for (const received of balance.receivedApprovals) {
    console.log(
      `  may spend of ${received.payingAddress}: ${received.approvedWincAmount}, used ${received.usedWincAmount}`,
    );
  }
  for (const { createdAt, amount, reason, changeId } of items) {
    console.log(
      `  ${new Date(createdAt).toISOString()}  ${amount.toString().padStart(24)}  ${reason} ${changeId}`,
    );
  }
  return 0;
}

async function showOpen(sql: Sql, json: boolean): Promise<number> {
  const refunds = await owedRefunds(sql, shownAtOnce);
  const payments = await unclearPayments(sql, shownAtOnce, Date.now());
  const chainPayments = await failedPayments(sql, shownAtOnce, Date.now());
  const names = await takenBackNames(sql, shownAtOnce);
  if (json) {
    printJson({ refunds, payments, chainPayments, names });
    return 0;
  }
  for (const { quoteId, intentId, amount, currency, tries, givenUp, since } of refunds) {
    const how = givenUp ? `failed ${tries} times, refund it by hand` : `tried ${tries} times`;
    const ids = `${intentId ?? 'no payment'}  quote ${quoteId}`;
    console.log(`${day(since)}  card refund of ${amount} ${currency}: ${how}  ${ids}`);
  }
  for (const { id, state, value, address, winc: bought, createdAt } of payments) {
    console.log(
      `${day(createdAt)}  x402 payment of ${value}, ${bought} winc for ${address}: ${state}  ${id}`,
    );
  }
  for (const row of chainPayments) {
    const what = `${row.quantity} of ${row.token} by ${row.sender} for ${row.destination}`;
    const id = `${row.chain}:${row.transaction_id}`;
    console.log(
      `${day(row.ended_at ?? row.created_at)}  chain payment of ${what} failed: ${row.failure_reason}  ${id}`,
    );
  }
  for (const name of names) console.log(keptName(name));
  if (refunds.length + payments.length + chainPayments.length + names.length === 0) {
    console.log('nothing is open');
  }
  return 0;
}

async function showLosses(sql: Sql, credits: Credits, json: boolean): Promise<number> {
  const total = await readLosses(sql);
  const { items } = await credits.entries(LOSS_ACCOUNT.address, { limit: shownAtOnce });
  const names = await takenBackNames(sql, shownAtOnce);
  if (json) {
    printJson({ total, entries: items, names });
    return 0;
  }
  console.log(`${total} winc  (${inCredits(total)} credits)`);
  for (const { createdAt, amount, reason, changeId, note } of items) {
    console.log(`  ${day(createdAt)}  ${(-amount).toString().padStart(24)}  ${reason} ${note ?? changeId}`);
  }
  for (const name of names) console.log(keptName(name));
  return 0;
}

const keptName = ({ name, antId, payer, reference }: Holding): string =>
  `the service keeps name ${name}, token ${antId}: its payment went back, quote ${reference} for ${payer}`;

async function showGifts(sql: Sql, json: boolean): Promise<number> {
  const gifts = await waitingGifts(sql, Date.now(), shownAtOnce);
  if (json) printJson(gifts);
  else if (gifts.length === 0) console.log('no gift waits');
  for (const { email, amount, receiptId, createdAt } of json ? [] : gifts) {
    console.log(`${day(createdAt)}  ${inCredits(amount)} credits for ${email}: redeem with ${receiptId}`);
  }
  return 0;
}

async function endPayment(
  sql: Sql,
  credits: Credits,
  id: string | undefined,
  hash: string | undefined,
  json: boolean,
): Promise<number> {
  const ended =
    (await endByHand(sql, credits, id ?? '', hash, Date.now())) ||
    (hash === undefined && (await voidPayment(sql, id ?? '')));
  const done = hash === undefined ? 'ended as never made' : 'credited';
  printResult(json, { id, ended }, ended ? done : `there is no such payment to end: ${id ?? ''}`);
  return ended ? 0 : 1;
}

async function endRefund(sql: Sql, quoteId: string | undefined, json: boolean): Promise<number> {
  const ended = await endRefundByHand(sql, quoteId ?? '', Date.now());
  const text = ended ? 'ended as refunded' : `there is no failed refund of quote ${quoteId ?? ''}`;
  printResult(json, { quoteId, ended }, text);
  return ended ? 0 : 1;
}

async function give(
  credits: Credits,
  { address, kind }: WalletAddress,
  amount: Winc,
  { id = randomUUID(), message, json }: Giving,
): Promise<number> {
  const { applied, balance } = await credits.credit({
    address,
    addressType: kind,
    amount,
    reason: 'admin_credit',
    id,
    payment: {
      type: 'fiat',
      paymentAmount: '0',
      currencyType: 'winc',
      paymentProvider: 'admin',
      receiptId: id,
      giftMessage: message ?? null,
    },
  });
  const what = applied ? `gave ${amount} winc (id ${id})` : `was given before (id ${id})`;
  printResult(
    json,
    { id, address, given: applied, winc: amount, balance },
    `${what}\n${address} now has ${balance} winc`,
  );
  return 0;
}

interface Giving {
  readonly id?: string | undefined;
  readonly message?: string | undefined;
  readonly json?: boolean | undefined;
}

/** By its address, or by the file of its key. */
function wallet(text: string | undefined): WalletAddress {
  const parsed =
    text === undefined
      ? undefined
      : (parseAddress(text) ?? (existsSync(text) ? parseAddress(addressOfAnyWallet(text)) : undefined));
  if (parsed === undefined)
    throw new UsageError(`neither a wallet address nor a wallet file: ${text ?? '(none)'}`);
  return parsed;
}

function transaction(text: string | undefined): string {
  if (text === undefined || !/^0x[0-9a-fA-F]{64}$/.test(text)) {
    throw new UsageError(`not the hash of a transaction: ${text ?? '(none)'}`);
  }
  return text.toLowerCase();
}

function parseCredits(text: string | undefined): Winc {
  const credits = parseDecimal(text ?? '');
  const amount = credits === undefined ? 0n : scaled(WINC_PER_CREDIT, [credits], [], 'down');
  if (amount < 1n) throw new UsageError('the amount is in credits, for example 1 or 0.5');
  if (amount > mostGiven * WINC_PER_CREDIT) {
    throw new UsageError(`at most ${mostGiven} credits are given at once`);
  }
  return winc(amount);
}

const day = (unixMs: number): string => new Date(unixMs).toISOString();
