/** The checks of the `exact` and `upto` schemes on EVM chains, for the versions of the protocol that have them. */
import { type FacilitatorRequest, x402Reasons } from '../../formats/x402/facilitator.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import {
  MalformedPayment,
  type PermitTerms,
  readPayment,
  UnknownPaymentVersion,
  type X402Payment,
} from '../../formats/x402/payment.ts';
import { noncePlace, upToContract } from '../../formats/x402/permit2.ts';
import { isPermitSignedByHolder } from '../../wallets/ethereum/permit2.ts';
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
  /** By whom permits must be carried out, which name it. */
  readonly address: string;
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
  if (read.scheme !== required.scheme || (required.scheme === 'upto') !== (read.permit !== undefined)) {
    return refuse(x402Reasons.scheme);
  }
  const network = context.networks.find((entry) =>
    read.version === 1 ? entry.name === read.network : entry.caip2 === read.network,
  );
  if (network === undefined || required.network !== read.network) return refuse(x402Reasons.network);
  if (!sameAddress(required.asset, network.asset)) return refuse(x402Reasons.requirements);
  if (required.extra.name !== network.tokenName || required.extra.version !== network.tokenVersion) {
    return refuse(x402Reasons.requirements);
  }
  if (read.permit !== undefined) {
    const reason = await permitRefusal(read, read.permit, network, request, context);
    return reason === undefined ? { ok: true, payment: read, network } : refuse(reason);
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

/** The token is one of those that trust Permit2 with everybody's balance: nobody has to approve it first. */
async function permitRefusal(
  { authorization, signature }: X402Payment,
  permit: PermitTerms,
  network: X402Network,
  request: FacilitatorRequest,
  { ledger, address, now: clock }: Facilitator,
): Promise<string | undefined> {
  const required = request.paymentRequirements;
  const { from, to, value, validAfter, validBefore, nonce } = authorization;
  if (!sameAddress(permit.spender, upToContract)) return x402Reasons.permitSpender;
  if (!sameAddress(to, required.payTo)) return x402Reasons.permitRecipient;
  if (!sameAddress(permit.facilitator, address)) return x402Reasons.permitFacilitator;
  const now = BigInt(Math.floor(clock() / 1000));
  if (validBefore < now + settlementBufferSeconds) return x402Reasons.permitDeadline;
  if (validAfter > now) return x402Reasons.permitValidAfter;
  if (!('amount' in required) || value !== BigInt(amountIn(required.amount))) return x402Reasons.permitAmount;
  if (!sameAddress(permit.token, network.asset)) return x402Reasons.permitToken;
  if (!isPermitSignedByHolder(authorization, permit, signature, network.chainId)) {
    return x402Reasons.permitSignature;
  }
  const { word, bit } = noncePlace(nonce);
  const used = await ledger.usedNonces(network.caip2, from, word);
  if (((used >> bit) & 1n) === 1n) return x402Reasons.permitNonceUsed;
  return (await ledger.balance(network.caip2, from)) < value ? x402Reasons.permitFunds : undefined;
}

/** -1 for what is no amount. */
const amountIn = (text: string): string => (/^[0-9]{1,78}$/.test(text) ? text : '-1');

/** What is to be taken of a permit, and the request to verify it by; undefined where it is more than it allows. */
export function permittedSettlement(
  request: FacilitatorRequest,
): { readonly amount: bigint; readonly whole: FacilitatorRequest } | undefined {
  const required = request.paymentRequirements;
  const payment = readRequest(request);
  if (typeof payment === 'string' || payment.permit === undefined || !('amount' in required))
    return undefined;
  const amount = BigInt(amountIn(required.amount));
  const { value } = payment.authorization;
  if (amount < 0n || amount > value) return undefined;
  return { amount, whole: { ...request, paymentRequirements: { ...required, amount: value.toString() } } };
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
