import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { type Config, readProcessConfig } from '../../config/config.ts';
import { createCredits } from '../../credits/ledger/ledger.ts';
import type { KeptName } from '../../formats/admin-answers.ts';
import { StartupError } from '../../kernel/errors.ts';
import { takenBackNames } from '../../names/receipts.ts';
import {
  Bookkeeping,
  InvalidAmount,
  parseCredits,
  parseTransactionHash,
  returnSummary,
} from '../../payment/bookkeeping.ts';
import { newestReturns } from '../../payments/returns/rows.ts';
import { isCorruption } from '../../storage/sql/corruption.ts';
import { DatabaseUnavailable, type Sql } from '../../storage/sql/sql.ts';
import { integrityProblems } from '../../storage/sql/sqlite/integrity.ts';
import { parseAddress, type WalletAddress } from '../../wallets/address.ts';
import { adminClient } from '../admin-clients.ts';
import { inCredits } from '../amounts.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { openLedgerDatabase } from '../ledger-database.ts';
import { serviceUrl } from '../service-url.ts';
import { addressOfAnyWallet } from '../wallet-file.ts';

const shownAtOnce = 1_000;
const shownOfWallet = 20;

export const ledger: Command = {
  usage: `turnpike ledger check                         prove that every balance is the sum of its entries
turnpike ledger show <wallet>                 balance, approvals and the newest entries of a wallet
turnpike ledger credit <wallet> <credits>     give credits, for example 0.5
turnpike ledger open                          refunds that are owed, and payments that only a person can end
turnpike ledger losses                        payments that went back and that no wallet owes, and names kept for them
turnpike ledger settle <payment> <hash>       an x402 payment was made after all, by that transaction: credit it
turnpike ledger void <payment>                an x402 or chain payment was never made, or was made good otherwise;
                                              or a card event that is open was dealt with
turnpike ledger gifts                         credits bought for email addresses that wait to be redeemed
turnpike ledger refunded <quote>              a refund that failed for good was made by other means
turnpike ledger returns                       unused credits that go back to their payers, and what waits for a person
turnpike ledger returned <return> <transaction>
                                              a return was sent by hand: it is looked up on its chain
turnpike ledger retry <return>                have the service try again to send a return
turnpike ledger refuse <return>               do not send a return: the credits are given back (--message says why)

A wallet is named by its address or by the file of its key.

  --message <text>  with credit: shown in the wallet's payment history; with refuse: the reason
  --id <id>         with credit: giving again with the same id gives nothing
  --url <url>       with returned, retry and refuse: the payment service (default: the local one), which does it
  --json            for machines`,
  async run(args) {
    const { values, positionals } = readArguments({
      args,
      options: {
        json: { type: 'boolean' },
        message: { type: 'string' },
        id: { type: 'string' },
        url: { type: 'string' },
      },
      allowPositionals: true,
    });
    const [action, subject, amount, ...rest] = positionals;
    if (rest.length > 0) throw new UsageError('too many arguments');
    const config = readProcessConfig();
    const ending = returnEnding(action, subject, amount, values.message);
    if (ending !== undefined) {
      const service = adminClient('payment', serviceUrl(config, 'payment', values.url), config);
      await service.call('POST', ending.path, ending.body);
      printResult(values.json, { id: subject, ended: true }, ending.done);
      return 0;
    }
    const sql = await openLedgerDatabase(config);
    try {
      const keptNames = (limit: number) => takenBackNames(sql, limit);
      const books = new Bookkeeping({ sql, credits: createCredits({ sql }), keptNames });
      const json = values.json === true;
      switch (action) {
        case 'check':
          return await check(books, config, json);
        case 'show':
          return await show(books, wallet(subject), json);
        case 'open':
          return await showOpen(books, json);
        case 'losses':
          return await showLosses(books, json);
        case 'settle':
          return await endPayment(books, subject, transaction(amount), json);
        case 'void':
          return await endPayment(books, subject, undefined, json);
        case 'gifts':
          return await showGifts(books, json);
        case 'returns':
          return await showReturns(sql, json);
        case 'refunded':
          return await endRefund(books, subject, json);
        case 'credit':
          return await give(books, wallet(subject), amount ?? '', values);
        default:
          throw new UsageError(`there is no "ledger ${action ?? ''}"`);
      }
    } catch (error) {
      if (error instanceof DatabaseUnavailable) {
        const remedy = isCorruption(error) ? ': restore it from a backup (turnpike restore)' : '';
        throw new StartupError(`the ledger cannot be read: ${error.message}${remedy}`, { cause: error });
      }
      throw error instanceof InvalidAmount ? new UsageError(error.message) : error;
    } finally {
      await sql.close();
    }
  },
};

/** What is asked of the running service, which can look at chains and has what it does in its audit log. */
function returnEnding(
  action: string | undefined,
  id: string | undefined,
  transactionId: string | undefined,
  reason: string | undefined,
) {
  if (action !== 'returned' && action !== 'retry' && action !== 'refuse') return undefined;
  if (id === undefined) throw new UsageError('say which return');
  const path = (what: string) => `returns/${encodeURIComponent(id)}/${what}`;
  if (action === 'retry') return { path: path('retry'), body: {}, done: 'it is tried again' };
  if (action === 'refuse') {
    if (reason === undefined) throw new UsageError('say why with --message');
    return { path: path('refuse'), body: { reason }, done: 'refused, the credits are given back' };
  }
  if (transactionId === undefined) throw new UsageError('say which transaction sent it');
  return { path: path('settle'), body: { transaction: transactionId }, done: 'ended as sent' };
}

async function showReturns(sql: Sql, json: boolean): Promise<number> {
  const page = { before: undefined, limit: shownAtOnce };
  const returns = (await newestReturns(sql, { page })).map(returnSummary);
  if (json) printJson(returns);
  else if (returns.length === 0) console.log('no return was made');
  for (const made of json ? [] : returns) {
    const what = `${made.amount} of ${made.token} to ${made.recipient}, ${made.winc} winc of ${made.address}`;
    const how = [made.state, made.reason, made.transaction].filter((part) => part !== null).join(': ');
    console.log(`${day(made.createdAt)}  return ${made.id}: ${what}: ${how}`);
  }
  return 0;
}

async function check(
  books: Bookkeeping,
  { DATABASE_URL, DATA_DIR }: Pick<Config, 'DATABASE_URL' | 'DATA_DIR'>,
  json: boolean,
): Promise<number> {
  const found = await books.check();
  // Damage may be where no balance is.
  const damage = DATABASE_URL === undefined ? await integrityProblems(join(DATA_DIR, 'ledger.db')) : [];
  const report = { ...found, ok: found.ok && damage.length === 0, problems: [...damage, ...found.problems] };
  if (json) {
    printJson(report);
  } else {
    const { accounts, entries, approvals, spendings, drift, losses, problems } = report;
    console.log(
      `${accounts} accounts, ${entries} entries, ${approvals} approvals, ${spendings} spendings; drift ${drift} winc`,
    );
    if (losses !== '0') console.log(`${losses} winc were lost: turnpike ledger losses`);
    for (const problem of problems) console.log(`  ${problem}`);
    if (damage.length > 0) console.log('the file of the ledger is DAMAGED: restore it from a backup');
    else console.log(report.ok ? 'the ledger adds up' : 'the ledger does NOT add up');
  }
  return report.ok ? 0 : 1;
}

async function show(books: Bookkeeping, asked: WalletAddress, json: boolean): Promise<number> {
  const account = await books.account(asked, { before: undefined, limit: shownOfWallet });
  const { address, balance, entries } = account;
  if (json) {
    printJson(account);
    return 0;
  }
  if (balance === null) {
    console.log(`${address} has never held credits`);
    return 0;
  }
  console.log(`${address}  ${balance.winc} winc  (${inCredits(BigInt(balance.winc))} credits)`);
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
  for (const { createdAt, amount, reason, changeId } of entries) {
    console.log(`  ${day(createdAt)}  ${amount.padStart(24)}  ${reason} ${changeId}`);
  }
  return 0;
}

async function showOpen(books: Bookkeeping, json: boolean): Promise<number> {
  const open = await books.open();
  const { refunds, payments, chainPayments, names, returns, cardEvents } = open;
  if (json) {
    printJson(open);
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
  for (const { id, quantity, token, sender, destination, reason, createdAt, endedAt } of chainPayments) {
    const what = `${quantity} of ${token} by ${sender} for ${destination}`;
    console.log(`${day(endedAt ?? createdAt)}  chain payment of ${what} failed: ${reason}  ${id}`);
  }
  for (const name of names) console.log(keptName(name));
  for (const { id, amount, token, recipient, createdAt, reason } of returns) {
    console.log(`${day(createdAt)}  return of ${amount} of ${token} to ${recipient}: ${reason ?? ''}  ${id}`);
  }
  for (const { id, type, quoteId, intentId, receivedAt } of cardEvents) {
    const what = `${type} of ${intentId ?? 'a payment'}, quote ${quoteId ?? 'unknown'}`;
    console.log(
      `${day(receivedAt)}  card event: ${what}: its quote is not here, see turnpike reconcile  ${id}`,
    );
  }
  if (Object.values(open).every((list) => list.length === 0)) console.log('nothing is open');
  return 0;
}

async function showLosses(books: Bookkeeping, json: boolean): Promise<number> {
  const losses = await books.losses({ before: undefined, limit: shownAtOnce });
  if (json) {
    printJson(losses);
    return 0;
  }
  console.log(`${losses.total} winc  (${inCredits(BigInt(losses.total))} credits)`);
  for (const { createdAt, amount, reason, changeId, note } of losses.entries) {
    const lost = (-BigInt(amount)).toString();
    console.log(`  ${day(createdAt)}  ${lost.padStart(24)}  ${reason} ${note ?? changeId}`);
  }
  for (const name of losses.names) console.log(keptName(name));
  return 0;
}

const keptName = ({ name, antId, payer, reference }: KeptName): string =>
  `the service keeps name ${name}, token ${antId}: its payment went back, quote ${reference} for ${payer}`;

async function showGifts(books: Bookkeeping, json: boolean): Promise<number> {
  const gifts = await books.gifts();
  if (json) printJson(gifts);
  else if (gifts.length === 0) console.log('no gift waits');
  for (const { email, amount, receiptId, createdAt } of json ? [] : gifts) {
    console.log(
      `${day(createdAt)}  ${inCredits(BigInt(amount))} credits for ${email}: redeem with ${receiptId}`,
    );
  }
  return 0;
}

async function endPayment(
  books: Bookkeeping,
  id = '',
  hash: string | undefined,
  json: boolean,
): Promise<number> {
  const ended = await (hash === undefined ? books.void(id) : books.settle(id, hash));
  const done = hash === undefined ? 'ended as never made' : 'credited';
  printResult(json, { id, ended }, ended ? done : `there is no such payment to end: ${id}`);
  return ended ? 0 : 1;
}

async function endRefund(books: Bookkeeping, quoteId = '', json: boolean): Promise<number> {
  const ended = await books.refunded(quoteId);
  const text = ended ? 'ended as refunded' : `there is no failed refund of quote ${quoteId}`;
  printResult(json, { quoteId, ended }, text);
  return ended ? 0 : 1;
}

async function give(
  books: Bookkeeping,
  to: WalletAddress,
  credits: string,
  { id, message, json }: Giving,
): Promise<number> {
  const gift = await books.give({ wallet: to, amount: parseCredits(credits), id, message });
  const what = gift.given ? `gave ${gift.winc} winc (id ${gift.id})` : `was given before (id ${gift.id})`;
  printResult(json, gift, `${what}\n${gift.address} now has ${gift.balance} winc`);
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

function transaction(text = '(none)'): string {
  const hash = parseTransactionHash(text);
  if (hash === undefined) throw new UsageError(`not the hash of a transaction: ${text}`);
  return hash;
}

const day = (unixMs: number): string => new Date(unixMs).toISOString();
