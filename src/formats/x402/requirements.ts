/**
 * What a server asks to be paid, in both versions of the protocol at once: version 1 reads the body of the 402,
 * version 2 the `PAYMENT-REQUIRED` header. The body is also the flat requirement of interface §2.
 */
import type { X402Network } from './networks.ts';

/** What is for sale and for how much. */
export interface X402Offer {
  /** Atomic units of the token (6 decimals). */
  readonly amount: bigint;
  /** Absolute address of what is paid for, with its query. */
  readonly resource: string;
  readonly description: string;
  readonly mimeType: string;
  readonly maxTimeoutSeconds: number;
  /** Who is paid. */
  readonly payTo: string;
  /** Where it can be paid, the preferred one first. */
  readonly networks: readonly X402Network[];
  /**
   * By the `upto` scheme: the amount is the most that is taken, and what is taken is known at the end. The facilitator's
   * address on each network, by CAIP-2 name.
   */
  readonly upTo?: ReadonlyMap<string, string>;
}

export type Scheme = 'exact' | 'upto';

interface Requirement extends Pick<X402Offer, 'payTo' | 'maxTimeoutSeconds'> {
  readonly scheme: Scheme;
  readonly network: string;
  readonly asset: string;
  readonly extra: {
    readonly name: string;
    readonly version: string;
    readonly assetTransferMethod?: string;
    readonly facilitatorAddress?: string;
  };
}

export interface RequirementV1 extends Requirement, Pick<X402Offer, 'resource' | 'description' | 'mimeType'> {
  readonly maxAmountRequired: string;
}

export interface RequirementV2 extends Requirement {
  readonly amount: string;
}

/**
 * Undefined where version 1 has no name for the chain: one unknown name makes its clients refuse the whole list. It has
 * no `upto` either.
 */
export function requirementV1(offer: X402Offer, network: X402Network): RequirementV1 | undefined {
  if (network.name === undefined || offer.upTo !== undefined) return undefined;
  return {
    scheme: 'exact',
    network: network.name,
    maxAmountRequired: offer.amount.toString(),
    resource: offer.resource,
    description: offer.description,
    mimeType: offer.mimeType,
    payTo: offer.payTo,
    maxTimeoutSeconds: offer.maxTimeoutSeconds,
    asset: network.asset,
    extra: { name: network.tokenName, version: network.tokenVersion },
  };
}

export function requirementV2(offer: X402Offer, network: X402Network): RequirementV2 {
  const facilitatorAddress = offer.upTo?.get(network.caip2);
  return {
    scheme: schemeOf(offer),
    network: network.caip2,
    amount: offer.amount.toString(),
    asset: network.asset,
    payTo: offer.payTo,
    maxTimeoutSeconds: offer.maxTimeoutSeconds,
    extra: {
      name: network.tokenName,
      version: network.tokenVersion,
      ...(facilitatorAddress !== undefined && { assetTransferMethod: 'permit2', facilitatorAddress }),
    },
  };
}

export const schemeOf = ({ upTo }: Pick<X402Offer, 'upTo'>): Scheme =>
  upTo === undefined ? 'exact' : 'upto';

export interface X402Challenge {
  readonly body: object;
  readonly headers: Readonly<Record<string, string>>;
}

/**
 * The whole 402: `error` is why it is answered, for example `X-PAYMENT header is required`. It comes first in the body:
 * some clients print the beginning of it to people.
 */
export function challenge(offer: X402Offer, error: string): X402Challenge {
  const accepts = offer.networks.flatMap((network) => requirementV1(offer, network) ?? []);
  const forV2 = {
    x402Version: 2,
    error,
    resource: { url: offer.resource, description: offer.description, mimeType: offer.mimeType },
    accepts: offer.networks.map((network) => requirementV2(offer, network)),
    extensions: {},
  };
  return {
    body: offer.upTo === undefined ? { error, ...accepts[0], x402Version: 1, accepts } : forV2,
    headers: {
      'payment-required': Buffer.from(JSON.stringify(forV2)).toString('base64'),
      'x-payment-required': 'x402-1',
    },
  };
}
