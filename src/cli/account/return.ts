/** `turnpike account return`: what of a wallet's payments can be returned, and returning it to where it came from. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { readProcessConfig } from '../../config/config.ts';
import { StartupError } from '../../kernel/errors.ts';
import { inCredits } from '../amounts.ts';
import { printJson, printResult, readArguments, UsageError } from '../command.ts';
import { findKey, type PersonKey } from '../person-key.ts';
import { serviceUrl } from '../service-url.ts';
import { WalletClient } from '../wallet-client.ts';

export const returnUsage = `return: what of the wallet's payments can be returned; with one of them, by the id it is listed with or of its transaction, what
is left of it goes back to where it was paid from.

  --winc <amount>      only so much of it
  --dry-run            say what would go back, and where to; change nothing
  --no-wait            do not wait until it has gone
  --timeout <seconds>  to wait (default 600)`;

const textOrNull = Type.Union([Type.String(), Type.Null()]);
const Winc = Type.String({ pattern: '^[0-9]{1,40}$' });
const Payment = Type.Object({
  payment: Type.String(),
  kind: Type.String(),
  token: Type.String(),
  to: Type.String(),
  transactionId: textOrNull,
  date: Type.String(),
  until: Type.String(),
  wincCredited: Winc,
  paid: Winc,
  unspentWinc: Winc,
  amount: Winc,
  byHand: Type.Boolean(),
  refusal: textOrNull,
});
const Return = Type.Object({
  id: Type.String(),
  payment: Type.String(),
  token: Type.String(),
  to: Type.String(),
  winc: Winc,
  amount: Winc,
  state: Type.String(),
  transaction: textOrNull,
  reason: textOrNull,
  date: Type.String(),
});
const Returns = Type.Object({
  windowDays: Type.Number(),
  feePercent: Type.Number(),
  payments: Type.Array(Payment),
  returns: Type.Array(Return),
});
type Payment = Static<typeof Payment>;
type Return = Static<typeof Return>;
type Returns = Static<typeof Returns>;

/** What scripts tell apart: it waits for the operator or the chain, or it came to nothing. */
const exit = { done: 0, notReturned: 1, waits: 2 };
const path = '/v1/account/returns';

export async function returnPayment(args: string[]): Promise<number> {
  const { values, positionals } = readArguments({
    args,
    options: {
      wallet: { type: 'string' },
      'payment-url': { type: 'string' },
      winc: { type: 'string' },
      'dry-run': { type: 'boolean' },
      'no-wait': { type: 'boolean' },
      timeout: { type: 'string' },
      json: { type: 'boolean' },
    },
    allowPositionals: true,
  });
  const [payment, ...rest] = positionals;
  if (rest.length > 0) throw new UsageError('too many arguments');
  if (values.winc !== undefined && !/^[1-9][0-9]{0,38}$/.test(values.winc)) {
    throw new UsageError('--winc is a whole number above 0');
  }
  const { timeout = '600', json = false } = values;
  if (!/^[0-9]{1,6}$/.test(timeout)) throw new UsageError('--timeout is a number of seconds');
  const config = readProcessConfig();
  const client = new ReturnsClient(
    serviceUrl(config, 'payment', values['payment-url']),
    await findKey({ file: values.wallet, inEnvironment: config.TURNPIKE_WALLET }),
  );
  const known = await client.list();
  if (payment === undefined) return showAll(known, json);
  if (known.windowDays === 0) throw new StartupError('this service does not return payments');
  const found = known.payments.find((one) => one.payment === payment || one.transactionId === payment);
  if (found === undefined) throw new StartupError(`no payment ${payment} of this wallet can be returned`);
  if (found.refusal !== null) throw new StartupError(`it cannot be returned: ${found.refusal}`);
  if (values['dry-run'] === true) return showPlan(found, values.winc, json);
  const made = await client.make(found.payment, values.winc);
  const isWaiting = values['no-wait'] !== true && !found.byHand;
  const ended = isWaiting ? await client.untilEnded(made, Number(timeout) * 1_000) : made;
  printResult(json, ended, describe(ended));
  if (ended.state === 'failed' || ended.state === 'refused') return exit.notReturned;
  return ended.state === 'confirmed' || !isWaiting ? exit.done : exit.waits;
}

class ReturnsClient {
  readonly #url: string;
  readonly #service: WalletClient;

  constructor(url: string, key: PersonKey) {
    this.#url = url;
    this.#service = new WalletClient(url, key);
  }

  async list(): Promise<Returns> {
    return this.#call('GET', Returns);
  }

  async make(payment: string, amount: string | undefined): Promise<Return> {
    return this.#call('POST', Return, { payment, ...(amount !== undefined && { amount }) });
  }

  /** Asks until it has gone, came to nothing or waits for the operator, or the time is over. */
  async untilEnded(made: Return, timeoutMs: number): Promise<Return> {
    const deadline = performance.now() + timeoutMs;
    for (let current = made; ; ) {
      const isUnderWay = current.state === 'due' || current.state === 'sent';
      if (!isUnderWay || performance.now() > deadline) return current;
      await sleep(1_000);
      const { returns } = await this.list();
      current = returns.find(({ id }) => id === made.id) ?? current;
    }
  }

  async #call<Schema extends TSchema>(
    method: 'GET' | 'POST',
    schema: Schema,
    body?: object,
  ): Promise<Static<Schema>> {
    const read = await this.#service.call(method, path, body);
    if (!Compile(schema).Check(read)) throw new StartupError(`${this.#url} answered nonsense`);
    return read;
  }
}

function showAll({ windowDays, feePercent, payments, returns }: Returns, json: boolean): number {
  if (json) {
    printJson({ windowDays, feePercent, payments, returns });
    return exit.done;
  }
  if (windowDays === 0) console.log('this service does not return payments');
  else {
    const fee = feePercent === 0 ? '' : `, less ${feePercent} %`;
    console.log(`What is left of a payment can be returned within ${windowDays} days${fee}.`);
  }
  for (const one of payments) {
    const left = `${inCredits(BigInt(one.unspentWinc))} of ${inCredits(BigInt(one.wincCredited))} credits left`;
    const what = one.refusal ?? `${one.amount} ${unitOf(one)} would go to ${one.to}, until ${one.until}`;
    console.log(`${one.date}  ${one.payment}\n  ${left}: ${what}`);
  }
  if (windowDays > 0 && payments.length === 0) console.log('no payment is young enough');
  for (const made of returns) console.log(`${made.date}  ${describe(made)}`);
  return exit.done;
}

function showPlan(payment: Payment, part: string | undefined, json: boolean): number {
  const unspent = BigInt(payment.unspentWinc);
  const winc = part === undefined ? unspent : BigInt(part);
  if (winc > unspent) throw new StartupError(`only ${unspent} winc of this payment are left`);
  // The service rounds down once more for a part: this is what it comes to.
  const amount = unspent === 0n ? 0n : (BigInt(payment.amount) * winc) / unspent;
  const plan = { payment: payment.payment, winc: winc.toString(), amount: amount.toString(), to: payment.to };
  const who = payment.byHand ? 'the operator sends it by hand' : 'it is sent at once';
  printResult(
    json,
    { ...plan, token: payment.token, byHand: payment.byHand },
    `${inCredits(winc)} credits would be taken, and ${amount} ${unitOf(payment)} would go to ${payment.to}; ${who}`,
  );
  return exit.done;
}

function describe({ id, winc, amount, state, transaction, reason, ...made }: Return): string {
  const what = `${amount} ${unitOf(made)} to ${made.to} for ${inCredits(BigInt(winc))} credits`;
  const how = [stateWords[state] ?? state, reason, transaction].filter((part) => part !== null).join(', ');
  return `return ${id}: ${what}: ${how}`;
}

const stateWords: Readonly<Record<string, string>> = {
  due: 'about to be sent',
  sent: 'sent, not final yet',
  by_hand: 'the operator will send it',
  confirmed: 'sent back',
  failed: 'failed, the credits are back',
  refused: 'refused by the operator, the credits are back',
};

/** What amounts count: the smallest unit of a token, or of the currency of a card. */
const unitOf = ({ token, to }: { readonly token: string; readonly to: string }): string =>
  to === 'card' ? `of the smallest unit of ${token}` : `base units of ${token}`;
