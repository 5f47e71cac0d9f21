/** The upload surface on a free port for tests: real database, blobs and ledger, a price of 3 winc a byte. */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { request } from 'undici';
import { type Config, readConfig } from '../config/config.ts';
import { pricing as variables } from '../config/variables/pricing.ts';
import { type Credits, winc } from '../credits/credits.ts';
import { createCredits } from '../credits/ledger/ledger.ts';
import { creditsMigrations } from '../credits/migrations.ts';
import { memberOf } from '../formats/json.ts';
import { createLogger } from '../kernel/log.ts';
import type { Surface } from '../kernel/part.ts';
import { x402Migrations } from '../payments/x402/migrations.ts';
import type { Pricing } from '../pricing/pricing.ts';
import { staticRates } from '../pricing/rates/table.ts';
import { createPricing } from '../pricing/service.ts';
import type { BlobStore } from '../storage/blobs/blobs.ts';
import { openBlobStore } from '../storage/blobs/open.ts';
import { openDatabase } from '../storage/sql/open.ts';
import type { Sql } from '../storage/sql/sql.ts';
import type { AddressKind } from '../wallets/address.ts';
import { testArweaveKey } from '../wallets/testing/keys.ts';
import { uploadMigrations } from './migrations.ts';
import { createUploadSurface, type UploadDeps } from './surface.ts';

export const pricePerByte = 3n;
export const testAdminKey = 'k'.repeat(30);

export interface TestUpload {
  readonly url: string;
  readonly config: Config;
  readonly sql: Sql;
  readonly blobs: BlobStore;
  readonly credits: Credits;
  readonly folder: string;
  clock: number;
  give(address: string, kind: AddressKind, amount: bigint): Promise<void>;
  balance(address: string): Promise<bigint>;
  post(path: string, body: Uint8Array, headers?: Record<string, string>): Promise<TestAnswer>;
  get(path: string, headers?: Record<string, string>): Promise<TestAnswer>;
  /** Rows of every table that an accepted item touches. */
  counts(): Promise<Record<string, number>>;
  close(): Promise<void>;
}

export interface TestAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly bytes: Buffer;
  /** Of a JSON body; a bare string is one too. */
  readonly body: Readonly<Record<string, unknown>>;
  /** A member of the body by its dotted path. */
  at(path: string): unknown;
}

/** All that the database of a test needs. */
export const testMigrations = [...creditsMigrations, ...x402Migrations, ...uploadMigrations];

/** Real prices, adjustments and all: one winc for a byte. */
export function byteForWinc({ sql, credits }: Pick<UploadDeps, 'sql' | 'credits'>): Pricing {
  return createPricing({
    sql,
    rates: staticRates(variables.STATIC_RATES.fallback),
    network: { fetch: async () => 10_737_418_240n },
    hasPaid: credits.hasPaid,
    ratesFreshMs: 60_000,
    ratesUsableMs: 3_600_000,
    networkFreshMs: 900_000,
    networkUsableMs: 3_600_000,
    catalogueFreshMs: 0,
    usdPerItem: '0',
    fees: [],
    tokensWithoutFees: [],
  });
}

/** A folder that is given is kept, a database that is given stays open. */
export async function startTestUpload(
  environment: Record<string, string> = {},
  deps: Partial<UploadDeps> | ((ledger: Pick<UploadDeps, 'sql' | 'credits'>) => Partial<UploadDeps>) = {},
  given: { readonly folder?: string; readonly sql?: Sql } = {},
): Promise<TestUpload> {
  const folder = given.folder ?? mkdtempSync(join(tmpdir(), 'turnpike-upload-'));
  const config = readConfig({ UPLOAD_PORT: '0', DATA_DIR: folder, ...environment });
  const sql =
    given.sql ??
    (await openDatabase({
      databaseUrl: undefined,
      dataDir: folder,
      name: 'ledger',
      migrations: testMigrations,
    }));
  const blobs = await openBlobStore({ blobStoreUrl: config.BLOB_STORE_URL, dataDir: folder });
  const credits = createCredits({ sql });
  const node = await fakeNode();
  const time = { clock: 1_700_000_000_000 };
  const surface: Surface = createUploadSurface(config, {
    log: createLogger({ level: 'silent', format: 'json', name: 'upload' }),
    sql,
    blobs,
    credits,
    pricing: flatPricing(),
    wallet: testArweaveKey,
    receiptKey: testArweaveKey,
    dataKey: testArweaveKey,
    addresses: { ethereum: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A' },
    arweaveNodeUrls: [`http://127.0.0.1:${(node.address() as AddressInfo).port}`],
    gateway: { publicUrl: 'http://gateway.test' },
    version: '1',
    adminKey: testAdminKey,
    now: () => time.clock,
    ...(typeof deps === 'function' ? deps({ sql, credits }) : deps),
  });
  await surface.start();
  const upload: Omit<TestUpload, 'clock'> = {
    url: surface.url,
    config,
    sql,
    blobs,
    credits,
    folder,
    async give(address, kind, amount) {
      await credits.credit({
        address,
        addressType: kind,
        amount: winc(amount),
        reason: 'payment',
        id: `gift ${address} ${amount}`,
      });
    },
    balance: async (address) => (await credits.balance(address))?.winc ?? 0n,
    post: (path, body, headers = {}) => call(`${surface.url}${path}`, 'POST', headers, body),
    get: (path, headers = {}) => call(`${surface.url}${path}`, 'GET', headers),
    async counts() {
      const tables = [
        'upload_items',
        'upload_heads',
        'upload_blobs',
        'credits_spendings',
        'credits_approvals',
      ];
      const counts: Record<string, number> = {};
      for (const table of tables) {
        counts[table] = (await sql.get<{ n: number }>(`SELECT COUNT(*) AS n FROM ${table}`))?.n ?? 0;
      }
      return counts;
    },
    async close() {
      await surface.drain(1_000);
      await surface.stop();
      if (given.sql === undefined) await sql.close();
      await blobs.close();
      await new Promise((done) => node.close(done));
      if (given.folder === undefined) rmSync(folder, { recursive: true, force: true });
    },
  };
  return Object.assign(time, upload);
}

/** Prices that a test can work out: 3 winc a byte, nothing else. */
function flatPricing(): Pricing {
  const unused = () => Promise.reject(new Error('not asked by the upload surface'));
  return {
    async quoteBytes(bytes) {
      const amount = winc(BigInt(bytes) * pricePerByte);
      return { winc: amount, networkWinc: amount, surchargeWinc: winc(0n), adjustments: [] };
    },
    knownBytesQuote: () => undefined,
    quoteFiat: unused,
    quoteToken: unused,
    quotePurchase: unused,
    fiatOf: unused,
    usdcFor: unused,
    wincForUsdc: unused,
    gibibyteRates: unused,
    limits: unused,
    rates: unused,
    promoUses: { holdIn: unused, useIn: unused, releaseIn: unused },
    oracleAges: () => ({ rates: 0, network: 0 }),
    problems: async () => [],
  };
}

/** A node that knows its height and nothing else. */
function fakeNode(): Promise<Server> {
  const server = createServer((request, response) => {
    response.statusCode = request.url === '/height' ? 200 : 404;
    response.end('1500000');
  });
  return new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(server)));
}

async function call(
  url: string,
  method: 'GET' | 'POST',
  headers: Record<string, string>,
  body?: Uint8Array,
): Promise<TestAnswer> {
  const answer = await request(url, { method, headers, ...(body === undefined ? {} : { body }) });
  const bytes = Buffer.from(await answer.body.arrayBuffer());
  const isJson = String(answer.headers['content-type']).includes('json') && bytes.length > 0;
  const parsed = isJson ? JSON.parse(bytes.toString()) : {};
  return {
    status: answer.statusCode,
    headers: answer.headers,
    bytes,
    body: parsed,
    at: (path) => path.split('.').reduce<unknown>((value, name) => memberOf(value, name), parsed),
  };
}
