/** Puts the parts of the upload surface together and gives them a life. */
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import type { Config } from '../config/config.ts';
import { createHttpServer, type HttpServer } from '../kernel/http/server.ts';
import { Metrics } from '../kernel/metrics.ts';
import type { Surface } from '../kernel/part.ts';
import { ArweaveNodes } from '../outside/arweave/nodes.ts';
import { DiskRoom } from '../storage/disk-room.ts';
import { normalizeAddress } from '../wallets/address.ts';
import { Announcer } from './announcer/announcer.ts';
import { Bundler } from './bundler/bundler.ts';
import { PayloadHashes } from './hashing/payload-hash.ts';
import type { UploadDeps } from './index.ts';
import { ChainHead } from './intake/chain-head.ts';
import { FreeTier } from './intake/free-tier.ts';
import { Intake } from './intake/intake.ts';
import { Receipts } from './intake/receipts.ts';
import { UploadMetrics } from './metrics.ts';
import { Finalizer } from './multipart/finalizer.ts';
import { PartBudget } from './multipart/part-budget.ts';
import { chunksRoutes } from './routes/chunks.ts';
import { dataItemRoutes } from './routes/data-item.ts';
import { infoRoutes } from './routes/info.ts';
import { operatorRoutes } from './routes/operator.ts';
import { priceRoutes } from './routes/price.ts';
import { nameReasons } from './routes/reason-phrase.ts';
import { txRoutes } from './routes/tx.ts';
import { txStatusRoutes } from './routes/tx-status.ts';
import {
  payableUploads,
  payForSession,
  type X402UploadDeps,
  x402UploadRoutes,
} from './routes/x402-upload.ts';
import { UploadPayments } from './x402/upload-payment.ts';

export function createUploadSurface(config: Config, deps: UploadDeps): Surface {
  const { sql, blobs, log, wallet, receiptKey, gateway, now = Date.now } = deps;
  const metrics = new Metrics();
  const nodes = new ArweaveNodes(deps.arweaveNodeUrls);
  const head = new ChainHead(nodes, log, now);
  const gatewayHost = new URL(gateway.publicUrl).host;
  const announcer =
    gateway.admin === undefined ? undefined : new Announcer({ sql, log, now, gateway: gateway.admin });
  const receipts = new Receipts({
    key: receiptKey,
    sql,
    caches: () => ({
      dataCaches: [gatewayHost],
      fastFinalityIndexes: announcer?.healthy === true ? [gatewayHost] : [],
    }),
  });
  const freeTier = new FreeTier(config);
  const hashes = new PayloadHashes(
    config.WORKER_THREADS === 0 ? availableParallelism() : config.WORKER_THREADS,
  );
  const disk = new DiskRoom({
    dataFolder: config.DATA_DIR,
    bodyFolder: config.BLOB_STORE_URL === undefined ? join(config.DATA_DIR, 'blobs') : undefined,
    minFreeBytes: config.MIN_FREE_DISK_BYTES,
    log,
    freeBytes: deps.freeBytes,
  });
  const uploadMetrics = new UploadMetrics(metrics, {
    gatewayListens: () => announcer?.healthy ?? false,
    disk,
  });
  const intake = new Intake({
    ...deps,
    disk,
    metrics: uploadMetrics,
    hashes,
    receipts,
    head,
    freeTier,
    now,
    blocked: new Set(config.BLOCK_LISTED_ADDRESSES.map((address) => normalizeAddress(address) ?? address)),
    maxItemBytes: config.MAX_DATA_ITEM_SIZE,
    approvalRules: {
      // As `/info` of this surface and of payment name the service.
      services: [wallet.address, ...(config.ARWEAVE_ADDRESS === undefined ? [] : [config.ARWEAVE_ADDRESS])],
      requireBound: config.REQUIRE_BOUND_SIGNATURES,
    },
    announce: announcer === undefined ? undefined : () => announcer.wake(),
  });
  const lifeMs = config.MULTIPART_EXPIRY_SECS * 1_000;
  const finalizer = new Finalizer({
    sql,
    credits: deps.credits,
    blobs,
    intake,
    hashes,
    log,
    now,
    keepMs: 2 * config.BUNDLE_POLL_MS,
    lifeMs,
  });
  const bundler = new Bundler({
    ...deps,
    metrics: uploadMetrics,
    nodes,
    now,
    limits: {
      maxItems: config.BUNDLE_MAX_ITEMS,
      targetBytes: config.BUNDLE_TARGET_BYTES,
      maxWaitMs: config.BUNDLE_MAX_WAIT_MS,
    },
    confirmations: config.BUNDLE_CONFIRMATIONS,
    chunkConcurrency: config.BUNDLE_CHUNK_CONCURRENCY,
    retentionMs: config.UPLOAD_RETENTION_SECS * 1_000,
    pollMs: config.BUNDLE_POLL_MS,
  });

  const paid: X402UploadDeps | undefined =
    deps.x402 === undefined
      ? undefined
      : {
          sql,
          blobs,
          disk,
          intake,
          hashes,
          dataKey: deps.dataKey,
          payments: new UploadPayments(deps.x402, deps.pricing),
          maxItemBytes: config.MAX_DATA_ITEM_SIZE,
          trustedProxies: config.TRUSTED_PROXY_COUNT,
        };

  const server: HttpServer = createHttpServer({
    name: 'upload',
    title: 'Upload service',
    description: 'Takes signed data items, has them paid in credits, and brings them to the chain.',
    host: config.HOST,
    port: config.UPLOAD_PORT,
    portVariable: 'UPLOAD_PORT',
    log,
    metrics,
    trustedProxies: config.TRUSTED_PROXIES,
    // Uploads take as long as they take; a client that stops sending is cut off by the route.
    requestTimeoutMs: 0,
    cors: {
      methods: ['GET', 'HEAD', 'POST', 'OPTIONS'],
      exposeHeaders: [
        'x-payment-response',
        'x-payment-required',
        'payment-required',
        'payment-response',
        'retry-after',
      ],
    },
  });
  server.mount(
    (app) => {
      nameReasons(app);
      priceRoutes(app, deps.pricing);
      infoRoutes(app, {
        gateway: new URL(gateway.publicUrl).origin,
        addresses: { ...deps.addresses, arweave: wallet.address },
        receiptSigner: { address: receiptKey.address, public: receiptKey.modulus.toString('base64url') },
        freeUploadLimitBytes: config.FREE_UPLOAD_LIMIT,
        maxDataItemBytes: config.MAX_DATA_ITEM_SIZE,
        x402: deps.x402 !== undefined,
      });
      txRoutes(app, {
        intake,
        trustedProxies: config.TRUSTED_PROXY_COUNT,
        ...(paid === undefined ? {} : { payable: payableUploads(paid) }),
      });
      if (paid !== undefined) x402UploadRoutes(app, paid);
      chunksRoutes(app, {
        sql,
        blobs,
        disk,
        budget: new PartBudget(config.MULTIPART_MAX_BYTES_PER_IP ?? 4 * config.MAX_DATA_ITEM_SIZE),
        finalizer,
        log,
        now,
        maxItemBytes: config.MAX_DATA_ITEM_SIZE,
        trustedProxies: config.TRUSTED_PROXY_COUNT,
        maxOpenPerAddress: config.MULTIPART_MAX_OPEN_PER_IP,
        lifeMs,
        ...(paid === undefined
          ? {}
          : { payForSession: payForSession(paid, config.MULTIPART_MAX_OPEN_PER_IP) }),
      });
      txStatusRoutes(app, sql);
      dataItemRoutes(app, sql, blobs);
      operatorRoutes(app, metrics);
    },
    ['/v1', ''],
  );

  return {
    name: 'upload',
    get url() {
      return server.url;
    },
    async start() {
      await head.start();
      await disk.start();
      await server.listen();
      bundler.start();
      finalizer.start();
      receipts.start();
      announcer?.start();
    },
    drain: (timeoutMs) => server.drain(timeoutMs),
    async stop() {
      await server.close();
      await bundler.stop();
      await finalizer.stop();
      await receipts.stop();
      await hashes.close();
      await announcer?.stop();
      head.stop();
      await disk.stop();
      await nodes.close();
    },
  };
}
