/**
 * What strangers may have this service do for nothing, per client network. Only routes that cost more than a read are
 * limited: each card quote opens a session at the card provider, a refused x402 payment has asked a chain or the
 * facilitator, a gift redeemed in vain has taken a turn of the ledger, the history or the list of somebody's names asks
 * a Solana node dozens of times, and where a name shows asks every gateway that is known. Whoever pays or redeems is not counted.
 */
import type { Config } from '../config/config.ts';
import type { ClientLimit } from '../kernel/http/limit-clients.ts';

export type PaymentLimitsConfig = Pick<Config, 'PAYMENT_RATE_LIMIT_PER_MINUTE' | 'PAYMENT_RATE_LIMIT_BURST'>;

/** By the names that routes of this surface and of names give in `config.clientLimit`. */
export function paymentLimits(config: PaymentLimitsConfig): Readonly<Record<string, ClientLimit>> {
  const pace = {
    burst: config.PAYMENT_RATE_LIMIT_BURST,
    perMinute: config.PAYMENT_RATE_LIMIT_PER_MINUTE,
  };
  return {
    'card-quote': {
      ...pace,
      refusal: 'Too many payment sessions were asked for from this network address',
    },
    'x402-payment': {
      ...pace,
      refusal: 'Too many payments from this network address were refused',
      counts: ({ headers }) =>
        headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined,
      failuresOnly: true,
    },
    'chain-reading': {
      ...pace,
      refusal: 'Too many names were read from the chain for this network address',
    },
    'gateway-asking': {
      ...pace,
      refusal: 'Too many names were looked for at gateways for this network address',
    },
    redemption: {
      ...pace,
      refusal: 'Too many gifts were asked for from this network address in vain',
      failuresOnly: true,
    },
  };
}
