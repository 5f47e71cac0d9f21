/** The checks of the `exact` scheme on EVM chains, for both versions of the protocol. */
import { type FacilitatorRequest, x402Reasons } from '../../formats/x402/facilitator.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import {
  MalformedPayment,
  readPayment,
  UnknownPaymentVersion,
  type X402Payment,
} from '../../formats/x402/payment.ts';
import { isSignedByHolder } from '../../wallets/ethereum/transfer-authorization.ts';
import type { TokenLedger } from './token-ledger.ts';

const settlementBufferSeconds = 6n;

export type Verdict =
  | { readonly ok: true; readonly payment: X402Payment; readonly network: X402Network }
  | { readonly ok: false; readonly reason: string; readonly payer: string | undefined };

/** What the facilitator stands on. */
export interface Facilitator {
  readonly networks: readonly X402Network[];
  readonly ledger: TokenLedger;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export async function verify(request: FacilitatorRequest, context: Facilitator): Promise<Verdict> {
  const read = readRequest(request);
  if (typeof read === 'string') return { ok: false, reason: read, payer: undefined };
  const { authorization } = read;
  const refuse = (reason: string): Verdict => ({ ok: false, reason, payer: authorization.from });

  if (read.version !== request.x402Version) return refuse(x402Reasons.version);
  const required = request.paymentRequirements;
  if (read.scheme !== 'exact' || required.scheme !== 'exact') return refuse(x402Reasons.scheme);
  const network = context.networks.find((entry) =>
    read.version === 1 ? entry.name === read.network : entry.caip2 === read.network,
  );
  if (network === undefined || required.network !== read.network) return refuse(x402Reasons.network);
  if (!sameAddress(required.asset, network.asset)) return refuse(x402Reasons.requirements);
  if (required.extra.name !== network.tokenName || required.extra.version !== network.tokenVersion) {
    return refuse(x402Reasons.requirements);
  }
  if (!isSignedByHolder(authorization, read.signature, network)) return refuse(x402Reasons.signature);
  if (!sameAddress(authorization.to, required.payTo)) return refuse(x402Reasons.recipient);
  const now = BigInt(Math.floor(context.now() / 1000));
  if (authorization.validBefore < now + settlementBufferSeconds) return refuse(x402Reasons.validBefore);
  if (authorization.validAfter > now) return refuse(x402Reasons.validAfter);
  if (!meetsAmount(read, request)) return refuse(x402Reasons.value);
  if (
    (await context.ledger.transferOf(network.caip2, authorization.from, authorization.nonce)) !== undefined
  ) {
    return refuse(x402Reasons.nonceUsed);
  }
  if ((await context.ledger.balance(network.caip2, authorization.from)) < authorization.value) {
    return refuse(x402Reasons.funds);
  }
  return { ok: true, payment: read, network };
}

function readRequest(request: FacilitatorRequest): X402Payment | string {
  try {
    return readPayment(request.paymentPayload);
  } catch (error) {
    if (error instanceof UnknownPaymentVersion) return x402Reasons.version;
    if (error instanceof MalformedPayment) return 'invalid_payload';
    throw error;
  }
}

/** Version 1 asks for at least the amount, version 2 for exactly it. */
function meetsAmount(payment: X402Payment, request: FacilitatorRequest): boolean {
  const required = request.paymentRequirements;
  const amount = 'amount' in required ? required.amount : required.maxAmountRequired;
  if (!/^[0-9]{1,78}$/.test(amount)) return false;
  const { value } = payment.authorization;
  return payment.version === 1 ? value >= BigInt(amount) : value === BigInt(amount);
}

const sameAddress = (a: string, b: string) => a.toLowerCase() === b.toLowerCase();
