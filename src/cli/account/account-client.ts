/** Asks a payment service about an account: what everybody may know, and with its key what only its owner may. */
import { type Static, type TSchema, Type } from 'typebox';
import { Compile } from 'typebox/compile';
import { tryParseJson } from '../../formats/json.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { PersonKey } from '../person-key.ts';
import { ServiceClient } from '../service-client.ts';
import { serviceAddress, signedHeaders } from '../signed-request.ts';

const winc = Type.String({ pattern: '^-?[0-9]{1,40}$' });
const approval = Type.Object({
  approvedAddress: Type.String(),
  payingAddress: Type.String(),
  approvedWincAmount: winc,
  usedWincAmount: winc,
  expirationDate: Type.Optional(Type.String()),
});
const account = Type.Object({
  address: Type.String(),
  otherForms: Type.Array(Type.String()),
  known: Type.Boolean(),
  winc,
  owedWinc: winc,
  effectiveBalance: winc,
  givenApprovals: Type.Array(approval),
  receivedApprovals: Type.Array(approval),
  bytesRemaining: Type.Union([Type.Integer(), Type.Null()]),
  topUp: Type.Union([Type.String(), Type.Null()]),
});
const payments = Type.Object({
  payments: Type.Array(
    Type.Object({
      type: Type.String(),
      date: Type.String(),
      wincCredited: winc,
      tokenType: Type.Optional(Type.String()),
      tokenQuantity: Type.Optional(Type.String()),
      transactionId: Type.Optional(Type.String()),
      paymentAmount: Type.Optional(Type.String()),
      currencyType: Type.Optional(Type.String()),
      receiptId: Type.Optional(Type.String()),
    }),
  ),
  hasMore: Type.Boolean(),
});
const spending = Type.Object({
  days: Type.Array(Type.Object({ date: Type.String(), winc, uploads: winc, names: winc, byOthers: winc })),
  complete: Type.Boolean(),
});
const holds = Type.Object({
  holds: Type.Array(Type.Object({ id: Type.String(), reason: Type.String(), winc, since: Type.String() })),
  count: Type.Integer(),
});
const payment = Type.Object({
  id: Type.String(),
  state: Type.String(),
  explanation: Type.String(),
  kind: Type.Optional(Type.String()),
  winc: Type.Optional(winc),
  amount: Type.Optional(Type.String()),
  currency: Type.Optional(Type.String()),
  sender: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  address: Type.Optional(Type.Union([Type.String(), Type.Null()])),
});
const info = Type.Object({
  addresses: Type.Record(Type.String(), Type.String()),
  freeUploadLimitBytes: Type.Optional(Type.Number()),
});
const session = Type.Object({
  topUpQuote: Type.Object({ topUpQuoteId: Type.String(), winstonCreditAmount: winc }),
  paymentSession: Type.Object({ url: Type.Union([Type.String(), Type.Null()]) }),
});

export type Account = Static<typeof account>;
export type Payments = Static<typeof payments>;
export type DailySpending = Static<typeof spending>;
export type Holds = Static<typeof holds>;
export type PaymentById = Static<typeof payment>;

export class AccountClient {
  readonly #service: ServiceClient;

  constructor(url: string) {
    this.#service = new ServiceClient('payment service', url, 60_000);
  }

  account(address: string): Promise<Account> {
    return this.#get(`/account?address=${encodeURIComponent(address)}`, account);
  }

  async price(bytes: number): Promise<bigint> {
    const answer = await this.#get(`/price/bytes/${bytes}`, Type.Object({ winc }));
    return BigInt(answer.winc);
  }

  /** What so many base units of a token are worth; undefined where that is not known now. */
  async tokenWorth(token: string, quantity: bigint): Promise<bigint | undefined> {
    const { status, text } = await this.#service.call(`/v1/price/${token}/${quantity}`);
    const read: unknown = tryParseJson(text);
    return status === 200 && Compile(Type.Object({ winc })).Check(read) ? BigInt(read.winc) : undefined;
  }

  info(): Promise<Static<typeof info>> {
    return this.#get('/info', info);
  }

  payments(key: PersonKey): Promise<Payments> {
    return this.#getSigned('/account/payments?limit=10', payments, key);
  }

  spending(key: PersonKey, days: number): Promise<DailySpending> {
    return this.#getSigned(`/account/spending?days=${days}`, spending, key);
  }

  /** Below what balance the wallet is told that it runs dry; 0 is never. */
  async notice(key: PersonKey): Promise<bigint> {
    return BigInt((await this.#getSigned('/account/notice', Type.Object({ winc }), key)).winc);
  }

  holds(key: PersonKey): Promise<Holds> {
    return this.#getSigned('/account/holds', holds, key);
  }

  /** By chain transaction, x402 settlement, card quote or receipt. */
  payment(id: string, token: string | undefined, key: PersonKey | undefined): Promise<PaymentById> {
    const path = `/account/payments/${encodeURIComponent(id)}${token === undefined ? '' : `?token=${token}`}`;
    return key === undefined
      ? this.#get(path, payment, {}, [200, 404])
      : this.#getSigned(path, payment, key, [200, 404]);
  }

  /** A page at the card provider. `amount`: minor units of the currency. */
  checkout(address: string, currency: string, amount: number): Promise<Static<typeof session>> {
    return this.#get(`/top-up/checkout-session/${address}/${currency}/${amount}`, session);
  }

  async #getSigned<Schema extends TSchema>(
    path: string,
    schema: Schema,
    key: PersonKey,
    statuses?: readonly number[],
  ): Promise<Static<Schema>> {
    const service = serviceAddress(await this.info(), this.#service.url);
    const headers = await signedHeaders(key, { service, method: 'GET', path: `/v1${path}` });
    return this.#get(path, schema, headers, statuses);
  }

  async #get<Schema extends TSchema>(
    path: string,
    schema: Schema,
    headers: Record<string, string> = {},
    statuses: readonly number[] = [200],
  ): Promise<Static<Schema>> {
    const { status, text } = await this.#service.call(`/v1${path}`, { headers });
    const read: unknown = tryParseJson(text) ?? text;
    if (!statuses.includes(status)) throw new StartupError(String(read).slice(0, 1_000));
    if (!Compile(schema).Check(read)) throw new StartupError(`${this.#service.url} answered nonsense`);
    return read;
  }
}
