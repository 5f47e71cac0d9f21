/** The configured meter, with what it keeps running and what `/gw/info` says about it. */
import type { Config } from '../../config/config.ts';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import type { Request } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { GatewayContext } from '../chain/context.ts';
import { parseHost, splitLabel } from '../content/names/host.ts';
import { freeMeter, type Meter } from '../meter.ts';
import { Buckets } from './buckets.ts';
import { Clients } from './client.ts';
import { createMeterMetrics } from './metrics.ts';
import { PaidTokens } from './paid.ts';
import { EgressPayments, type EgressPaymentsOptions } from './payments.ts';
import { type EgressPrices, priceOf, tokenBytes } from './prices.ts';
import { SharedBuckets } from './shared.ts';
import { TokenMeter } from './token-meter.ts';

/** Who takes payments for bytes, and who is credited. */
export type EgressPayee = Pick<EgressPaymentsOptions, 'x402' | 'pricing' | 'wallet'>;

export interface MeterDeps extends Pick<GatewayContext, 'config' | 'log' | 'metrics'> {
  readonly sql: Sql;
  /** undefined: nothing can be paid. */
  readonly payee: EgressPayee | undefined;
  /** Other processes have the same database. */
  readonly isShared: boolean;
}

export interface MeterPart extends Part {
  readonly meter: Meter;
  /** Its part of `/gw/info`. */
  readonly info: object;
}

/** Where the limiter is off this is a part that does nothing, and every answer is free. */
export function createMeterPart({ config, log, metrics, sql, payee, isShared }: MeterDeps): MeterPart {
  if (!config.ENABLE_RATE_LIMITER) return { name: 'meter', meter: freeMeter, info: {} };
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
  const meterMetrics = createMeterMetrics(metrics, byClient, byResource);
  const paid = new PaidTokens(sql);
  const prices: EgressPrices = {
    perGigabyte: BigInt(config.EGRESS_USDC_PER_GB),
    least: BigInt(config.EGRESS_MIN_USDC),
    most: BigInt(config.EGRESS_MAX_USDC),
    multiplier: config.EGRESS_CAPACITY_MULTIPLIER,
  };
  const onPayment = (result: string) => meterMetrics.payments.inc({ result });
  const meter = new TokenMeter({
    clients: new Clients({
      proxies: config.TRUSTED_PROXIES,
      allowed: config.RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST,
    }),
    byClient,
    byResource,
    paid,
    metrics: meterMetrics,
    isExempt: exemptNames(config),
    payments: payee && new EgressPayments({ ...payee, prices, paid, onPayment }),
  });
  const shared = isShared ? new SharedBuckets(sql, [byClient, byResource], log) : undefined;
  return {
    name: 'meter',
    meter,
    info: {
      rateLimiter: {
        enabled: true,
        dataEgress: { buckets: { resource: bucketInfo(byResource), ip: bucketInfo(byClient) } },
      },
      ...(payee !== undefined && { x402: x402Info(config, prices) }),
    },
    jobs: shared === undefined ? [] : [shared],
  };
}

/** Whether a request is to the host of a name that is never charged. */
function exemptNames(config: Config): (request: Pick<Request, 'headers'>) => boolean {
  const names = new Set(config.RATE_LIMITER_ARNS_ALLOWLIST.map((name) => asciiLowerCase(name)));
  if (names.size === 0) return () => false;
  const rootHosts = config.ARNS_ROOT_HOST.map((host) => host.toLowerCase()).sort(
    (a, b) => b.length - a.length,
  );
  return ({ headers }) => {
    const host = parseHost(headers.host, rootHosts);
    return host.kind === 'name' && (names.has(host.label) || names.has(splitLabel(host.label).name));
  };
}

function bucketInfo({ rules }: Buckets): object {
  return {
    capacity: rules.capacity,
    refillRate: rules.refillPerSecond,
    capacityBytes: rules.capacity * tokenBytes,
    refillRateBytesPerSec: rules.refillPerSecond * tokenBytes,
  };
}

/** What clients that pay by themselves look for; where nothing was configured they learn it from the 402. */
function x402Info(config: Config, prices: EgressPrices): object {
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
