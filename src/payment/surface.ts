/**
 * The payment service ({payment_url}/v1, interface §4.1): prices, balances, sharing and the doors through
 * which money enters.
 *
 *   routes/   one file per route or small family, named as the path reads
 *   auth/     whose request it is: signature headers or a token issued after them
 *   chain/    reported chain transactions; card/ and x402/ are the other doors
 *   gifts/    credits bought for an email address
 *
 * It may call credits, pricing, wallets, formats, storage and kernel. The names surface is mounted on the same
 * server: its routes are handed in.
 */
import type { Config } from '../config/config.ts';
import type { Credits } from '../credits/credits.ts';
import type { RequestSignatures } from '../credits/signatures/request-signatures.ts';
import { createJob } from '../kernel/background/job.ts';
import type { Routes } from '../kernel/http/app.ts';
import { createErrorMapper } from '../kernel/http/error-mapper.ts';
import { limitClients } from '../kernel/http/limit-clients.ts';
import { createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import type { Logger } from '../kernel/log.ts';
import { Metrics } from '../kernel/metrics.ts';
import type { Surface } from '../kernel/part.ts';
import { acceptedTokens, type ChainWorld } from '../payments/chain/accepted-tokens.ts';
import type { Pricing } from '../pricing/pricing.ts';
import type { Sql } from '../storage/sql/sql.ts';
import { normalizeAddress } from '../wallets/address.ts';
import { paymentCors } from './answers.ts';
import type { Authenticator } from './auth/request-wallet.ts';
import { createChainDoor } from './chain/part.ts';
import { paymentLimits } from './client-limits.ts';
import { defaultCountries } from './countries.ts';
import type { PaymentDoor } from './doors.ts';
import type { RedeemableGifts } from './gifts.ts';
import { paymentMetrics } from './metrics.ts';
import { type PaymentRoutesDeps, registerPaymentRoutes, registerRootRoutes } from './register.ts';
import { translated } from './route-failures.ts';

export type { ChainWorld } from '../payments/chain/accepted-tokens.ts';
export { createAuthenticator } from './auth/request-wallet.ts';
export { createGifts } from './gifts.ts';
export { paymentMigrations } from './migrations.ts';
export { registerPaymentRoutes } from './register.ts';

export interface PaymentDeps {
  readonly log: Logger;
  /** The `ledger` database. */
  readonly sql: Sql;
  readonly credits: Credits;
  readonly pricing: Pricing;
  readonly auth: Authenticator;
  /** Watches every route of the server, those of names too. */
  readonly signatures: RequestSignatures;
  readonly gifts: RedeemableGifts;
  readonly chains: ChainWorld;
  readonly version: string;
  /** Public addresses of gateways, the preferred first. */
  readonly gateways: readonly string[];
  /** Ways to pay beside chain transactions. */
  readonly doors?: readonly PaymentDoor[];
  /** Routes of other surfaces on the same server, mounted under `/v1`: names. */
  readonly routes?: readonly Routes[];
  /** Bytes a wallet may still upload for nothing; without it what the configuration of uploads says. */
  readonly freeBytes?: (address: string) => Promise<number | null>;
  readonly metrics?: Metrics;
}

const BODY_LIMIT = 1024 * 1024;
const EXPIRE_APPROVALS_EVERY_MS = 60_000;

export function createPaymentSurface(config: Config, deps: PaymentDeps): Surface {
  const { log, credits, pricing } = deps;
  const metrics = deps.metrics ?? new Metrics();
  const counters = paymentMetrics(metrics, pricing);
  const chain = createChainDoor(config, {
    sql: deps.sql,
    log,
    credits,
    pricing,
    tokens: acceptedTokens(config, deps.chains),
    metrics: counters,
  });
  const doors = [chain, ...(deps.doors ?? [])];
  const jobs = [
    createJob({
      name: 'expire approvals',
      everyMs: EXPIRE_APPROVALS_EVERY_MS,
      log,
      run: () => credits.expireApprovals(),
    }),
    createJob({
      name: 'check the ledger',
      everyMs: config.LEDGER_CHECK_INTERVAL_MS,
      log,
      async run() {
        const { drift, ok, problems } = await credits.selfCheck();
        counters.ledgerDrift.set(Number(drift));
        if (!ok) log.fatal({ drift: drift.toString(), problems }, 'the ledger does not add up');
      },
    }),
  ];
  const server = createServer(config, deps, metrics, {
    ...deps,
    metrics,
    doors,
    countries: config.SUPPORTED_COUNTRIES.length > 0 ? config.SUPPORTED_COUNTRIES : defaultCountries,
    freeBytes: deps.freeBytes ?? (async (address) => configuredFreeBytes(config, address)),
    info: () => ({
      version: deps.version,
      addresses: chain.payments.addresses,
      gateway: deps.gateways[0] ?? '',
      gateways: deps.gateways,
      freeUploadLimitBytes: config.FREE_UPLOAD_LIMIT,
      boundSignatures: deps.signatures.requireBound ? 'required' : 'optional',
    }),
  });
  return {
    name: 'payment',
    get url() {
      return server.url;
    },
    async start() {
      for (const door of doors) await door.start();
      for (const job of jobs) job.start();
      await server.listen();
    },
    drain: (timeoutMs) => server.drain(timeoutMs),
    async stop() {
      await server.close();
      await Promise.all([...jobs.map((job) => job.stop()), ...doors.map((door) => door.stop())]);
    },
  };
}

/** Small items of everyone, or all items of listed wallets, are free without a limit per wallet. */
function configuredFreeBytes(config: Config, address: string): null | 0 {
  const listed = config.ALLOW_LISTED_ADDRESSES.some((one) => normalizeAddress(one) === address);
  return config.FREE_UPLOAD_LIMIT > 0 || listed ? null : 0;
}

function createServer(
  config: Config,
  deps: PaymentDeps,
  metrics: Metrics,
  routes: PaymentRoutesDeps,
): HttpServer {
  const { signatures } = deps;
  const mapError = createErrorMapper((_status, message) => message);
  const server = createHttpServer({
    name: 'payment',
    title: 'Payment and names',
    description: 'Storage credits: prices, top-ups, balances, sharing; names bought with them.',
    version: deps.version,
    host: config.HOST,
    port: config.PAYMENT_PORT,
    portVariable: 'PAYMENT_PORT',
    log: deps.log,
    metrics,
    bodyLimit: BODY_LIMIT,
    trustedProxies: config.TRUSTED_PROXIES,
    cors: paymentCors,
    admit: signatures.admit,
    refusal: (error, request, reply) => {
      signatures.spendShown(request).then(
        () => mapError(error, request, reply),
        (failure: unknown) => mapError(translated(failure, {}), request, reply),
      );
    },
  });
  signatures.watch(server.app);
  limitClients(server.app, paymentLimits(config), config.TRUSTED_PROXY_COUNT);
  server.mount((app) => registerPaymentRoutes(app, routes), ['/v1']);
  for (const more of deps.routes ?? []) server.mount(more, ['/v1']);
  server.mount((app) => registerRootRoutes(app, routes));
  return server;
}
