/** `X402Payments` put together: prices, the facilitator, the chain, and the rows that make it crash-safe. */

import type { Config } from '../../config/config.ts';
import type { Credits, Winc } from '../../credits/credits.ts';
import { type FacilitatorRequest, type SettleAnswer, x402Reasons } from '../../formats/x402/facilitator.ts';
import { findX402Network, type X402Network } from '../../formats/x402/networks.ts';
import { challenge, requirementV1, requirementV2, type X402Offer } from '../../formats/x402/requirements.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { winc } from '../../pricing/pricing.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { AuthorizationChain } from './chain.ts';
import { writeClaim } from './claims.ts';
import { FacilitatorUnavailable, X402Refused, X402SettlementFailed } from './errors.ts';
import { FacilitatorClient } from './facilitator-client.ts';
import { x402Payee } from './payee.ts';
import { type PaymentRow, paymentId } from './payment-rows.ts';
import { QuoteMemory } from './quote-memory.ts';
import { type PaymentRules, paymentHeader, readSignedPayment, tolerated } from './read-payment.ts';
import { Settlements } from './settlements.ts';
import { unknownTransfers } from './unknown-transfers.ts';
import { UpToSupport } from './up-to-support.ts';
import type { SettleRequest, SignedPayment, X402OfferRequest, X402Payments, X402Quote } from './x402.ts';

export type X402Config = Pick<
  Config,
  | 'X402_FACILITATOR_TOKEN'
  | 'X402_NETWORKS'
  | 'X402_RPC_URLS'
  | 'X402_PAYMENT_TIMEOUT_MS'
  | 'X402_MINIMUM_PAYMENT_USDC'
  | 'X402_PRICE_TOLERANCE'
  | 'X402_SETTLEMENT_BUFFER_SECONDS'
  | 'X402_VERIFY_TIMEOUT_MS'
  | 'X402_SETTLE_TIMEOUT_MS'
> & {
  /** Both are set by now: from the environment, or by the local facilitator. */
  readonly X402_FACILITATOR_URL: string;
  readonly X402_PAYMENT_ADDRESS: string;
};

export interface X402Deps {
  /** The `ledger` database, with `x402Migrations`. */
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pick<Pricing, 'usdcFor' | 'wincForUsdc'>;
  readonly log: Logger;
  /** Told how each settlement ended, for metrics. */
  onSettlement?(network: string, result: 'credited' | 'failed' | 'unclear' | 'unknown'): void;
  /** How long a question to a chain may take. */
  readonly chainTimeoutMs?: number;
  /** Unix milliseconds. */
  readonly now?: () => number;
}

export function createX402Payments(config: X402Config, deps: X402Deps): X402Payments {
  const { pricing, now = Date.now } = deps;
  const payTo = x402Payee(config.X402_PAYMENT_ADDRESS);
  const networks = readNetworks(config.X402_NETWORKS);
  const chain = new AuthorizationChain(config.X402_RPC_URLS, deps.chainTimeoutMs);
  for (const network of networks.filter((known) => !chain.knows(known))) {
    deps.log.warn(
      { network: network.name ?? network.caip2 },
      'X402_RPC_URLS has no address for a network: what becomes of an interrupted payment there a person must find out',
    );
  }
  const facilitator = new FacilitatorClient({
    url: config.X402_FACILITATOR_URL,
    token: config.X402_FACILITATOR_TOKEN,
    verifyTimeoutMs: config.X402_VERIFY_TIMEOUT_MS,
    settleTimeoutMs: config.X402_SETTLE_TIMEOUT_MS,
  });
  const minimum = BigInt(config.X402_MINIMUM_PAYMENT_USDC);
  const quotes = new QuoteMemory(config.X402_PAYMENT_TIMEOUT_MS, now);
  const rules: PaymentRules = {
    minimum,
    toleranceBasisPoints: BigInt(Math.round(config.X402_PRICE_TOLERANCE * 10_000)),
    quotes,
    settlementBufferSeconds: BigInt(config.X402_SETTLEMENT_BUFFER_SECONDS),
    chain,
    credits: deps.credits,
    isKnown: (payment) => settlements.isKnown(payment),
    now,
  };
  const onSettlement = deps.onSettlement ?? (() => {});
  const settlements = new Settlements({ ...deps, facilitator, chain, payTo, now, onSettlement });

  const upTo = new UpToSupport(facilitator, deps.log, now);

  async function priceOf(wanted: Winc): Promise<bigint> {
    const price = await pricing.usdcFor(wanted);
    return price > minimum ? price : minimum;
  }

  async function offer({ timeoutSeconds, ...asked }: X402OfferRequest): Promise<X402Quote> {
    const maxTimeoutSeconds = timeoutSeconds ?? Math.floor(config.X402_PAYMENT_TIMEOUT_MS / 1000);
    return { ...asked, amount: await priceOf(asked.winc), maxTimeoutSeconds, payTo, networks };
  }

  /** What is taken of a payment: all of an exact one, of a permit what it costs in the end, and never more than that. */
  async function takenOf(signed: SignedPayment, price: Winc | undefined): Promise<Taken> {
    const { authorization, permit } = signed.payment;
    const { value: most } = authorization;
    const { quote } = signed;
    if (permit === undefined) return { value: most, pays: most >= quote.amount ? quote.winc : undefined };
    if (price === undefined) throw new Error('a permit is taken for a price');
    const needed = await priceOf(price);
    if (needed <= most) return { value: needed, pays: price };
    // The price has risen since the permit was signed, by as much as is borne here.
    const isBorne = tolerated(needed, rules.toleranceBasisPoints) <= most;
    // What was taken when it was sent first, its row says.
    if (isBorne || (await settlements.isKnown(signed))) return { value: most, pays: undefined };
    throw new X402Refused(x402Reasons.permitAmount);
  }

  return {
    offer,

    async offerUpTo(asked) {
      const facilitators = await upTo.facilitators();
      const able = networks.filter(({ caip2 }) => facilitators.has(caip2));
      if (able.length === 0) return undefined;
      return { ...(await offer(asked)), networks: able, upTo: facilitators };
    },

    challenge(quote, reason) {
      quotes.remember(quote.product, quote.amount);
      return challenge(quote, reason);
    },

    async read(headers, quote) {
      const header = paymentHeader(headers);
      return header === undefined ? undefined : readSignedPayment(header, quote, rules);
    },

    isKnown: (payment) => settlements.isKnown(payment),

    async verify(payment) {
      if (await settlements.isKnown(payment)) return;
      const request = facilitatorRequest(payment);
      const answer = await facilitator.verify(request).catch((error: unknown) => {
        if (!(error instanceof FacilitatorUnavailable)) throw error;
        throw new X402SettlementFailed(unreachable(payment), error);
      });
      if (answer.isValid) return;
      // The same payment may have been settled since: then what that led to is the answer, not a 402, which would ask
      // the payer to pay once more.
      if (await settlements.isKnown(payment)) return;
      throw new X402Refused(answer.invalidReason ?? x402Reasons.unexpectedVerify);
    },

    async settle(payment, request) {
      const taken = await takenOf(payment, request.reserve);
      const bought = await wincFor(taken, pricing);
      return settlements.settle(rowOf(payment, request, { value: taken.value, winc: bought }, now()));
    },

    recall: (payment, request) => {
      const { value } = payment.payment.authorization;
      return settlements.recall(rowOf(payment, request, { value, winc: winc(0n) }, now()));
    },

    outside: unknownTransfers({ ...deps, chain, networks, payTo, now }),
    start: () => settlements.start(),
    reports: () => settlements.reports(),
    async stop() {
      await settlements.stop();
      await Promise.all([facilitator.close(), chain.close()]);
    },
  };
}

function readNetworks(names: readonly string[]): readonly X402Network[] {
  const networks = names.map((name) => {
    const network = findX402Network(name);
    if (network === undefined) throw new StartupError(`X402_NETWORKS names "${name}", which is not known`);
    return network;
  });
  if (networks.length === 0) throw new StartupError('X402_NETWORKS must name a network');
  return networks;
}

/** What is taken of a payment. */
interface Taken {
  readonly value: bigint;
  /** What was offered for it, where it pays that in full. */
  readonly pays: Winc | undefined;
}

/** What was paid buys what it is worth now, and at least what was offered for it. */
async function wincFor({ value, pays }: Taken, pricing: X402Deps['pricing']): Promise<Winc> {
  const worth = await pricing.wincForUsdc(value);
  return pays !== undefined && worth < pays ? pays : winc(worth);
}

/**
 * The facilitator is told the amount that was signed: `exact` means equal, and the price may have moved. Of a permit it
 * is told what is to be taken.
 */
function facilitatorRequest(
  { payment, quote, network }: SignedPayment,
  amount = payment.authorization.value,
): FacilitatorRequest {
  const offer: X402Offer = { ...quote, amount };
  const requirement = payment.version === 1 ? requirementV1(offer, network) : requirementV2(offer, network);
  if (requirement === undefined) throw new Error(`version 1 has no name for ${network.caip2}`);
  return { x402Version: payment.version, paymentPayload: payment.payload, paymentRequirements: requirement };
}

function rowOf(
  payment: SignedPayment,
  request: SettleRequest,
  { value, winc: bought }: Pick<PaymentRow, 'value' | 'winc'>,
  now: number,
): PaymentRow {
  const { authorization } = payment.payment;
  const id = paymentId(payment);
  const { reserve, claim } = request;
  return {
    id,
    version: payment.payment.version,
    network: payment.network.caip2,
    payer: payment.payer,
    nonce: authorization.nonce,
    value,
    validBefore: authorization.validBefore,
    request: facilitatorRequest(payment, value),
    purpose: request.purpose,
    reference: request.reference,
    address: request.wallet?.address ?? payment.payer,
    addressType: request.wallet?.addressType ?? 'ethereum',
    winc: bought,
    reserved: reserve === undefined || reserve < bought ? reserve : bought,
    purchase: undefined,
    item: undefined,
    claim: claim && writeClaim(id, claim),
    state: 'open',
    settlement: undefined,
    leasedUntil: 0,
    attempts: 0,
    createdAt: now,
  };
}

function unreachable(payment: SignedPayment): SettleAnswer {
  return {
    success: false,
    errorReason: x402Reasons.unexpectedVerify,
    transaction: '',
    network: payment.payment.network,
    payer: payment.payer,
  };
}
