/** The configured meter, with what it keeps running and what `/gw/info` tells about it. */
import type { AddressType } from '../../credits/credits.ts';
import type { X402Payments } from '../../payments/x402/x402.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import { parseHost, splitLabel } from '../content/names/host.ts';
import type { CreatePart, GatewayContext, GatewayPart } from '../context.ts';
import { Buckets } from './buckets.ts';
import { Clients } from './client.ts';
import { createMeterMetrics } from './metrics.ts';
import { PaidTokens } from './paid.ts';
import { EgressPayments } from './payments.ts';
import { type EgressPrices, priceOf, tokenBytes } from './prices.ts';
import { SharedBuckets } from './shared.ts';
import { TokenMeter } from './token-meter.ts';

export interface MeterDeps {
  /** Needed for payments; asked for only where they are switched on. */
  readonly payments?: () => Promise<
    | {
        readonly x402: X402Payments;
        readonly pricing: Pick<Pricing, 'wincForUsdc'>;
        readonly wallet: { readonly address: string; readonly addressType: AddressType };
      }
    | undefined
  >;
}

/** Where the limiter is off this is a part that does nothing, and every answer is free. */
export function createMeter(deps: MeterDeps = {}): CreatePart {
  return (context) => meterPart(context, deps);
}

function meterPart(context: GatewayContext, deps: MeterDeps): GatewayPart {
  const { config, index, log, info } = context;
  if (!config.ENABLE_RATE_LIMITER) return { name: 'meter' };
  const byClient = new Buckets({
    capacity: config.RATE_LIMITER_IP_TOKENS_PER_BUCKET,
    refillPerSecond: config.RATE_LIMITER_IP_REFILL_PER_SEC,
    max: config.RATE_LIMITER_MAX_BUCKETS,
  });
  const byResource = new Buckets({
    capacity: config.RATE_LIMITER_RESOURCE_TOKENS_PER_BUCKET,
    refillPerSecond: config.RATE_LIMITER_RESOURCE_REFILL_PER_SEC,
    max: config.RATE_LIMITER_MAX_BUCKETS,
  });
  const metrics = createMeterMetrics(context.metrics, byClient, byResource);
  const paid = new PaidTokens(index.sql);
  const names = new Set(config.RATE_LIMITER_ARNS_ALLOWLIST.map((name) => name.toLowerCase()));
  const rootHosts = config.ARNS_ROOT_HOST.map((host) => host.toLowerCase()).sort(
    (a, b) => b.length - a.length,
  );
  const shared =
    index.sql.engine === 'postgres' ? new SharedBuckets(index.sql, [byClient, byResource], log) : undefined;
  const parts = {
    clients: new Clients({
      proxies: config.TRUSTED_PROXIES,
      allowed: config.RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST,
    }),
    byClient,
    byResource,
    paid,
    metrics,
    isExempt: (request: { readonly headers: { readonly host?: string | undefined } }) => {
      if (names.size === 0) return false;
      const host = parseHost(request.headers.host, rootHosts);
      return host.kind === 'name' && (names.has(host.label) || names.has(splitLabel(host.label).name));
    },
  };
  context.meter = new TokenMeter({ ...parts, payments: undefined });
  const bucketInfo = ({ rules }: Buckets) => ({
    capacity: rules.capacity,
    refillRate: rules.refillPerSecond,
    capacityBytes: rules.capacity * tokenBytes,
    refillRateBytesPerSec: rules.refillPerSecond * tokenBytes,
  });
  info.rateLimiter = {
    enabled: true,
    dataEgress: { buckets: { resource: bucketInfo(byResource), ip: bucketInfo(byClient) } },
  };
  return {
    name: 'meter',
    async start() {
      shared?.start();
      const payments = config.EGRESS_PAYMENTS ? await deps.payments?.() : undefined;
      if (payments === undefined) return;
      const prices: EgressPrices = {
        perGigabyte: BigInt(config.EGRESS_USDC_PER_GB),
        least: BigInt(config.EGRESS_MIN_USDC),
        most: BigInt(config.EGRESS_MAX_USDC),
        multiplier: config.EGRESS_CAPACITY_MULTIPLIER,
      };
      context.meter = new TokenMeter({
        ...parts,
        payments: new EgressPayments({
          ...payments,
          prices,
          paid,
          onPayment: (result) => metrics.payments.inc({ result }),
        }),
      });
      info.x402 = x402Info(config, prices);
    },
    stop: async () => shared?.stop(),
  };
}

/** What clients that pay by themselves look for; where nothing was configured they learn it from the 402. */
function x402Info(config: GatewayContext['config'], prices: EgressPrices): object {
  const dollars = (amount: bigint): string => (Number(amount) / 1_000_000).toFixed(6);
  const cost = (bytes: number): string => dollars(priceOf(bytes, prices));
  return {
    enabled: true,
    network: config.X402_NETWORKS[0],
    walletAddress: config.X402_PAYMENT_ADDRESS,
    facilitatorUrl: config.X402_FACILITATOR_URL && publicUrl(config.X402_FACILITATOR_URL),
    dataEgress: {
      pricing: {
        perBytePrice: (Number(prices.perGigabyte) / 1e15).toFixed(13),
        minPrice: dollars(prices.least),
        maxPrice: dollars(prices.most),
        currency: 'USDC',
        exampleCosts: { '1KB': cost(1024), '1MB': cost(1024 ** 2), '1GB': cost(1024 ** 3) },
      },
      rateLimiterCapacityMultiplier: prices.multiplier,
    },
  };
}

/** Without what in it may be a secret. */
function publicUrl(text: string): string {
  const { origin, pathname } = new URL(text);
  return `${origin}${pathname.replace(/\/$/, '')}`;
}
