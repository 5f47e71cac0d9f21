/**
 * What of the outside world the surfaces use, and whether it is configured. From this follows which parts of the local
 * network are started, and what a start in another world lacks.
 */
import type { Config } from '../../config/config.ts';

export type OutsideName = 'arweave' | 'solana' | 'card' | 'x402';

interface Outside {
  isUsed(config: Config, surfaces: readonly string[]): boolean;
  isConfigured(config: Config): boolean;
}

const startsOneOf = (surfaces: readonly string[], ...names: readonly string[]): boolean =>
  names.some((name) => surfaces.includes(name));

/** Readers of the gateway may pay for more bytes. */
const sellsReading = (config: Config, surfaces: readonly string[]): boolean =>
  surfaces.includes('gateway') && config.ENABLE_RATE_LIMITER && config.EGRESS_PAYMENTS;

/** Whether a surface that is started takes money for something, and so needs prices. */
export function sellsSomething(config: Config, surfaces: readonly string[]): boolean {
  return startsOneOf(surfaces, 'payment', 'upload') || sellsReading(config, surfaces);
}

export const outside: Readonly<Record<OutsideName, Outside>> = {
  arweave: {
    // The router reads from gateways and from nothing else.
    isUsed: (_config, surfaces) => startsOneOf(surfaces, 'gateway', 'payment', 'upload'),
    isConfigured: (config) => config.ARWEAVE_NODE_URLS.length > 0,
  },
  solana: {
    isUsed: (config, surfaces) => config.NAMES_ENABLED && startsOneOf(surfaces, 'gateway', 'payment'),
    isConfigured: (config) => config.SOLANA_RPC_URL.length > 0,
  },
  card: {
    isUsed: (config, surfaces) => config.CARD_PAYMENTS_ENABLED && surfaces.includes('payment'),
    isConfigured: (config) => config.STRIPE_SECRET_KEY !== undefined,
  },
  x402: {
    isUsed: (config, surfaces) =>
      config.X402_ENABLED && (startsOneOf(surfaces, 'payment', 'upload') || sellsReading(config, surfaces)),
    isConfigured: (config) => config.X402_FACILITATOR_URL !== undefined,
  },
};

/** Whether the part of the local network is to be started for these surfaces. */
export function standsIn(name: OutsideName, config: Config, surfaces: readonly string[]): boolean {
  const part = outside[name];
  return config.WORLD === 'local' && part.isUsed(config, surfaces) && !part.isConfigured(config);
}
