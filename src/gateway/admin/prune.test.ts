/**
 * What an operator prunes is read as before: by id, range, name and manifest, over a restart; published bands keep it; it
 * can be blocked; and its bundle can be read again with all that is in it. Also on TEST_DATABASE_URL.
 */
import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { request as httpRequest } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  bundleOf,
  type MadeItem,
  makeItem,
  namesOf,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { engines, send, text, until } from '../../../test/support/local-gateway.ts';
import { bundleTags } from '../../formats/ans104/bundle-header.ts';
import { type BuildReport, buildBands } from '../published-indexes/bands/build.ts';
import { indexFolders } from '../published-indexes/folders.ts';
import { readObserver } from '../published-indexes/publication/observer.ts';
import { publisherOf } from '../published-indexes/publication/publisher.ts';

const html = [{ name: 'Content-Type', value: 'text/html' }];

const bundleItem = (items: readonly MadeItem[]): Promise<MadeItem> =>
  makeItem({ data: bundleOf(items), tags: [...bundleTags] });

/** Now, and a little more: what was indexed this second is pruned too. */
const now = () => Math.floor(Date.now() / 1000) + 3;

for (const engine of engines)
  describe(`pruned items on ${engine.name}`, () => {
    const names = new Map<string, string>();
    let gateway: AdminGateway;
    let root: string;
    let page: MadeItem;
    let pages: MadeItem;
    let inner: MadeItem;
    let deepest: MadeItem;
    let middle: MadeItem;
    let outer: MadeItem;
    const leaves = () => [page, pages, inner, deepest];

    before(async () => {
      gateway = await startAdminGateway({
        ...engine.options,
        overrides: { ARNS_ROOT_HOST: 'gateway.test', SANDBOX_ENABLED: 'false' },
        names: [namesOf(names)],
      });
      page = await makeItem({ data: Buffer.from('<p>a page</p>'), tags: html });
      const manifest = {
        manifest: 'arweave/paths',
        version: '0.2.0',
        index: { path: 'a' },
        paths: { a: { id: page.id } },
      };
      pages = await makeItem({
        data: Buffer.from(JSON.stringify(manifest)),
        tags: [{ name: 'Content-Type', value: 'application/x.arweave-manifest+json' }],
      });
      deepest = await makeItem({ data: Buffer.from('two bundles down') });
      inner = await makeItem({ data: Buffer.from('one bundle down'), tags: html });
      middle = await bundleItem([deepest]);
      outer = await bundleItem([inner, middle]);
      root = await postBundle(gateway.stack, [page, pages, outer]);
      names.set('page', page.id);
      names.set('pages', pages.id);
      await text(`${gateway.stack.node.url}/mine/60`);
      await until('the chain is imported', async () => gateway.inside.index.height === 61);
      for (const { id } of leaves())
        await until('an item is stable', async () => (await gateway.inside.index.locate(id))?.stable);
    });
    after(() => gateway.stop());

    const prune = (more: object = {}) =>
      gateway.call('POST', 'prune-stable-data-items', { indexedAtThreshold: now(), ...more });
    const isShown = async (id: string) => {
      const query = `{ transaction(id: "${id}") { id } }`;
      return JSON.parse(await send(`${gateway.url}/graphql`, { query })).data.transaction !== null;
    };
    const shown = () => Promise.all(leaves().map(({ id }) => isShown(id)));
    const atName = (name: string, path: string) =>
      new Promise<{ status: number; body: string }>((resolve, reject) => {
        const headers = { host: `${name}.gateway.test` };
        httpRequest(`${gateway.url}${path}`, { headers }, (answer) => {
          let body = '';
          answer.on('data', (piece: Buffer) => {
            body += piece.toString();
          });
          answer.on('end', () => resolve({ status: answer.statusCode ?? 0, body }));
        })
          .on('error', reject)
          .end();
      });
    const build = (folder = indexFolders(gateway.inside.config.DATA_DIR).published, more: object = {}) =>
      buildBands({
        sql: gateway.inside.index.sql,
        published: folder,
        bandHeights: 4,
        publisher: 'me',
        ...more,
      });
    const bundleStatus = async (id: string) =>
      (await gateway.call('GET', `bundle-status/${id}`)).body as Record<string, unknown>;

    /** Every way to read them, and what may be said of them. */
    async function readAll(): Promise<void> {
      for (const [item, body, type] of [
        [page, '<p>a page</p>', 'text/html'],
        [inner, 'one bundle down', 'text/html'],
        [deepest, 'two bundles down', 'application/octet-stream'],
      ] as const) {
        for (const path of [`/${item.id}`, `/raw/${item.id}`]) {
          const answer = await gateway.get(path);
          assert.deepEqual([answer.status, answer.body], [200, body], path);
          assert.ok(answer.headers.get('content-type')?.startsWith(type), path);
          assert.equal(answer.headers.get('x-ar-io-root-transaction-id'), root);
          const head = await fetch(`${gateway.url}${path}`, { method: 'HEAD' });
          assert.deepEqual([head.status, head.headers.get('content-length')], [200, String(body.length)]);
          const part = await gateway.get(path, { range: 'bytes=2-5' });
          assert.deepEqual([part.status, part.body], [206, body.slice(2, 6)], path);
        }
        const status = JSON.parse((await gateway.get(`/tx/${item.id}/status`)).body);
        assert.equal(status.block_height, 1);
        const record = JSON.parse((await gateway.get(`/tx/${item.id}`)).body);
        const { owner, owner_address, signature, tags } = item.header;
        assert.deepEqual(
          [record.owner, record.owner_address, record.signature, record.tags, record.root_transaction_id],
          [owner, owner_address, signature, tags, root],
        );
        const frame = JSON.parse((await gateway.get(`/local/social/frame/${item.id}`)).body);
        assert.deepEqual(frame, { ...record, data: Buffer.from(body).toString('base64url') });
      }
      assert.equal((await gateway.get(`/${pages.id}/a`)).body, '<p>a page</p>');
      assert.equal((await atName('page', '/')).body, '<p>a page</p>');
      assert.equal((await atName('pages', '/a')).body, '<p>a page</p>');
    }

    it('are told of before, and thresholds that nobody can mean are refused', async () => {
      await readAll();
      const seconds = Math.floor(Date.now() / 1000);
      for (const [body, words] of [
        [{ indexedAtThreshold: Date.now() }, /milliseconds/],
        [{ indexedAtThreshold: seconds + 60 }, /must not be in the future/],
        [{ indexedAtThreshold: seconds + 60, dryRun: true }, /must not be in the future/],
        [{ indexedAtThreshold: seconds, dryRun: 'yes' }, /dryRun/],
      ] as const) {
        const answer = await gateway.call('POST', 'prune-stable-data-items', body);
        assert.equal(answer.status, 400);
        assert.match(String(answer.body), words);
      }
      const preview = (await prune({ dryRun: true })).body as Record<string, number>;
      const { firstIndexedAt = 0, lastIndexedAt = 0, ...rest } = preview;
      assert.deepEqual(rest, {
        message: 'Dry run: nothing was removed',
        dryRun: true,
        wouldPruneCount: 4,
        minHeight: 1,
        maxHeight: 1,
        contentStaysReadable: true,
      });
      assert.ok(
        firstIndexedAt > seconds - 3_600 && lastIndexedAt >= firstIndexedAt && lastIndexedAt <= now(),
      );
      assert.deepEqual((await prune({ dryRun: true, startHeight: 2 })).body, {
        message: 'Dry run: nothing was removed',
        dryRun: true,
        wouldPruneCount: 0,
        contentStaysReadable: true,
      });
      assert.deepEqual(await shown(), [true, true, true, true]);
      assert.equal((await bundleStatus(root)).prunedDataItemCount, 0);
    });

    it('are read as before, over a restart too, and found by no query', async () => {
      assert.deepEqual((await build()).refused, []);
      assert.equal(((await prune()).body as { prunedCount: number }).prunedCount, 4);
      assert.deepEqual(await shown(), [false, false, false, false]);
      assert.deepEqual(
        [await isShown(root), await isShown(outer.id), await isShown(middle.id)],
        [true, true, true],
      );
      await readAll();
      await gateway.restart();
      await readAll();
      const answer = await gateway.get(`/raw/${inner.id}`);
      for (const name of ['x-arweave-owner-address', 'x-arweave-signature', 'x-arweave-tag-count'])
        assert.equal(answer.headers.get(name), null, name);
    });

    it('are counted where an operator looks', async () => {
      const status = await bundleStatus(root);
      assert.deepEqual([status.matchedDataItemCount, status.prunedDataItemCount], [3, 2]);
      assert.equal(typeof status.lastPrunedAt, 'number');
      assert.equal((await bundleStatus(middle.id)).prunedDataItemCount, 1);
      const { db } = (await gateway.call('GET', 'debug')).body as {
        db: { counts: Record<string, number>; errors: string[] };
      };
      const { dataItems, prunedDataItems, keptPlaces } = db.counts;
      assert.deepEqual([dataItems, prunedDataItems, keptPlaces, db.errors], [2, 4, 4, []]);
    });

    it('stay in the published bands, byte for byte', async () => {
      const { published } = indexFolders(gateway.inside.config.DATA_DIR);
      const again = join(gateway.stack.dataDir, 'again');
      const bands = (folder: string) => readdirSync(join(folder, 'root-tx-index')).sort();
      const before = bands(published);
      const report: BuildReport = await build();
      assert.deepEqual([report.built, report.refused], [[], []]);
      await build(again);
      // A band's name has the digest of its content.
      assert.deepEqual(bands(again), before);
    });

    it('can be blocked, by themselves and as a part of their bundle', async () => {
      const placement = (await gateway.inside.index.locate(inner.id))?.placement;
      const range = {
        range: `bytes=${placement?.dataOffsetInRoot}-${(placement?.dataOffsetInRoot ?? 0) + 3}`,
      };
      assert.deepEqual([(await gateway.get(`/raw/${root}`, range)).body], ['one ']);
      await gateway.call('PUT', 'block-data', { id: inner.id });
      assert.equal((await gateway.get(`/raw/${inner.id}`)).status, 451);
      assert.equal((await gateway.get(`/raw/${root}`, range)).status, 451);
      assert.equal((await gateway.get(`/raw/${outer.id}`)).status, 451);
      assert.equal((await gateway.get(`/raw/${page.id}`)).status, 200);
      await gateway.call('PUT', 'unblock-data', { id: inner.id });
      await readAll();
    });

    it('come back with all that is nested when their root is queued, with and without the filter', async () => {
      for (const bypassFilter of [true, false]) {
        const { body } = await gateway.call('POST', 'queue-bundle', { id: root, bypassFilter });
        assert.deepEqual(body, { message: 'TX queued' });
        await until('all are shown again', async () => (await shown()).every((one) => one));
        await until('nothing counts as pruned', async () => {
          const statuses = await Promise.all([root, outer.id, middle.id].map(bundleStatus));
          return statuses.every(({ prunedDataItemCount }) => prunedDataItemCount === 0);
        });
        await readAll();
        assert.deepEqual((await build()).built, [], 'an item that has a record again is in its band once');
        assert.equal(((await prune()).body as { prunedCount: number }).prunedCount, 4);
        assert.deepEqual(await shown(), [false, false, false, false]);
      }
    });

    it('that an earlier version forgot cost no band its records, and come back too', async () => {
      const { sql } = gateway.inside.index;
      for (const table of ['fresh_places', 'places', 'place_counts']) await sql.run(`DELETE FROM ${table}`);
      // It removed the records of nested bundles too.
      await sql.run('DELETE FROM postings WHERE record IN (SELECT record FROM records WHERE kind = 1)');
      await sql.run('DELETE FROM records WHERE kind = 1');
      const report = await build();
      assert.deepEqual(report.built, []);
      const [refused] = report.refused;
      assert.deepEqual(
        [report.refused.length, refused?.heightRange, refused?.records, refused?.wouldHave],
        [1, [0, 3], 6, 0],
      );
      // The gateway that builds by itself says so.
      const { config } = gateway.inside;
      await publisherOf(config, await readObserver(config)).publish();
      await gateway.restart({
        INDEX_BAND_HEIGHTS: '4',
        INDEX_BUILD_INTERVAL_SECONDS: '1',
        INDEX_PUBLISH_SCAN_INTERVAL_SECONDS: '1',
      });
      const problem = /^The index of heights 0–3 would lose records/;
      const health = await until('the health check tells', async () => {
        const { status, reasons = [] } = JSON.parse((await gateway.get('/gw/healthcheck')).body);
        return status === 'unhealthy' && reasons.find((one: string) => problem.test(one));
      });
      const { db } = (await gateway.call('GET', 'debug')).body as { db: { errors: string[] } };
      assert.ok(db.errors.includes(health));
      assert.match((await gateway.get('/gw/__gateway_metrics')).body, /^index_bands_refused_total [1-9]/m);
      const elsewhere = join(gateway.stack.dataDir, 'again');
      const { built } = await build(elsewhere, { allowFewer: true });
      assert.deepEqual(
        built.map(({ records }) => records),
        [0],
      );
      await gateway.call('POST', 'queue-bundle', { id: root });
      await until('all are shown again', async () => (await shown()).every((one) => one));
      await readAll();
      await until('the health check has nothing to say', async () => {
        return JSON.parse((await gateway.get('/gw/healthcheck')).body).status === 'ok';
      });
    });
  });
