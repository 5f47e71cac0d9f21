import { type Config, readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { currencyFacts, parseCurrency } from '../../pricing/currencies.ts';
import { toText } from '../../pricing/decimal.ts';
import { type Currency, currencies } from '../../pricing/pricing.ts';
import { parseToken, tokenFacts } from '../../pricing/tokens.ts';
import { readableAddress } from '../../wallets/address.ts';
import { AccountClient } from '../account/account-client.ts';
import { describeAccount, describePayment } from '../account/describe-account.ts';
import { returnPayment, returnUsage } from '../account/return.ts';
import { inCredits, withoutZeros } from '../amounts.ts';
import { type Command, printJson, printResult, readArguments, UsageError } from '../command.ts';
import { findKey, type PersonKey } from '../person-key.ts';
import { serviceUrl } from '../service-url.ts';

const usualBytes = 1_048_576;
const usualDays = 30;
const wincPerCredit = 10n ** 12n;

export const account: Command = {
  usage: `turnpike account [address] [--wallet <file>] [--bytes <n>] [--days <n>]
turnpike account payment <id> [--token <token>] [--wallet <file>]
turnpike account top-up [address] [--credits <n>] [--card <amount> --currency <usd>]
turnpike account return [payment] [--wallet <file>] [--dry-run]

An account by any form of its address: balance, what an upload costs, what is free, what is shared; with the wallet's key
also payments, what is held, and what was spent by day.

payment: what became of one, by the id of its chain transaction, x402 settlement, card quote or receipt. A deposit that was
sent and never reported is found on its chain and credited.
top-up: every way to pay for credits, with addresses and amounts; --card opens a checkout page and prints its address.

  --wallet <file>      key of the wallet: Arweave, Ethereum or Solana (or TURNPIKE_WALLET)
  --bytes <n>          the size of the upload that is priced (default 1 MiB)
  --days <n>           of spending (default ${usualDays})
  --credits <n>        how many to price (default 1)
  --card <amount>      in whole units of the currency, for example 10
  --payment-url <url>  the payment service (default: the local one)
  --json               for machines; amounts are in winc

"payment" ends with 0 when it was credited, 3 when it is on its way, and 4 when it was not taken.

${returnUsage}

"return" ends with 0 when it has gone back or waits for the operator, 2 when it is on its way, and 1 when it came to nothing.`,
  async run(args) {
    if (args[0] === 'return') return returnPayment(args.slice(1));
    const { values, positionals } = readArguments({
      args,
      options: {
        wallet: { type: 'string' },
        bytes: { type: 'string' },
        days: { type: 'string' },
        token: { type: 'string' },
        credits: { type: 'string' },
        card: { type: 'string' },
        currency: { type: 'string' },
        'payment-url': { type: 'string' },
        json: { type: 'boolean' },
      },
      allowPositionals: true,
    });
    const config = readProcessConfig();
    const client = new AccountClient(serviceUrl(config, 'payment', values['payment-url']));
    const places = { file: values.wallet, inEnvironment: config.TURNPIKE_WALLET };
    /** What a command without an address is about; a person is asked for a key only then. */
    const keyFor = async (address: string | undefined): Promise<PersonKey | undefined> =>
      address !== undefined && places.file === undefined && places.inEnvironment === undefined
        ? undefined
        : findKey(places);
    const [first, ...rest] = positionals;
    if (first === 'payment') {
      const [id, ...more] = rest;
      if (id === undefined || more.length > 0) throw new UsageError('say which payment');
      return tellPayment(client, id, values.token, await keyFor(id), values.json);
    }
    const [address, ...more] = first === 'top-up' ? rest : positionals;
    if (more.length > 0) throw new UsageError('an account is one address');
    if (address !== undefined && readableAddress(address) === undefined)
      throw new UsageError(`${address} is no address`);
    const key = await keyFor(address);
    const subject = address ?? key?.address;
    if (subject === undefined) throw new UsageError('say whose account');
    if (first === 'top-up') {
      const currency = currencyOf(values.currency);
      const card = values.card === undefined ? undefined : minorUnits(values.card, currency);
      const order = { credits: wholeCredits(values.credits), card, currency };
      return tellWaysToPay(client, config, subject, order, values.json);
    }
    return tellAccount(client, subject, key, {
      bytes: count(values.bytes, usualBytes, '--bytes'),
      days: count(values.days, usualDays, '--days'),
      json: values.json,
    });
  },
};

async function tellAccount(
  client: AccountClient,
  address: string,
  key: PersonKey | undefined,
  { bytes, days, json }: { bytes: number; days: number; json: boolean | undefined },
): Promise<number> {
  // Signed first: the key tells the service which other addresses are the same wallet.
  const seen = key && (await ownPart(client, key, days));
  const found = await client.account(address);
  const isOwn = key !== undefined && [found.address, ...found.otherForms].includes(key.address);
  if (key !== undefined && !isOwn)
    throw new StartupError(`the key is of ${key.address}, which is another wallet than ${found.address}`);
  const price = await client.price(bytes);
  const { freeUploadLimitBytes: freeItemBytes = 0 } = await client.info();
  const report = { account: found, bytes, price, freeItemBytes, ...(seen && { own: seen }) };
  const value = {
    ...found,
    nextUpload: { bytes, winc: price },
    ...seen?.payments,
    ...seen?.holds,
    spending: seen?.spending,
    noticeWinc: seen?.notice,
  };
  printResult(json, value, describeAccount(report));
  return 0;
}

async function ownPart(client: AccountClient, key: PersonKey, days: number) {
  const payments = await client.payments(key);
  return {
    payments,
    holds: await client.holds(key),
    spending: await client.spending(key, days),
    notice: await client.notice(key),
    days,
  };
}

/** For scripts. */
const exits: Readonly<Record<string, number>> = { credited: 0, pending: 3, 'not-mined': 3, unclear: 3 };
const notTaken = 4;

async function tellPayment(
  client: AccountClient,
  id: string,
  token: string | undefined,
  key: PersonKey | undefined,
  json: boolean | undefined,
): Promise<number> {
  const payment = await client.payment(id, token, key);
  printResult(json, payment, describePayment(payment));
  return exits[payment.state] ?? notTaken;
}

interface TopUpOrder {
  readonly credits: bigint;
  /** Minor units. */
  readonly card: number | undefined;
  readonly currency: Currency;
}

async function tellWaysToPay(
  client: AccountClient,
  config: Config,
  address: string,
  { credits, card, currency }: TopUpOrder,
  json: boolean | undefined,
): Promise<number> {
  const account = await client.account(address);
  if (card !== undefined) {
    const { paymentSession, topUpQuote } = await client.checkout(account.address, currency, card);
    const { topUpQuoteId: payment, winstonCreditAmount: winc } = topUpQuote;
    const text = `${inCredits(BigInt(winc))} credits for ${account.address}: pay at\n${paymentSession.url}\nthen: turnpike account payment ${payment}`;
    printResult(json, { address: account.address, url: paymentSession.url, payment, winc }, text);
    return 0;
  }
  const { addresses } = await client.info();
  const coins: { token: string; address: string; amount: string | null }[] = [];
  for (const [token, to] of Object.entries(addresses)) {
    const amount = await amountFor(client, token, credits);
    // Some coins have two names.
    if (coins.some((coin) => coin.address === to && coin.amount === amount)) continue;
    coins.push({ token, address: to, amount });
  }
  if (json === true) {
    printJson({ address: account.address, winc: credits, page: account.topUp, coins });
    return 0;
  }
  const lines = coins.map(({ token, address: to, amount }) => `  ${amount ?? 'some'} ${token} to ${to}`);
  console.log(
    [
      `${inCredits(credits)} credits for ${account.address}:`,
      ...(account.topUp === null ? [] : [`  in a browser: ${account.topUp}`]),
      `  by card: turnpike account top-up ${account.address} --card 10 --currency usd`,
      ...(config.WORLD === 'local'
        ? [`  for nothing, here: turnpike faucet ${account.address} 1 credits`]
        : []),
      'or with coins, sent from the wallet that is to have the credits:',
      ...lines,
      'then: turnpike account payment <transaction id>',
    ].join('\n'),
  );
  return 0;
}

/** In whole coins, rounded up; null where no rate is known now. */
async function amountFor(client: AccountClient, name: string, credits: bigint): Promise<string | null> {
  const token = parseToken(name);
  if (token === undefined) return null;
  const scale = tokenFacts[token].exponent;
  const unit = 10n ** BigInt(scale);
  const worth = await client.tokenWorth(token, unit);
  if (worth === undefined || worth <= 0n) return null;
  const most = BigInt(scale > 6 ? 10 ** (scale - 6) : 1);
  const exact = (credits * unit + worth - 1n) / worth;
  const rounded = ((exact + most - 1n) / most) * most;
  return withoutZeros(toText({ digits: rounded, scale }));
}

function count(text: string | undefined, usual: number, option: string): number {
  if (text === undefined) return usual;
  if (!/^[1-9][0-9]{0,14}$/.test(text)) throw new UsageError(`${option} is a whole number, not "${text}"`);
  return Number(text);
}

function wholeCredits(text: string | undefined): bigint {
  if (text === undefined) return wincPerCredit;
  const parts = /^([0-9]{1,12})(?:\.([0-9]{1,12}))?$/.exec(text);
  const winc = parts && BigInt(parts[1] ?? '0') * wincPerCredit + BigInt((parts[2] ?? '').padEnd(12, '0'));
  if (!winc) throw new UsageError(`--credits is how many, not "${text}"`);
  return winc;
}

function currencyOf(text = 'usd'): Currency {
  const currency = parseCurrency(text);
  if (currency === undefined)
    throw new UsageError(`--currency is one of ${currencies.join(', ')}, not "${text}"`);
  return currency;
}

/** As the card provider counts: yen whole, the others in hundredths. */
function minorUnits(text: string, currency: Currency): number {
  const { zeroDecimal } = currencyFacts[currency];
  const isAmount = zeroDecimal ? /^[1-9][0-9]{0,8}$/ : /^[1-9][0-9]{0,6}(?:\.[0-9]{2})?$/;
  if (!isAmount.test(text)) throw new UsageError(`--card is an amount such as 10, not "${text}"`);
  return Math.round(Number(text) * (zeroDecimal ? 1 : 100));
}
