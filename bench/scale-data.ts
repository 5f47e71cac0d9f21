/**
 * Databases with as many items as a measurement of growth asks for, written in bulk. In the index each item has four
 * tags, an owner and a bundle, and its content is in the cache; in the ledger there are as many wallets with money, items
 * that were paid for, and spendings.
 */
import { createHash } from 'node:crypto';
import pg from 'pg';
import { openLedgerDatabase } from '../src/cli/ledger-database.ts';
import { readConfig } from '../src/config/config.ts';
import { winc } from '../src/credits/credits.ts';
import { createCredits } from '../src/credits/ledger/ledger.ts';
import { buildManifest, manifestContentType } from '../src/formats/manifest/manifest.ts';
import { insertBlock } from '../src/gateway/chain-index/blocks.ts';
import { DATA_ITEM, minedPos, tieOf } from '../src/gateway/chain-index/order.ts';
import { postingColumns } from '../src/gateway/chain-index/posting-changes.ts';
import { recordColumns, recordRow } from '../src/gateway/chain-index/records.ts';
import { SqlGatewayIndex } from '../src/gateway/chain-index/sql-index.ts';
import { packTags } from '../src/gateway/chain-index/tags.ts';
import {
  bundleTerm,
  CHAIN_TERM,
  EVERY_TERM,
  INGESTED_TERM,
  ownerTerm,
  type TermSpec,
  tagTerm,
} from '../src/gateway/chain-index/terms.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { openContentCache } from '../src/gateway/content/part.ts';
import { gatewayMigrations } from '../src/gateway/migrations.ts';
import { insertRows } from '../src/storage/sql/many-rows.ts';
import { openDatabase } from '../src/storage/sql/open.ts';
import type { Sql, SqlExecutor, SqlValue } from '../src/storage/sql/sql.ts';
import { testArweaveKey } from '../src/wallets/testing/keys.ts';
import { loadAddress } from './load-wallets.ts';

export interface Place {
  readonly dataDir: string;
  readonly databaseUrl?: string | undefined;
}

/** Of the load on uploads and on the ledger. */
export const loadWallets = 64;
const smallBytes = 1_024;
const largeBytes = 1_024 * 1_024;
/** Items that have the tag `Rare`. */
const rareItems = 200;
const perBundle = 1_000;
const owners = 100;
const apps = 10;
const perTransaction = 20_000;
/** PostgreSQL ends a statement after half a minute. */
const perCopy = 100_000;
const indexedAt = 1_700_000_000;
/** Keys below are left to what the index writes itself. */
const firstRecord = 10_000;
const firstTerm = 10_000;

const id = (name: string) => digest(name).toString('base64url');
/** Of item number n, of content of a mebibyte, and of a manifest with the path `page`. */
export const itemId = (n: number): string => id(`item ${n}`);
export const largeId = id('large');
export const manifestId = id('manifest');
export const ownerOf = (n: number): string =>
  createHash('sha256').update(ownerKey(n)).digest().toString('base64url');
const tagsOf = (n: number, items: number): readonly (readonly [string, string])[] => [
  ['Content-Type', n % 2 === 0 ? 'text/plain' : 'image/png'],
  ['App-Name', `app-${n % apps}`],
  ['Rare', isRare(n, items) ? 'yes' : 'no'],
  ['Unix-Time', String(indexedAt + n)],
];
const ownerKey = (n: number) => Buffer.from(`owner ${n % owners}`);
const isRare = (n: number, items: number) => n % Math.floor(items / rareItems) === 0;

/** Wallet number n, a valid address. */
export const walletAddress = (n: number): string => `${String(n).padStart(42, 'w')}A`;

export async function fillGateway({ dataDir, databaseUrl }: Place, items: number): Promise<void> {
  const small = Buffer.alloc(smallBytes, 'a');
  const large = Buffer.alloc(largeBytes, 'b');
  const manifest = buildManifest({ paths: new Map([['page', itemId(0)]]) });
  const cache = await openContentCache(readConfig({ DATA_DIR: dataDir }));
  for (const bytes of [small, large, manifest]) await cache.put(bytes);
  await cache.close();
  const sql = await openDatabase({
    ...{ dataDir, databaseUrl, name: 'gateway', migrations: gatewayMigrations },
    byIndexOnly: true,
  });
  try {
    const index = new SqlGatewayIndex(sql);
    const content = (name: string, bytes: Buffer, type: string) =>
      entry(
        header(name, { dataSize: bytes.length, tags: rawTags({ 'Content-Type': type }) }),
        { height: 0, blockIndex: 0 },
        { hash: sha256(bytes), verified: true },
      );
    const prepared = await index.writer.prepare([
      content('large', large, 'application/octet-stream'),
      content('manifest', manifest, manifestContentType),
    ]);
    await sql.transaction((tx) => index.writer.put(tx, prepared));
    await fillIndex(sql, items, sha256(small));
  } finally {
    await sql.close();
  }
  await settleDown(databaseUrl);
}

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** Terms have keys in rows of their kind, so that postings can be made from records by arithmetic. */
function termPlan(items: number) {
  const bundles = Math.ceil(items / perBundle);
  const types = firstTerm;
  const names = types + 2;
  const rare = names + apps;
  const owned = rare + 2;
  const bundled = owned + owners;
  const times = bundled + bundles;
  return { bundles, types, names, rare, owned, bundled, times };
}

async function fillIndex(sql: Sql, items: number, hash: Buffer): Promise<void> {
  const plan = termPlan(items);
  const { bundles, types, names, rare, owned, bundled, times } = plan;
  const pair = (name: string, value: string) => tagTerm(Buffer.from(name), Buffer.from(value));
  const firstBundle = firstRecord + items;
  await sql.transaction(async (tx) => {
    await insertTerms(tx, types, [pair('Content-Type', 'text/plain'), pair('Content-Type', 'image/png')]);
    await insertTerms(
      tx,
      names,
      Array.from({ length: apps }, (_, n) => pair('App-Name', `app-${n}`)),
    );
    await insertTerms(tx, rare, [pair('Rare', 'no'), pair('Rare', 'yes')]);
    await insertTerms(
      tx,
      owned,
      Array.from({ length: owners }, (_, n) => ownerTerm(sha256(ownerKey(n)), ownerKey(n))),
    );
    await insertTerms(
      tx,
      bundled,
      Array.from({ length: bundles }, (_, n) => bundleTerm(digest(`bundle ${n}`))),
    );
    for (let height = 0; height <= bundles; height += 1) {
      await insertBlock(tx, {
        height,
        id: Buffer.concat([digest(`block ${height}`), Buffer.alloc(16)]),
        previous: Buffer.concat([digest(`block ${height - 1}`), Buffer.alloc(16)]),
        timestamp: indexedAt + height,
        txCount: 1,
        blockSize: '0',
        weaveSize: '0',
        json: Buffer.from('{}'),
      });
    }
    await tx.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', ?)", bundles);
    const rows = Array.from({ length: bundles }, (_, n) => {
      const made = entry(header(`bundle ${n}`, { dataSize: 1_000_000 }), { height: n + 1, blockIndex: 0 });
      return recordCells(firstBundle + n, made, [owned]);
    });
    await insertRecords(tx, rows, [EVERY_TERM, CHAIN_TERM]);
  });
  for (let from = 0; from < items; from += perTransaction) {
    const count = Math.min(perTransaction, items - from);
    const numbers = Array.from({ length: count }, (_, offset) => from + offset);
    await sql.transaction(async (tx) => {
      await insertTerms(
        tx,
        times + from,
        numbers.map((n) => pair('Unix-Time', String(indexedAt + n))),
      );
      const rows = numbers.map((n) => {
        const bundle = Math.floor(n / perBundle);
        const root = firstBundle + bundle;
        const at = (n % perBundle) * 2_000;
        const made = entry(
          header(`item ${n}`, {
            kind: DATA_ITEM,
            ownerKey: ownerKey(n),
            dataSize: smallBytes,
            signature: Buffer.alloc(64, n % 251),
            tags: rawTags(tagsOf(n, items)),
          }),
          { height: bundle + 1, blockIndex: 0 },
          {
            bundle: digest(`bundle ${bundle}`),
            hash,
            verified: true,
            placed: {
              ...{ root, parent: root, parentOffset: 0 },
              ...{ itemOffset: at, dataOffset: at + 900, itemSize: 900 + smallBytes },
            },
          },
        );
        const terms = [
          owned + (n % owners),
          bundled + bundle,
          types + (n % 2),
          names + (n % apps),
          rare + (isRare(n, items) ? 1 : 0),
          times + n,
        ];
        return recordCells(firstRecord + n, made, terms);
      });
      await insertRecords(tx, rows, [EVERY_TERM]);
    });
  }
  // The order of the tree, so that its pages fill one after the other.
  const n = `(record - ${firstRecord})`;
  const everyRare = Math.floor(items / rareItems);
  for (const term of [
    `${owned} + ${n} % ${owners}`,
    `${bundled} + ${n} / ${perBundle}`,
    `${types} + ${n} % 2`,
    `${names} + ${n} % ${apps}`,
    `${rare} + CASE WHEN ${n} % ${everyRare} = 0 THEN 1 ELSE 0 END`,
    `${times} + ${n}`,
  ]) {
    for (let from = 0; from < items; from += perCopy) {
      await sql.run(
        `INSERT INTO postings (term, pos, tie, record)
         SELECT ${term}, pos, tie, record FROM postings
         WHERE term = ${EVERY_TERM} AND pos >= ? AND pos < ? AND record >= ? AND record < ? ORDER BY 1, 2, 3, 4`,
        minedPos(from / perBundle + 1, 0, 0),
        minedPos((from + perCopy) / perBundle + 1, 0, 0),
        firstRecord + from,
        Math.min(firstRecord + from + perCopy, firstBundle),
      );
    }
  }
}

interface RecordCells {
  readonly cells: readonly SqlValue[];
  readonly key: readonly [pos: number, tie: number, record: number];
  readonly signature: Buffer;
}

function recordCells(record: number, made: ReturnType<typeof entry>, terms: readonly number[]): RecordCells {
  const { id, kind, signature, tags } = made.header;
  const owner = terms[0] ?? 0;
  const { height = 0, blockIndex = 0 } = made.mined ?? {};
  return {
    cells: [record, ...recordRow({ entry: made, owner, terms, tags: packTags(tags) }, indexedAt)],
    key: [minedPos(height, blockIndex, kind), tieOf(id), record],
    signature: signature ?? Buffer.alloc(0),
  };
}

async function insertRecords(
  tx: SqlExecutor,
  rows: readonly RecordCells[],
  terms: readonly number[],
): Promise<void> {
  await insertRows(
    tx,
    'records',
    ['record', ...recordColumns],
    rows.map(({ cells }) => cells),
  );
  for (const term of terms) {
    await insertRows(
      tx,
      'postings',
      postingColumns,
      rows.map(({ key }) => [term, ...key]),
    );
  }
  await insertRows(
    tx,
    'postings',
    postingColumns,
    rows.map(({ key: [, tie, record] }) => [INGESTED_TERM, indexedAt, tie, record]),
  );
  await insertRows(
    tx,
    'signatures',
    ['record', 'signature'],
    rows.map(({ key, signature }) => [key[2], signature]),
  );
}

function insertTerms(tx: SqlExecutor, first: number, specs: readonly TermSpec[]): Promise<unknown> {
  return insertRows(
    tx,
    'terms',
    ['term', 'kind', 'hash', 'name', 'value', 'name_start'],
    specs.map(({ kind, hash, name, value }, n) => [first + n, kind, hash, name, value, name]),
  );
}

export async function fillLedger({ dataDir, databaseUrl }: Place, items: number): Promise<void> {
  const sql = await openLedgerDatabase(readConfig(environmentOf({ dataDir, databaseUrl })));
  try {
    const credits = createCredits({ sql });
    const give = (address: string, addressType: string) =>
      credits.credit({ address, addressType, amount: winc(10n ** 18n), reason: 'payment', id: address });
    await give(testArweaveKey.address, 'arweave');
    for (let wallet = 0; wallet < loadWallets; wallet += 1) await give(loadAddress(wallet), 'solana');
    for (let from = 0; from < items; from += perTransaction) {
      const count = Math.min(perTransaction, items - from);
      const numbers = Array.from({ length: count }, (_, offset) => from + offset);
      await sql.transaction((tx) => insertWallets(tx, numbers));
      await sql.transaction((tx) => insertItems(tx, numbers));
    }
  } finally {
    await sql.close();
  }
  await settleDown(databaseUrl);
}

export const environmentOf = ({ dataDir, databaseUrl }: Place): Record<string, string> => ({
  DATA_DIR: dataDir,
  ...(databaseUrl !== undefined && { DATABASE_URL: databaseUrl }),
});

async function insertWallets(tx: SqlExecutor, numbers: readonly number[]): Promise<void> {
  const amount = 10n ** 12n;
  await insertRows(
    tx,
    'credits_accounts',
    ['address', 'address_type', 'balance', 'created_at'],
    numbers.map((n) => [walletAddress(n), 'arweave', amount, indexedAt]),
  );
  await insertRows(
    tx,
    'credits_entries',
    ['account', 'amount', 'reason', 'change_id', 'line', 'created_at'],
    numbers.map((n) => [walletAddress(n), amount, 'payment', `filled ${n}`, 0, indexedAt]),
  );
}

/** Permanent long ago, so that no job looks at them. Each was free: no entry goes with it. */
async function insertItems(tx: SqlExecutor, numbers: readonly number[]): Promise<void> {
  await insertRows(
    tx,
    'upload_items',
    `id, owner, signer, signature_type, size, payload_start, content_type, winc, received_at, deadline_height, answer,
     held, state, failures`.split(/,\s+/),
    numbers.map((n) => [
      ...[itemId(n), walletAddress(n), 'filled', 1, 2_000, 1_000, 'text/plain', 0n, indexedAt, 1],
      ...['{}', 0, 'permanent', 0],
    ]),
  );
  await insertRows(
    tx,
    'credits_spendings',
    'id, reason, attempt, state, signer, amount, split, created_at, changed_at'.split(', '),
    numbers.map((n) => [
      ...[itemId(n), 'upload', 1, 'settled', walletAddress(n)],
      ...[0n, '[]', indexedAt, indexedAt],
    ]),
  );
}

/** PostgreSQL finds the best plans once it has looked at what was written. */
async function settleDown(databaseUrl: string | undefined): Promise<void> {
  if (databaseUrl === undefined) return;
  const client = new pg.Client({ connectionString: databaseUrl });
  await client.connect();
  await client.query('VACUUM ANALYZE');
  await client.end();
}
