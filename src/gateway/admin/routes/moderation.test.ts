/** What is blocked stays in, on every way to the bytes; what is lifted is served again at once. Also on TEST_DATABASE_URL. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  adminKey,
  makeItem,
  namesOf,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, send, text, until } from '../../../../test/support/local-gateway.ts';
import { BlockedPlaces } from '../../../delivery/moderation/block-set.ts';
import { readBlockDocument } from '../../../delivery/moderation/follower.ts';
import type { AuditLine } from '../../../kernel/audit-log.ts';
import { BlockedRegions } from '../moderation/blocked-regions.ts';

const sha256 = (bytes: Buffer) => hash('sha256', bytes, 'base64url');

for (const engine of engines)
  describe(`moderation on ${engine.name}`, () => {
    const targets = new Map<string, string>();
    let gateway: AdminGateway;
    before(async () => {
      gateway = await startAdminGateway({
        ...engine.options,
        overrides: { ARNS_ROOT_HOST: 'gateway.test', SANDBOX_ENABLED: 'false' },
        names: [namesOf(targets)],
      });
    });
    after(() => gateway.stop());

    const statusOf = async (path: string, headers: Record<string, string> = {}) =>
      (await gateway.get(path, headers)).status;
    /** With a host of its own, which fetch does not let through. */
    const onHost = (host: string, path = '/') =>
      new Promise<number>((resolve, reject) => {
        const { hostname, port } = new URL(gateway.url);
        httpRequest({ hostname, port, path, headers: { host } }, (answer) => {
          answer.resume();
          resolve(answer.statusCode ?? 0);
        })
          .on('error', reject)
          .end();
      });
    async function post(data: Buffer, tags: { name: string; value: string }[] = []) {
      const { transaction, post } = await makeTransaction(gateway.stack.node.url, data, tags);
      await post();
      await text(`${gateway.stack.node.url}/mine`);
      const id = transaction.id.toString('base64url');
      await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height !== undefined);
      return id;
    }
    async function manifestTo(id: string) {
      const manifest = {
        manifest: 'arweave/paths',
        version: '0.1.0',
        index: { path: 'page' },
        paths: { page: { id } },
      };
      return post(Buffer.from(JSON.stringify(manifest)), [
        { name: 'Content-Type', value: 'application/x.arweave-manifest+json' },
      ]);
    }

    it('refuses a blocked transaction by id, path, name, range, frame, chunk and chain read', async () => {
      const id = await post(Buffer.from('forbidden fruit'));
      const manifest = await manifestTo(id);
      targets.set('fruit', id);
      targets.set('basket', manifest);
      const offset = JSON.parse((await gateway.get(`/tx/${id}/offset`)).body).offset;
      const ways: [string, () => Promise<number>][] = [
        ['id', () => statusOf(`/${id}`)],
        ['raw', () => statusOf(`/raw/${id}`)],
        ['range', () => statusOf(`/raw/${id}`, { range: 'bytes=0-3' })],
        ['manifest path', () => statusOf(`/${manifest}/page`)],
        ['manifest index', () => statusOf(`/${manifest}/`)],
        ['name', () => onHost('fruit.gateway.test')],
        ['manifest below a name', () => onHost('basket.gateway.test', '/page')],
        ['frame', () => statusOf(`/local/social/frame/${id}`)],
        ['HTML frame', () => statusOf(`/local/social/frame/${id}`, { accept: 'text/html' })],
        ['data of the transaction', () => statusOf(`/tx/${id}/data`)],
        ['chunk', () => statusOf(`/chunk/${offset}`)],
        ['bytes of a chunk', () => statusOf(`/chunk/${offset}/data`)],
        ['unconfirmed transaction', () => statusOf(`/unconfirmed_tx/${id}`)],
        ['resolver', () => statusOf('/gw/resolver/fruit')],
      ];
      for (const [way, ask] of ways) assert.ok([200, 206].includes(await ask()), `${way} before`);
      assert.deepEqual(
        await gateway.call('PUT', 'block-data', { id, source: 'court', notes: 'no. 7' }).then(brief),
        [200, { message: 'Content blocked', obeyedBy: ['gateway'] }],
      );
      for (const [way, ask] of ways) assert.equal(await ask(), 451, `${way} while blocked`);
      const answer = await gateway.get(`/raw/${id}`);
      assert.match(answer.body, new RegExp(`Blocked ID: ${id}`));
      const age = /max-age=([0-9]+)/.exec(answer.headers.get('cache-control') ?? '')?.[1];
      assert.ok(Number(age) <= 60);
      assert.equal(answer.body.includes('fruit'), false);
      assert.equal(await statusOf(`/tx/${id}`), 200, 'its header is no content');

      assert.deepEqual(await gateway.call('PUT', 'unblock-data', { id }).then(brief), [
        200,
        { message: 'Content unblocked', obeyedBy: ['gateway'] },
      ]);
      for (const [way, ask] of ways) assert.ok([200, 206].includes(await ask()), `${way} after`);
    });

    it('drops the cached copy', async () => {
      const data = Buffer.from('kept for a while');
      const id = await post(data);
      await until('it is cached', async () => {
        await gateway.get(`/raw/${id}`);
        return (await gateway.get(`/raw/${id}`)).headers.get('x-cache') === 'HIT';
      });
      await gateway.call('PUT', 'block-data', { id });
      await gateway.call('PUT', 'unblock-data', { id });
      assert.equal((await gateway.get(`/raw/${id}`)).headers.get('x-cache'), 'MISS');
    });

    it('refuses every copy of blocked content, also one that was never read before', async () => {
      const data = Buffer.from('many copies of one thing');
      const first = await post(data);
      const second = await post(data, [{ name: 'Copy', value: '2' }]);
      const other = await post(Buffer.from('something else'));
      const hex = Buffer.from(sha256(data), 'base64url').toString('hex');
      await gateway.call('PUT', 'block-data', { hash: hex });
      assert.deepEqual([await statusOf(`/raw/${first}`), await statusOf(`/${second}`)], [451, 451]);
      assert.equal(await statusOf(`/raw/${other}`), 200);
      await gateway.call('PUT', 'unblock-data', { hash: sha256(data) });
      assert.deepEqual([await statusOf(`/raw/${first}`), await statusOf(`/${second}`)], [200, 200]);
    });

    it('refuses the data and the chunks of a copy that was never read before', async () => {
      const data = Buffer.from('a copy that nobody has read');
      const id = await post(data);
      const { offset } = JSON.parse((await gateway.get(`/tx/${id}/offset`)).body);
      await gateway.inside.index.sql.run('UPDATE records SET hash = NULL, verified = 1');
      await gateway.call('PUT', 'block-data', { hash: sha256(data) });
      assert.equal((await gateway.inside.index.locate(id))?.hash, undefined, 'its hash is not known');
      const ways = [`/tx/${id}/data`, `/chunk/${offset}`, `/chunk/${offset}/data`];
      for (const way of ways) {
        await gateway.inside.index.sql.run('UPDATE records SET hash = NULL, verified = 1');
        assert.equal(await statusOf(way), 451, way);
      }
      await gateway.call('PUT', 'unblock-data', { hash: sha256(data) });
      for (const way of ways) assert.equal(await statusOf(way), 200, way);
    });

    it('does not give a blocked item away as a part of its bundle', async () => {
      const items = await Promise.all(
        ['innocent', 'guilty', 'bystander'].map((name) => makeItem({ data: Buffer.from(name.repeat(50)) })),
      );
      const [innocent, guilty] = items;
      assert.ok(innocent && guilty);
      const bundle = await postBundle(gateway.stack, items);
      const place = await until('the bundle is read', async () => {
        const located = await gateway.inside.index.locate(guilty.id);
        return located?.placement;
      });
      const offset = JSON.parse((await gateway.get(`/tx/${bundle}/offset`)).body).offset;
      const start = place.dataOffsetInRoot;
      const within = { range: `bytes=${start + 5}-${start + 9}` };
      const beside = { range: `bytes=0-${start - 1}` };
      for (const body of [{ id: guilty.id }, { hash: sha256(Buffer.from('guilty'.repeat(50))) }]) {
        await gateway.call('PUT', 'block-data', body);
        assert.equal(await statusOf(`/raw/${guilty.id}`), 451);
        assert.equal(await statusOf(`/raw/${innocent.id}`), 200);
        assert.equal(await statusOf(`/raw/${bundle}`), 451);
        assert.equal(await statusOf(`/raw/${bundle}`, within), 451);
        assert.equal(await statusOf(`/raw/${bundle}`, beside), 206);
        assert.equal(await statusOf(`/chunk/${offset}`), 451);
        assert.equal(await statusOf(`/tx/${bundle}/data`), 451);
        assert.equal(await statusOf(`/local/social/frame/${bundle}`), 451);
        await gateway.call('PUT', 'unblock-data', body);
        assert.equal(await statusOf(`/local/social/frame/${bundle}`), 200);
        assert.equal(await statusOf(`/raw/${bundle}`, within), 206);
        assert.equal(await statusOf(`/chunk/${offset}`), 200);
      }
    });

    it('keeps what is blocked in bundles closed while the list changes', async () => {
      const guilty = await makeItem({ data: Buffer.from('guilty all along') });
      const root = await postBundle(gateway.stack, [guilty]);
      await until(
        'the bundle is read',
        async () => (await gateway.inside.index.locate(guilty.id))?.placement,
      );
      const places = new BlockedPlaces();
      const regions = new BlockedRegions({ index: gateway.inside.index, places });
      const everything = { start: 0, end: 1_000_000 };
      regions.change(new Set([guilty.id]), new Set());
      await regions.learn();
      assert.equal(places.overlapping(root, everything, everything), guilty.id);
      regions.change(new Set([guilty.id, root]), new Set());
      assert.equal(places.overlapping(root, everything, everything), guilty.id, 'before it is read anew');
      await regions.learn();
      assert.equal(places.overlapping(root, everything, everything), guilty.id);
      regions.change(new Set([root]), new Set());
      await regions.learn();
      assert.equal(places.overlapping(root, everything, everything), undefined);
    });

    it('blocks a name with its undernames, or an undername alone', async () => {
      const id = await post(Buffer.from('under names'));
      for (const label of ['brand', 'shop_brand', 'blog_brand']) targets.set(label, id);
      const hosts = async () =>
        Promise.all(['brand', 'shop_brand', 'blog_brand'].map((label) => onHost(`${label}.gateway.test`)));
      assert.deepEqual(await hosts(), [200, 200, 200]);
      assert.deepEqual(await gateway.call('PUT', 'block-name', { name: 'Shop_Brand' }).then(brief), [
        200,
        { message: 'Name blocked', obeyedBy: ['gateway'] },
      ]);
      assert.deepEqual(await hosts(), [200, 451, 200]);
      await gateway.call('PUT', 'block-name', { name: 'BRAND', notes: 'all of it' });
      assert.deepEqual(await hosts(), [451, 451, 451]);
      assert.equal(await statusOf('/gw/resolver/brand'), 451);
      assert.equal(await statusOf(`/raw/${id}`), 200, 'only the name is blocked');
      assert.deepEqual(await gateway.call('PUT', 'unblock-name', { name: 'brand' }).then(brief), [
        200,
        { message: 'Name unblocked', obeyedBy: ['gateway'] },
      ]);
      await gateway.call('PUT', 'unblock-name', { name: 'shop_brand' });
      assert.deepEqual(await hosts(), [200, 200, 200]);
    });

    it('is kept through a restart and seen by another process', async () => {
      const id = await post(Buffer.from('for good'));
      await gateway.call('PUT', 'block-data', { id, source: 'list', notes: 'why' });
      await gateway.call('PUT', 'block-data', { id, source: 'other' });
      await gateway.restart();
      assert.equal(await statusOf(`/raw/${id}`), 451);
      const { body } = await gateway.call('GET', 'blocks');
      const [block] = (body as { ids: Record<string, unknown>[] }).ids;
      assert.deepEqual([block?.what, block?.source, block?.notes], [id, 'list', 'why']);
      // As another process would: past the list in memory.
      await gateway.inside.index.sql.run('DELETE FROM content_blocks WHERE what = ?', id);
      await gateway.inside.index.sql.run("UPDATE chain_state SET value = value + 1 WHERE name = 'blocks'");
      await until('the change is noticed', async () => (await statusOf(`/raw/${id}`)) === 200);
    });

    it('refuses what names nothing, and blocks nothing then', async () => {
      const before = (await gateway.call('GET', 'blocks')).body;
      const id = 'A'.repeat(43);
      const data = "Must provide 'id' or 'hash'";
      const name = "'name' must be a non-empty string";
      const bad: [string, unknown, string][] = [
        ['block-data', {}, data],
        ['block-data', [], data],
        ['block-data', { id: 'short' }, data],
        ['block-data', { id: 7 }, data],
        ['block-data', { hash: 'zz' }, data],
        ['block-data', { hash: 'f'.repeat(63) }, data],
        ['block-data', { id, hash: 'short' }, data],
        ['block-data', { id, source: 7 }, "'source' and 'notes' must be strings"],
        ['unblock-data', {}, data],
        ['unblock-data', { id: 7 }, "'id' and 'hash' must be strings"],
        ['block-name', {}, name],
        ['block-name', { name: '' }, name],
        ['block-name', { name: '  ' }, name],
        ['block-name', { name: ['a'] }, name],
        ['block-name', { name: 'a'.repeat(52) }, "'name' exceeds maximum length"],
        ...['a b', '-a', 'a-', '_', 'a_', 'ä', 'a.b', 'a'.repeat(43)].map(
          (given): [string, unknown, string] => ['block-name', { name: given }, "'name' can be no name"],
        ),
        ['unblock-name', { name: 7 }, name],
        ['unblock-name', { name: 'a'.repeat(52) }, "'name' exceeds maximum length"],
      ];
      for (const [route, body, words] of bad) {
        const answer = await gateway.call('PUT', route, body);
        assert.deepEqual([route, ...brief(answer)], [route, 400, words]);
      }
      assert.deepEqual((await gateway.call('GET', 'blocks')).body, before);
    });

    it('lifts a name again that is taken no more', async () => {
      const { sql } = gateway.inside.index;
      await sql.run("INSERT INTO content_blocks (kind, what, blocked_at) VALUES ('name', 'a b', 1)");
      await gateway.call('PUT', 'unblock-name', { name: 'a b' });
      assert.deepEqual((await gateway.call('GET', 'blocks')).body, {
        ...((await gateway.call('GET', 'blocks')).body as object),
        names: [],
      });
    });

    it('covers a bundle that was never unbundled, by the list of its items', async () => {
      await gateway.restart({ ANS104_UNBUNDLE_FILTER: '{"never": true}' });
      const items = await Promise.all(
        ['plain '.repeat(30), 'grave '.repeat(30)].map((data) => makeItem({ data: Buffer.from(data) })),
      );
      const [plain, grave] = items;
      assert.ok(plain && grave);
      await gateway.call('PUT', 'block-data', { id: grave.id });
      const bundle = await postBundle(gateway.stack, items);
      await until('it is indexed', async () => (await gateway.inside.index.locate(bundle))?.height);
      const { offset } = JSON.parse((await gateway.get(`/tx/${bundle}/offset`)).body);
      const start = 32 + 2 * 64 + plain.bytes.length;
      const part = (from: number, to: number) => statusOf(`/raw/${bundle}`, { range: `bytes=${from}-${to}` });
      assert.equal(await gateway.inside.index.locate(grave.id), undefined, 'it is not known where it lies');
      assert.deepEqual(
        [await statusOf(`/raw/${bundle}`), await part(start, start + 9), await part(0, start - 1)],
        [451, 451, 206],
      );
      // What one way learns the others know: each is the first once.
      for (const way of [
        `/raw/${bundle}`,
        `/chunk/${offset}`,
        `/chunk/${offset}/data`,
        `/tx/${bundle}/data`,
      ]) {
        await gateway.call('PUT', 'unblock-data', { id: grave.id });
        assert.equal(await statusOf(way), 200, way);
        await gateway.call('PUT', 'block-data', { id: grave.id });
        assert.equal(await statusOf(way), 451, way);
      }
      await gateway.call('PUT', 'unblock-data', { id: grave.id });
      await gateway.restart({});
    });

    it('tells in one line who did what, why and what came of it, and keeps that', async () => {
      const since = new Date().toISOString();
      const id = await post(Buffer.from('audited'));
      await gateway.call('PUT', 'block-data', { id, source: 'court', notes: `case ${'7'.repeat(5_000)}` });
      await gateway.call('PUT', 'block-data', { id, source: 'again' });
      await gateway.call('PUT', 'unblock-data', { id });
      await gateway.call('PUT', 'block-name', { name: 'audited' });
      await gateway.call('PUT', 'unblock-name', { name: 'audited' });
      await gateway.call('POST', 'prune-stable-data-items', { indexedAtThreshold: 1 });
      await gateway.call('GET', 'blocks');
      await fetch(`${gateway.url}/gw/admin/block-name`, { method: 'PUT', body: '{"name":"stranger"}' });
      await gateway.restart({});
      const { body } = await gateway.call('GET', `audit?since=${since}&limit=50`);
      const lines = (body as { lines: AuditLine[] }).lines.toReversed();
      assert.deepEqual(
        lines.map(({ action, kind, value, source, result }) => [action, kind, value, source, result]),
        [
          ['block', 'id', id, 'court', 'done'],
          ['block', 'id', id, 'again', 'no change'],
          ['unblock', 'id', id, undefined, 'done'],
          ['block', 'name', 'audited', undefined, 'done'],
          ['unblock', 'name', 'audited', undefined, 'done'],
          ['prune-stable-data-items', undefined, undefined, undefined, 'answered 200'],
        ],
      );
      assert.deepEqual(lines.at(-1)?.given, { indexedAtThreshold: 1 });
      const fingerprint = hash('sha256', adminKey, 'hex').slice(0, 8);
      for (const line of lines) {
        assert.equal(line.who, `key ${fingerprint}`);
        assert.equal(line.surface, 'gateway');
        assert.ok(Date.parse(line.at) >= Date.parse(since) && JSON.stringify(line).length < 4_000);
        assert.ok(!JSON.stringify(line).includes(adminKey));
      }
      for (const bad of ['since=yesterday', 'limit=0', 'limit=1001', 'limit=x']) {
        assert.equal((await gateway.call('GET', `audit?${bad}`)).status, 400, bad);
      }
    });

    it('tells followers what is blocked and where it lies, and when nothing has changed', async () => {
      const item = await makeItem({ data: Buffer.from('followed') });
      const root = await postBundle(gateway.stack, [item]);
      const place = await until(
        'the bundle is read',
        async () => (await gateway.inside.index.locate(item.id))?.placement,
      );
      await gateway.call('PUT', 'block-data', { id: item.id });
      const asked = await gateway.call('GET', 'blocklist?follower=router%20upload&everyMs=2000');
      const document = readBlockDocument(JSON.stringify(asked.body));
      assert.ok(document !== undefined);
      assert.ok(document.ids.includes(item.id));
      const start = place.dataOffsetInRoot;
      assert.deepEqual(
        document.places.find(({ id }) => id === item.id),
        { id: item.id, root, start, end: start + 8 },
      );
      const etag = asked.headers.get('etag') ?? '';
      const again = await gateway.get('/gw/admin/blocklist', {
        authorization: `Bearer ${adminKey}`,
        'if-none-match': etag,
      });
      assert.deepEqual([again.status, again.body], [304, '']);
      const lifted = await gateway.call('PUT', 'unblock-data', { id: item.id });
      assert.deepEqual((lifted.body as { obeyedBy: string[] }).obeyedBy, [
        'gateway',
        'router (another process, within 2 s)',
        'upload (another process, within 2 s)',
      ]);
      const changed = await gateway.call('GET', 'blocklist');
      assert.notEqual(changed.headers.get('etag'), etag);
      assert.equal(await statusOf('/gw/admin/blocklist'), 401);
    });

    it('leaves metadata searchable', async () => {
      const id = await post(Buffer.from('about it'));
      await gateway.call('PUT', 'block-data', { id });
      const query = `{ transaction(id: "${id}") { id } }`;
      assert.equal(JSON.parse(await send(`${gateway.url}/graphql`, { query })).data.transaction.id, id);
    });
  });

function brief(answer: { status: number; body: unknown }): [number, unknown] {
  return [answer.status, answer.body];
}
