import assert from 'node:assert/strict';
import { describe, it, test } from 'node:test';
import { eventually } from '../../../../test/support/eventually.ts';
import { seededRandom } from '../../../../test/support/seeded-random.ts';
import type { BundleReport, ItemReport, ItemSummary, SurfaceState } from '../../../formats/admin-answers.ts';
import { Lease } from '../../../storage/sql/lease.ts';
import { forEachEngine } from '../../../storage/sql/testing.ts';
import { signItem } from '../../../wallets/data-items/signer.ts';
import { dropBundle, dropLostItem, makePermanent } from '../../bundler/endings.ts';
import { planBundle } from '../../bundler/plan.ts';
import { address, signer, withNode } from '../../bundler/testing.ts';
import { startTestUpload, type TestUpload, testAdminKey, testMigrations } from '../../testing.ts';

const random = seededRandom(77);
const authorization = `Bearer ${testAdminKey}`;
const ask = (upload: TestUpload, path: string) => upload.get(`/v1/admin/${path}`, { authorization });
const read = async <T>(upload: TestUpload, path: string): Promise<T> => {
  const { status, body } = await ask(upload, path);
  assert.equal(status, 200, path);
  return body as T;
};

interface Bundles {
  bundles: BundleReport[];
  next: string | null;
}
interface Items {
  items: ItemSummary[];
  next: string | null;
}

async function post(upload: TestUpload, bytes = 2_000): Promise<string> {
  upload.clock += 1;
  const item = await signItem({ data: random.bytes(bytes) }, signer);
  const { status, body } = await upload.post('/v1/tx', item);
  assert.equal(status, 200);
  return String(body.id);
}

const limits = { maxItems: 2, targetBytes: 1_000_000, maxWaitMs: 0 };

describe('what operators ask the upload service', () => {
  forEachEngine((_engine, open) => {
    /** The bundler never gets a turn of its own: the test holds its lease. */
    const start = async () => {
      const sql = await open(testMigrations);
      const lease = new Lease(sql, { table: 'upload_leases', name: 'bundler', leaseMs: 3_600_000 });
      assert.equal(await lease.hold(), true);
      const upload = await startTestUpload(
        { BUNDLE_POLL_MS: '3600000', FREE_UPLOAD_LIMIT: '1000' },
        {},
        { sql },
      );
      await upload.give(address, 'solana', 10n ** 12n);
      return { sql, upload };
    };

    it('lists items that wait, are bundled or failed, page by page', async () => {
      const { sql, upload } = await start();
      try {
        const ids: string[] = [];
        for (let count = 0; count < 5; count += 1) ids.push(await post(upload));
        const first = await read<Items>(upload, 'items?limit=3');
        assert.deepEqual(
          first.items.map(({ id }) => id),
          ids.slice(0, 3),
        );
        const second = await read<Items>(upload, `items?limit=3&before=${first.next}`);
        assert.deepEqual([second.items.map(({ id }) => id), second.next], [ids.slice(3), null]);
        const plans = [
          await planBundle(sql, limits, upload.clock),
          await planBundle(sql, limits, upload.clock),
        ];
        const bundled = await read<Items>(upload, 'items?state=planned&limit=3');
        const rest = await read<Items>(upload, `items?state=planned&before=${bundled.next}`);
        const seen = [...bundled.items, ...rest.items];
        assert.deepEqual(new Set(seen.map(({ id }) => id)), new Set(ids.slice(0, 4)));
        assert.ok(seen.every(({ state, bundle }) => state === 'planned' && plans.includes(bundle ?? '')));
        const before = await upload.balance(address);
        await dropLostItem(sql, upload.credits, plans[0] ?? '', ids[0] ?? '', upload.clock);
        const failed = await read<Items>(upload, 'items?state=failed');
        assert.deepEqual(
          failed.items.map(({ id, failedReason }) => [id, failedReason]),
          [[ids[0], 'missing_from_object_store']],
        );
        assert.ok((await upload.balance(address)) > before);
        const report = await read<ItemReport>(upload, `items/${ids[0]}`);
        assert.equal(report.paid.how, 'given back');
        assert.match(report.why, /paid back because its bytes are lost/);
      } finally {
        await upload.close();
      }
    });

    it('lists bundles by state and tells each with its items', async () => {
      const { sql, upload } = await start();
      try {
        for (let count = 0; count < 6; count += 1) await post(upload);
        const plans: string[] = [];
        for (let count = 0; count < 3; count += 1) {
          plans.push((await planBundle(sql, limits, upload.clock + count)) ?? '');
        }
        const [first = '', second = '', third = ''] = plans;
        await makePermanent(sql, first, { blockHeight: 7, confirmations: 18 }, upload.clock);
        await dropBundle(sql, upload.credits, second, upload.clock);
        const txId = 'B'.repeat(43);
        await sql.run(
          "UPDATE upload_bundles SET state = 'prepared', tx_id = ?, attempts = 4, last_error = ? WHERE plan = ?",
          txId,
          'the node refused with 400: no',
          third,
        );
        const listed = async (query: string) =>
          (await read<Bundles>(upload, `bundles${query}`)).bundles.map(({ plan }) => plan);
        assert.deepEqual(await listed(''), [third, second, first]);
        assert.deepEqual(await listed('?state=open'), [third]);
        assert.deepEqual(await listed('?state=stuck'), [third]);
        assert.deepEqual(await listed('?state=permanent'), [first]);
        const page = await read<Bundles>(upload, 'bundles?limit=2');
        assert.deepEqual(await listed(`?limit=2&before=${page.next}`), [first]);
        const { bundle, items } = await read<Items & { bundle: BundleReport }>(upload, `bundles/${txId}`);
        assert.deepEqual([bundle.plan, bundle.stuck, bundle.tries, items.length], [third, true, 4, 2]);
        assert.match(bundle.why, /tried 4 times in vain, last error "the node refused with 400: no"/);
        const byPlan = await read<Items>(upload, `bundles/${first}?limit=1`);
        const next = await read<Items>(upload, `bundles/${first}?limit=1&before=${byPlan.next}`);
        assert.deepEqual([byPlan.items.length, next.items.length, next.next], [1, 1, null]);
        assert.notEqual(byPlan.items[0]?.id, next.items[0]?.id);
        const state = await read<SurfaceState>(upload, 'state');
        const { bundlesOpen, bundlesStuck, itemsWaiting, itemsPlanned, chainHeight } = state.figures;
        assert.deepEqual([bundlesOpen, bundlesStuck, itemsWaiting, itemsPlanned], [1, 1, 2, 2]);
        assert.equal(chainHeight, 1_500_000);
        assert.ok(state.problems.includes('1 bundle is stuck on the way to the chain.'));
        assert.ok(state.jobs.some(({ part, name }) => part === 'bundler' && name === 'bundler'));
        assert.deepEqual((await upload.get('/v1/health')).bytes.toString(), 'OK');
        const strict = await upload.get('/health?strict=true');
        assert.equal(strict.status, 503);
        assert.match(strict.bytes.toString(), /1 bundle is stuck/);
      } finally {
        await upload.close();
      }
    });

    it('tells how an item was paid', async () => {
      const { upload } = await start();
      try {
        const paid = await read<ItemReport>(upload, `items/${await post(upload)}`);
        assert.deepEqual(
          [paid.paid.how, paid.paid.shares],
          ['credits', [{ payer: address, winc: paid.winc, approval: null }]],
        );
        const small = await signItem({ data: random.bytes(10) }, signer);
        const free = await upload.post('/v1/tx', small);
        assert.equal(free.status, 200);
        const report = await read<ItemReport>(upload, `items/${String(free.body.id)}`);
        assert.deepEqual(report.paid, { how: 'free', winc: '0', shares: [] });
        assert.equal(report.steps.length, 7);
      } finally {
        await upload.close();
      }
    });
  });

  test('is refused what makes no sense, and without the key everything', async () => {
    const upload = await startTestUpload();
    try {
      for (const [path, status] of [
        ['items?state=permanent', 400],
        ['items?limit=0', 400],
        ['items?limit=201', 400],
        ['items?before=nonsense', 400],
        ['bundles?state=odd', 400],
        ['bundles/nothing', 404],
        [`items/${'A'.repeat(43)}`, 404],
        ['items/short', 400],
        ['nothing', 404],
      ] as const) {
        assert.equal((await ask(upload, path)).status, status, path);
        assert.equal((await upload.get(`/v1/admin/${path}`)).status, 401, path);
      }
      assert.equal((await upload.get('/admin/state', { authorization })).status, 404, 'only below /v1');
      assert.deepEqual((await ask(upload, 'announcements')).body, { gateways: [], items: [] });
    } finally {
      await upload.close();
    }
  });
});

describe('what the bundler leaves for operators', () => {
  test('is why a bundle waits and how deep it is', async () => {
    await withNode(async (node, upload, pass) => {
      node.refuses = true;
      const { body } = await upload.post('/v1/tx', await signItem({ data: random.bytes(900) }, signer));
      const id = String(body.id);
      const why = async () => (await read<ItemReport>(upload, `items/${id}`)).why;
      const until = (what: string, words: RegExp) =>
        eventually(what, async () => {
          pass();
          return words.test(await why());
        });
      await until('the refusal to be told', /in vain, last error "the node refused with 400: /);
      node.refuses = false;
      node.confirmations = 2;
      await until('the depth to be told', /is mined at height 9, with 2 of 3 confirmations\.$/);
      const { inBundle } = await read<ItemReport>(upload, `items/${id}`);
      assert.deepEqual([inBundle?.tries, inBundle?.confirmations], [0, 2]);
      assert.match(inBundle?.lastError ?? '', /refused with 400/, 'what went wrong before is kept');
      node.confirmations = 3;
      node.chunks = 'as given';
      await until('it to be permanent', /^Permanent since .*, in the block at height 9\.$/);
    });
  });

  test('is that the gateway does not listen', async () => {
    const admin = { url: 'http://127.0.0.1:9', key: 'k' };
    const upload = await startTestUpload({}, { gateway: { publicUrl: 'http://gateway.test', admin } });
    try {
      await upload.give(address, 'solana', 10n ** 12n);
      const id = await post(upload);
      upload.clock += 60_000;
      const announcements = await eventually('the failure to be told', async () => {
        const { body } = await ask(upload, 'announcements');
        const [gateway] = (body as { gateways: { failures: number }[] }).gateways;
        return gateway !== undefined && gateway.failures > 0 ? body : undefined;
      });
      const { gateways, items } = announcements as { gateways: Record<string, unknown>[]; items: object[] };
      assert.deepEqual([gateways[0]?.waiting, gateways[0]?.listening, items.length], [1, false, 1]);
      const { why, announced } = await read<ItemReport>(upload, `items/${id}`);
      assert.equal(announced, false);
      assert.match(why, /Not told of it yet: gateway\.test \(/);
    } finally {
      await upload.close();
    }
  });
});
