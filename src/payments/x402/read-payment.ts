/** From the header of a request to a payment that may be settled, in the order of the protocol's checks. */
import type { IncomingHttpHeaders } from 'node:http';
import type { Credits } from '../../credits/credits.ts';
import { x402Reasons } from '../../formats/x402/facilitator.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import type { PermitTerms, X402Payment } from '../../formats/x402/payment.ts';
import { decodePayment, MalformedPayment, UnknownPaymentVersion } from '../../formats/x402/payment.ts';
import { upToContract } from '../../formats/x402/permit2.ts';
import { schemeOf } from '../../formats/x402/requirements.ts';
import { formsOfEthereumKey } from '../../wallets/address-forms.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import { permitDigest } from '../../wallets/ethereum/permit2.ts';
import { holderKey, transferDigest } from '../../wallets/ethereum/transfer-authorization.ts';
import type { AuthorizationChain } from './chain.ts';
import { X402Refused, X402SignatureInvalid, X402Unreadable } from './errors.ts';
import type { QuoteMemory } from './quote-memory.ts';
import type { SignedPayment, X402Quote } from './x402.ts';

export interface PaymentRules {
  /** Smallest amount that is ever taken, atomic. */
  readonly minimum: bigint;
  /** By how many hundredths of a percent the price may have risen since it was asked. */
  readonly toleranceBasisPoints: bigint;
  readonly quotes: Pick<QuoteMemory, 'wasAsked'>;
  /** How long an authorisation must still be valid, so that settling can succeed. */
  readonly settlementBufferSeconds: bigint;
  readonly chain: AuthorizationChain;
  /** Learns from the payer's key which addresses are the same wallet. */
  readonly credits: Pick<Credits, 'unite'>;
  /** Whether it was sent before: then its price and time were right when it was, and what it led to is the answer. */
  readonly isKnown: (payment: SignedPayment) => Promise<boolean>;
  /** Unix milliseconds. */
  readonly now: () => number;
}

/** `X-PAYMENT` or `PAYMENT-SIGNATURE`, whichever is there. */
export function paymentHeader(headers: IncomingHttpHeaders): string | undefined {
  const value = headers['x-payment'] ?? headers['payment-signature'];
  if (Array.isArray(value)) throw new X402Unreadable('more than one payment');
  return value === '' ? undefined : value;
}

export async function readSignedPayment(
  header: string,
  quote: X402Quote,
  rules: PaymentRules,
): Promise<SignedPayment> {
  const payment = decode(header);
  const network = checkParties(payment, quote);
  const payer = parseEthereumAddress(payment.authorization.from.toLowerCase());
  if (payer === undefined) throw new X402Unreadable('from is not an address');
  const signed: SignedPayment = { quote, network, payment, payer };
  const refusal = await refusalOf(payment, quote, rules);
  if (refusal !== undefined && !(await rules.isKnown(signed))) throw new X402Refused(refusal);
  if (!(await isSigned(payment, payer, network, rules))) {
    throw new X402SignatureInvalid('the payment is not signed by its payer');
  }
  return signed;
}

function decode(header: string): X402Payment {
  try {
    return decodePayment(header);
  } catch (error) {
    if (error instanceof UnknownPaymentVersion) throw new X402Refused(x402Reasons.version);
    if (error instanceof MalformedPayment) throw new X402Unreadable(error.message, { cause: error });
    throw error;
  }
}

function checkParties(payment: X402Payment, quote: X402Quote): X402Network {
  const { authorization, accepted, permit } = payment;
  const scheme = schemeOf(quote);
  if (payment.scheme !== scheme || (permit !== undefined) !== (scheme === 'upto')) {
    throw new X402Refused(x402Reasons.scheme);
  }
  const network = quote.networks.find((entry) =>
    payment.version === 1 ? entry.name === payment.network : entry.caip2 === payment.network,
  );
  if (network === undefined) throw new X402Refused(x402Reasons.network);
  if (!sameAddress(authorization.to, quote.payTo)) {
    throw new X402Refused(permit === undefined ? x402Reasons.recipient : x402Reasons.permitRecipient);
  }
  if (permit !== undefined) checkPermit(permit, network, quote);
  if (accepted !== undefined) {
    const isSame = sameAddress(accepted.asset, network.asset) && sameAddress(accepted.payTo, quote.payTo);
    if (!isSame || accepted.amount !== authorization.value.toString()) {
      throw new X402Refused(x402Reasons.requirements);
    }
  }
  return network;
}

/** Only the facilitator that we ask may carry it out, and only through the contract that keeps to the permit. */
function checkPermit(permit: PermitTerms, network: X402Network, quote: X402Quote): void {
  if (!sameAddress(permit.spender, upToContract)) throw new X402Refused(x402Reasons.permitSpender);
  if (!sameAddress(permit.token, network.asset)) throw new X402Refused(x402Reasons.permitToken);
  if (!sameAddress(permit.facilitator, quote.upTo?.get(network.caip2) ?? '')) {
    throw new X402Refused(x402Reasons.permitFacilitator);
  }
}

/** Why it is too little, too early or too late. */
async function refusalOf(
  { authorization, permit }: X402Payment,
  quote: X402Quote,
  rules: PaymentRules,
): Promise<string | undefined> {
  const { value, validAfter, validBefore } = authorization;
  const isPermit = permit !== undefined;
  if (value >= 10n ** 18n || !(await paysQuote(value, quote, rules))) {
    return isPermit ? x402Reasons.permitAmount : x402Reasons.value;
  }
  const now = BigInt(Math.floor(rules.now() / 1000));
  if (validAfter > now) return isPermit ? x402Reasons.permitValidAfter : x402Reasons.validAfter;
  if (validBefore < now + rules.settlementBufferSeconds) {
    return isPermit ? x402Reasons.permitDeadline : x402Reasons.validBefore;
  }
  return undefined;
}

/** What was asked a moment ago is enough after a small rise since; less was never asked for. */
async function paysQuote(value: bigint, quote: X402Quote, rules: PaymentRules): Promise<boolean> {
  if (value < rules.minimum) return false;
  if (value >= quote.amount) return true;
  const least = tolerated(quote.amount, rules.toleranceBasisPoints);
  return value >= least && (await rules.quotes.wasAsked(quote.product, value));
}

/** The least that is taken for a price that may have risen since it was asked. */
export const tolerated = (price: bigint, basisPoints: bigint): bigint =>
  (price * (10_000n - basisPoints) + 9_999n) / 10_000n;

async function isSigned(
  payment: X402Payment,
  payer: string,
  network: X402Network,
  rules: Pick<PaymentRules, 'chain' | 'credits'>,
): Promise<boolean> {
  const { authorization, permit, signature } = payment;
  const digest =
    permit === undefined
      ? transferDigest(authorization, network)
      : permitDigest(authorization, permit, network.chainId);
  const key = holderKey(digest, signature, authorization.from);
  if (key !== undefined) {
    await rules.credits.unite(formsOfEthereumKey(key));
    return true;
  }
  const { chain } = rules;
  if (!chain.knows(network)) return false;
  return chain.isSignedByContract(network, payer, digest, signature);
}

const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
