/**
 * Topping up with x402 (interface §4.1): `GET /x402/top-up?type=bytes|credits&qty=N`. Without a payment it asks
 * for one, in versions 1 and 2 of the protocol at once; with one it settles it and credits the wallet.
 *
 * The protocol itself is in `payments/x402`, which the upload surface shares.
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import { invalidPayment, paymentAnswer, paymentRequired } from '../../payments/x402/refusals.ts';
import type { X402Payments, X402Receipt } from '../../payments/x402/x402.ts';
import type { X402Deps } from '../../payments/x402/x402-payments.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { parseAddress } from '../../wallets/address.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import type { RequestWallet, X402TopUps } from '../doors.ts';
import { invalidAddress, invalidQuantity } from '../x402/errors.ts';
import { parseWanted, type Wanted, wincWanted } from '../x402/quantity.ts';

export interface X402TopUpDeps {
  readonly x402: X402Payments;
  readonly credits: Pick<Credits, 'balance'>;
  readonly pricing: Pick<Pricing, 'quoteBytes'>;
  readonly auth: Authenticator;
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

export function createX402TopUps(deps: X402TopUpDeps): X402TopUps {
  const { x402 } = deps;
  return {
    name: 'x402',
    register(scope) {
      x402Route(scope, deps);
    },
    start: () => x402.start(),
    stop: () => x402.stop(),
  };
}

/** Counts how settlements end. */
export function x402Metrics(metrics: Metrics): NonNullable<X402Deps['onSettlement']> {
  const settled = metrics.counter('x402_settlement_total', 'x402 settlements by how they ended', [
    'network',
    'result',
  ]);
  return (network, result) => settled.inc({ network, result });
}

function x402Route(scope: App, deps: X402TopUpDeps): void {
  scope.get(
    '/x402/top-up',
    {
      schema: {
        summary: 'Top up through the x402 protocol',
        querystring: Query,
        headers: Headers,
        response: { 200: Result },
      },
      config: { clientLimit: 'x402-payment', invalid: 'Invalid quantity parameter' },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { type, qty, address } = request.query;
      const wanted = parseWanted(type, qty);
      if (wanted === undefined) throw invalidQuantity();
      const wallet = await creditedWallet(request, reply, address, deps.auth);
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
  auth: Authenticator,
): Promise<RequestWallet | undefined> {
  if (request.headers['x-signature'] !== undefined) {
    const signer = await auth.walletOf(request, reply);
    if (signer === 'invalid' || signer === undefined) throw invalidPayment();
    return signer;
  }
  if (address === undefined || address === '') return undefined;
  const parsed = parseAddress(address);
  if (parsed === undefined) throw invalidAddress();
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
    resource: `${request.protocol}://${request.host}${request.url}`,
    description: describe(wanted),
    mimeType: 'application/json',
  });
  try {
    const payment = await x402.read(request.headers, quote);
    if (payment === undefined) throw paymentRequired(x402, quote);
    await x402.verify(payment);
    return await x402.settle(payment, { purpose: 'top-up', ...(wallet && { wallet }) });
  } catch (error) {
    throw paymentAnswer(error, x402, quote);
  }
}

function describe(wanted: Wanted): string {
  if (wanted.kind === 'bytes') return `Storage credits for ${wanted.bytes} bytes`;
  const whole = wanted.winc / 1_000_000_000_000n;
  const part = (wanted.winc % 1_000_000_000_000n).toString().padStart(12, '0').replace(/0+$/, '');
  return `${whole}${part === '' ? '' : `.${part}`} storage credits`;
}

const spendable = (amount: bigint) => (amount > 0n ? amount : 0n);
