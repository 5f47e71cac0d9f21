/**
 * Topping up with x402 (interface §4.1): `GET /x402/top-up?type=bytes|credits&qty=N`. Without a payment it asks
 * for one, in versions 1 and 2 of the protocol at once; with one it settles it and credits the wallet.
 *
 * The protocol itself is in `payments/x402`, which the upload surface shares.
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import { noPayment, type PaymentProblem, paymentAnswer } from '../../formats/x402/answers.ts';
import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import { HttpError } from '../../kernel/errors.ts';
import { type App, originOf, type Reply, type Request } from '../../kernel/http/app.ts';
import { X402NotTaken } from '../../payments/x402/errors.ts';
import type { X402Payments, X402Receipt } from '../../payments/x402/x402.ts';
import { toText } from '../../pricing/decimal.ts';
import { type Pricing, WINC_PER_CREDIT, type Winc, winc } from '../../pricing/pricing.ts';
import { parseAddress } from '../../wallets/address.ts';
import type { Authenticator, RequestWallet } from '../auth/request-wallet.ts';
import { invalidAddressParameter, invalidQuantity, invalidSignature } from '../errors.ts';

export interface X402TopUpDeps {
  readonly x402: X402Payments;
  readonly credits: Pick<Credits, 'balance'>;
  readonly pricing: Pick<Pricing, 'quoteBytes'>;
  readonly auth: Authenticator;
  /** Wallets that nothing is sold to; none unless given. */
  readonly refuses?: ((address: string) => boolean) | undefined;
}

const Text = Type.Optional(Type.String({ maxLength: 200 }));
const Query = Type.Object({
  type: Type.String({ maxLength: 200, description: '`bytes` or `credits`' }),
  qty: Type.String({ maxLength: 200, description: 'how many, at least 1' }),
  address: Text,
});
const Headers = Type.Object({
  'x-payment': Type.Optional(Type.String({ description: 'x402 version 1 payment, base64 JSON' })),
  'payment-signature': Type.Optional(Type.String({ description: 'x402 version 2 payment, base64 JSON' })),
});
const Result = Type.Object({
  walletAddress: Type.String(),
  balance: Type.String(),
  creditedWinc: Type.String(),
  x402SettlementResponse: Type.Object({
    transaction: Type.String(),
    network: Type.String(),
    payTo: Type.String(),
  }),
});

export function x402TopUpRoute(scope: App, deps: X402TopUpDeps): void {
  scope.get(
    '/x402/top-up',
    {
      schema: {
        summary: 'Top up through the x402 protocol',
        querystring: Query,
        headers: Headers,
        response: { 200: Result },
      },
      config: { actsOnGet: true, clientLimit: 'x402-payment', invalid: 'Invalid quantity parameter' },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { type, qty, address } = request.query;
      const wanted = parseWanted(type, qty);
      if (wanted === undefined) throw invalidQuantity();
      const wallet = await creditedWallet(request, reply, address, deps);
      const receipt = await pay(request, wanted, wallet, deps);
      const balance = await deps.credits.balance(receipt.walletAddress);
      reply.headers(settlementHeaders(receipt.settlement));
      return {
        walletAddress: receipt.walletAddress,
        balance: spendable(balance?.winc ?? 0n).toString(),
        creditedWinc: receipt.creditedWinc.toString(),
        x402SettlementResponse: {
          transaction: receipt.settlement.transaction,
          network: receipt.settlement.network,
          payTo: receipt.payTo,
        },
      };
    },
  );
}

/** The signer of the request, else the wallet it names, else (undefined) whoever pays. */
async function creditedWallet(
  request: Request,
  reply: Reply,
  address: string | undefined,
  { auth, refuses }: X402TopUpDeps,
): Promise<RequestWallet | undefined> {
  if (request.headers['x-signature'] !== undefined) {
    const signer = await auth.walletOf(request, reply);
    if (signer === 'invalid' || signer === undefined) throw invalidSignature();
    return signer;
  }
  if (address === undefined || address === '') return undefined;
  const parsed = parseAddress(address);
  if (parsed === undefined || refuses?.(parsed.address)) throw invalidAddressParameter();
  return { address: parsed.address, addressType: parsed.kind };
}

async function pay(
  request: Request,
  wanted: Wanted,
  wallet: RequestWallet | undefined,
  { x402, pricing }: X402TopUpDeps,
): Promise<X402Receipt> {
  const quote = await x402.offer({
    product: `top-up ${wanted.kind} ${wanted.kind === 'bytes' ? wanted.bytes : wanted.winc}`,
    winc: await wincWanted(wanted, pricing),
    resource: `${originOf(request)}${request.url}`,
    description: describe(wanted),
    mimeType: 'application/json',
  });
  const refusal = (problem: PaymentProblem, cause?: unknown): HttpError => {
    const { status, body, ...options } = paymentAnswer(problem, (reason) => x402.challenge(quote, reason));
    return new HttpError(status, body, { ...options, cause });
  };
  try {
    const payment = await x402.read(request.headers, quote);
    if (payment === undefined) throw refusal(noPayment);
    await x402.verify(payment);
    return await x402.settle(payment, { purpose: 'top-up', ...(wallet && { wallet }) });
  } catch (error) {
    throw error instanceof X402NotTaken ? refusal(error.problem, error) : error;
  }
}

function describe(wanted: Wanted): string {
  if (wanted.kind === 'bytes') return `Storage credits for ${wanted.bytes} bytes`;
  return `${toText({ digits: wanted.winc, scale: 12 }).replace(/\.?0+$/, '')} storage credits`;
}

const spendable = (amount: bigint) => (amount > 0n ? amount : 0n);

/** How much storage, or how many credits, the payer wants. */
type Wanted =
  | { readonly kind: 'bytes'; readonly bytes: number }
  | { readonly kind: 'credits'; readonly winc: Winc };

/** Undefined for what is no quantity: `1e3`, `0`, `-1`, more than twelve places, more than there can be. */
export function parseWanted(type: string | undefined, qty: string | undefined): Wanted | undefined {
  if (qty === undefined) return undefined;
  if (type === 'bytes') {
    if (!/^[1-9][0-9]{0,15}$/.test(qty)) return undefined;
    const bytes = Number(qty);
    return Number.isSafeInteger(bytes) ? { kind: 'bytes', bytes } : undefined;
  }
  if (type !== 'credits') return undefined;
  const match = /^([1-9][0-9]{0,11})(?:\.([0-9]{1,12}))?$/.exec(qty);
  if (match === null) return undefined;
  const [, whole = '', part = ''] = match;
  return { kind: 'credits', winc: winc(BigInt(whole) * WINC_PER_CREDIT + BigInt(part.padEnd(12, '0'))) };
}

/** So many bytes are one upload of them: what it would be charged, the charge per item included. */
async function wincWanted(wanted: Wanted, pricing: Pick<Pricing, 'quoteBytes'>): Promise<Winc> {
  if (wanted.kind === 'credits') return wanted.winc;
  const quote = await pricing.quoteBytes(wanted.bytes);
  return quote.winc > 0n ? quote.winc : winc(1n);
}
