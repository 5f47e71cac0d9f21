/**
 * A day of an operator: export, prune, publish, block, unblock, restart, restore. Another operator follows the published
 * index, and a router stands before the gateway. Whatever was published is read by every way at each of the three after
 * every step, except while it is blocked. On SQLite and on PostgreSQL.
 */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { cpSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request } from 'node:http';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { type TestContext, test } from 'node:test';
import { promisify } from 'node:util';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { buildManifest, manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { type MadeItem, makeItem } from '../support/admin-gateway.ts';
import { buyName } from '../support/buy-name.ts';
import { eventually } from '../support/eventually.ts';
import { freePort } from '../support/free-port.ts';
import { createDatabase, text } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');
const gatewayHost = 'gateway.test';

interface Published {
  readonly name: string;
  readonly id: string;
  readonly data: Buffer;
  /** Below the manifest and below the name, where it is in it. */
  readonly path?: string;
}

for (const engine of ['SQLite', 'PostgreSQL'] as const) {
  test(`a day of an operator on ${engine}`, async (t) => {
    const database = engine === 'SQLite' ? undefined : await createDatabase(requireServer());
    t.after(() => database?.drop());
    const world = await startWorld(t);
    const settings = {
      ...world.settings,
      ...(database !== undefined && { DATABASE_URL: database.url }),
      GATEWAY_PORT: String(await freePort()),
    };
    let operator = await startStack({ only: ['gateway', 'router'], environment: settings });
    const { dataDir } = operator;
    t.after(async () => {
      await operator.end();
      rmSync(dataDir, { recursive: true, force: true });
    });

    const { items, manifest, bundles } = await world.publish();
    const gateway = () => operator.urls.gateway ?? '';
    const router = () => operator.urls.router ?? '';
    const key = readFileSync(join(dataDir, 'keys', 'admin-api-key'), 'utf8').trim();
    const admin = async (method: string, path: string, body?: object) => {
      const answer = await fetch(`${gateway()}/gw/admin/${path}`, {
        method,
        headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const said = await answer.text();
      assert.equal(answer.status, 200, `${method} ${path}: ${said}`);
      return JSON.parse(said);
    };
    const turnpike = async (...args: string[]) => {
      const env = { ...process.env, ...freePorts(), ...settings, DATA_DIR: dataDir, LOG_LEVEL: 'warn' };
      return (await promisify(execFile)(process.execPath, [program, ...args], { cwd: root, env })).stdout;
    };
    const publishIndex = async () => {
      await turnpike('index', 'build');
      await turnpike('index', 'publish');
      return bandRecords(await turnpike('index', 'list', '--json'));
    };

    const stableHeightNow = async (): Promise<number> => (await admin('GET', 'debug')).chain.stableHeight;
    await eventually('everything is stable at the gateway', async () => {
      const seen = await Promise.all([...items, manifest].map(({ id }) => heightOf(gateway(), id)));
      const stableHeight = await stableHeightNow();
      if (seen.every((height) => height !== undefined && height <= stableHeight)) return true;
      await text(`${world.node}/mine/10`);
      return false;
    });

    const records = await publishIndex();
    assert.ok(records >= items.length, `${records} records`);
    const subscriber = await world.subscribe(gateway());
    const everywhere = [
      { at: 'gateway', url: gateway, host: gatewayHost },
      { at: 'subscriber', url: () => subscriber.urls.gateway ?? '', host: gatewayHost },
      { at: 'router', url: router, host: 'localhost' },
    ];
    /** By every way at all three; what is `blocked` is refused at the operator's own, by every way. */
    const expectAll = async (step: string, blocked?: Published) => {
      for (const { at, url, host } of everywhere) {
        for (const item of items) {
          const refused = item === blocked && at !== 'subscriber';
          const all = [
            read(`${url()}/raw/${item.id}`),
            read(`${url()}/${item.id}`),
            read(`${url()}/raw/${item.id}`, { range: 'bytes=1-5' }),
            ...(item.path === undefined
              ? []
              : [
                  read(`${url()}/${manifest.id}/${item.path}`),
                  read(`${url()}/${item.path}`, { host: `operator-day.${host}` }),
                ]),
          ];
          for (const [index, got] of (await Promise.all(all)).entries()) {
            const where = `${step}: way ${index} to ${item.name} at the ${at}: ${got.status} ${got.body.subarray(0, 80)}`;
            if (refused) assert.ok(got.status === 451 || got.status === 403, where);
            else if (index === 2)
              assert.ok(got.status === 206 && got.body.equals(item.data.subarray(1, 6)), where);
            else assert.ok(got.status === 200 && got.body.equals(item.data), where);
          }
        }
        if (blocked === undefined || at === 'subscriber') continue;
        for (const bundle of bundles) {
          const got = await read(`${url()}/raw/${bundle}`);
          assert.ok(!got.body.includes(blocked.data), `${step}: a bundle at the ${at} has what is blocked`);
        }
      }
    };
    await eventually('the subscriber has the index', async () =>
      (await Promise.all(items.map(({ id }) => read(`${subscriber.urls.gateway}/raw/${id}`)))).every(
        ({ status }) => status === 200,
      ),
    );
    await expectAll('published');

    const endHeight = await stableHeightNow();
    await admin('POST', 'export-parquet', { outputDir: 'day', startHeight: 0, endHeight, maxFileRows: 0 });
    await eventually('the export is done', async () => {
      const { status } = await admin('GET', 'export-parquet/status');
      assert.notEqual(status, 'errored');
      return status === 'completed';
    });
    await expectAll('exported');

    const prunable = items.length + 1;
    const indexedAtThreshold = await eventually('all was indexed before this second', async () => {
      const now = Math.floor(Date.now() / 1000);
      const body = { indexedAtThreshold: now, dryRun: true };
      const { wouldPruneCount } = await admin('POST', 'prune-stable-data-items', body);
      return wouldPruneCount === prunable ? now : undefined;
    });
    const { prunedCount } = await admin('POST', 'prune-stable-data-items', { indexedAtThreshold });
    assert.equal(prunedCount, prunable);
    for (const { id } of items) assert.equal(await heightOf(gateway(), id), undefined, 'the rows are gone');
    await expectAll('pruned');
    assert.equal(await publishIndex(), records, 'no record is lost with the rows');
    await expectAll('published again');

    for (const item of items) {
      await admin('PUT', 'block-data', { id: item.id, notes: 'as a court asked' });
      await expectAll(`${item.name} is blocked`, item);
      await admin('PUT', 'unblock-data', { id: item.id });
    }
    await expectAll('unblocked');

    const [first] = items;
    assert.ok(first !== undefined);
    await admin('PUT', 'block-data', { id: first.id });
    await operator.end();
    operator = await startStack({ only: ['gateway', 'router'], environment: settings, dataDir });
    await expectAll('restarted', first);

    await operator.end();
    const saved = mkdtempSync(join(tmpdir(), 'turnpike-restored-'));
    t.after(() => rmSync(saved, { recursive: true, force: true }));
    cpSync(dataDir, saved, { recursive: true });
    rmSync(dataDir, { recursive: true });
    const copy = await database?.copy();
    t.after(() => copy?.drop());
    await database?.drop();
    operator = await startStack({
      only: ['gateway', 'router'],
      environment: { ...settings, ...(copy !== undefined && { DATABASE_URL: copy.url }) },
      dataDir: saved,
    });
    await expectAll('restored', first);
    await admin('PUT', 'unblock-data', { id: first.id });
    await expectAll('and unblocked');
  });
}

function requireServer(): string {
  const server = process.env.TEST_DATABASE_URL;
  assert.ok(server !== undefined, '`npm run test:servers` starts PostgreSQL and names it');
  return server;
}

/** The chains, and somebody who uploads; it stays when the operator stops. */
async function startWorld(t: TestContext) {
  const outside = await startStack({
    only: ['payment', 'upload'],
    environment: {
      FREE_UPLOAD_LIMIT: '10000000',
      BUNDLE_MAX_WAIT_MS: '0',
      ARWEAVE_MIN_CONFIRMATIONS: '1',
      LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      WORKER_THREADS: '1',
    },
  });
  t.after(() => outside.stop());
  const node = outside.urls.arweave ?? '';
  const settings = {
    ARWEAVE_NODE_URLS: node,
    SOLANA_RPC_URL: outside.urls.solana ?? '',
    ARNS_ROOT_HOST: gatewayHost,
    GATEWAY_POLL_INTERVAL_MS: '50',
    INDEX_BAND_HEIGHTS: '1000',
    WORKER_THREADS: '1',
  };
  return {
    node,
    settings,
    publish: () => publishContent(outside),
    async subscribe(url: string): Promise<RunningStack> {
      const { publisher } = JSON.parse(await text(`${url}/gw/indexes`));
      const stack = await startStack({
        only: ['gateway'],
        environment: {
          ...settings,
          ANS104_UNBUNDLE_FILTER: '{"never":true}',
          INDEX_SUBSCRIBE: JSON.stringify([{ publisher, url }]),
          INDEX_POLL_INTERVAL_SECONDS: '1',
        },
      });
      t.after(() => stack.stop());
      return stack;
    },
  };
}

/** Items of every kind of place, a manifest of some of them, and a name that points at it. */
async function publishContent(outside: RunningStack) {
  const random = seededRandom(14);
  const typed = (data: Buffer, type: string) =>
    makeItem({ data, tags: [{ name: 'Content-Type', value: type }] });
  const [page, picture, inner, deepest] = [900, 70_000, 5_000, 300].map((size) => random.bytes(size));
  assert.ok(page && picture && inner && deepest);
  const made = {
    page: await typed(page, 'text/plain'),
    picture: await typed(picture, 'image/png'),
    inner: await typed(inner, 'text/css'),
    deepest: await typed(deepest, 'text/plain'),
  };
  const middle = await makeItem({ data: bundleOf([made.deepest]), tags: [...bundleTags] });
  const outer = await makeItem({ data: bundleOf([made.inner, middle]), tags: [...bundleTags] });
  const paths = new Map([
    ['page.txt', made.page.id],
    ['inner.css', made.inner.id],
    ['deepest.txt', made.deepest.id],
  ]);
  const manifest = await typed(buildManifest({ paths, indexPath: 'page.txt' }), manifestContentType);
  for (const item of [made.page, made.picture, outer, manifest]) {
    const answer = await fetch(`${outside.urls.upload}/v1/tx/solana`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(item.bytes),
    });
    assert.equal(answer.status, 200, await answer.text());
  }
  await buyName(outside, 'operator-day', manifest.id);
  const items: Published[] = [
    { name: 'an item', id: made.page.id, data: page, path: 'page.txt' },
    { name: 'a large item', id: made.picture.id, data: picture },
    { name: 'an item in a bundle in a bundle', id: made.inner.id, data: inner, path: 'inner.css' },
    { name: 'an item one deeper', id: made.deepest.id, data: deepest, path: 'deepest.txt' },
  ];
  return { items, manifest, bundles: [outer.id, middle.id] };
}

function bundleOf(items: readonly MadeItem[]): Buffer {
  const sizes = items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length }));
  return Buffer.concat([encodeBundleHeader(sizes), ...items.map(({ bytes }) => bytes)]);
}

async function heightOf(gateway: string, id: string): Promise<number | undefined> {
  const answer = await text(`${gateway}/graphql`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ query: `{ transaction(id: "${id}") { block { height } } }` }),
  });
  return JSON.parse(answer).data?.transaction?.block?.height;
}

function bandRecords(list: string): number {
  const { indexes }: { indexes: { bands: { records: number }[] }[] } = JSON.parse(list);
  return indexes.flatMap(({ bands }) => bands).reduce((sum, { records }) => sum + records, 0);
}

function read(url: string, headers: Record<string, string> = {}): Promise<{ status: number; body: Buffer }> {
  return new Promise((resolve, reject) => {
    request(url, { headers }, (answer) => {
      const pieces: Buffer[] = [];
      answer.on('data', (piece: Buffer) => pieces.push(piece));
      answer.once('error', reject);
      answer.once('end', () => resolve({ status: answer.statusCode ?? 0, body: Buffer.concat(pieces) }));
    })
      .once('error', reject)
      .end();
  });
}
