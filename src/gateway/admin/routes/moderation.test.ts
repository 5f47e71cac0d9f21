/** What is blocked stays in, on every way to the bytes; what is lifted is served again at once. Also on TEST_DATABASE_URL. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  makeItem,
  namesOf,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, send, text, until } from '../../../../test/support/local-gateway.ts';
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
        [200, { message: 'Content blocked' }],
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
        { message: 'Content unblocked' },
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
      const regions = new BlockedRegions(gateway.inside.index);
      const everything = { start: 0, end: 1_000_000 };
      regions.change(new Set([guilty.id]), new Set());
      await regions.learn();
      assert.equal(regions.overlapping(root, everything, everything), guilty.id);
      regions.change(new Set([guilty.id, root]), new Set());
      assert.equal(regions.overlapping(root, everything, everything), guilty.id, 'before it is read anew');
      await regions.learn();
      assert.equal(regions.overlapping(root, everything, everything), guilty.id);
      regions.change(new Set([root]), new Set());
      await regions.learn();
      assert.equal(regions.overlapping(root, everything, everything), undefined);
    });

    it('blocks a name with its undernames, or an undername alone', async () => {
      const id = await post(Buffer.from('under names'));
      for (const label of ['brand', 'shop_brand', 'blog_brand']) targets.set(label, id);
      const hosts = async () =>
        Promise.all(['brand', 'shop_brand', 'blog_brand'].map((label) => onHost(`${label}.gateway.test`)));
      assert.deepEqual(await hosts(), [200, 200, 200]);
      assert.deepEqual(await gateway.call('PUT', 'block-name', { name: 'Shop_Brand' }).then(brief), [
        200,
        { message: 'Name blocked' },
      ]);
      assert.deepEqual(await hosts(), [200, 451, 200]);
      await gateway.call('PUT', 'block-name', { name: 'BRAND', notes: 'all of it' });
      assert.deepEqual(await hosts(), [451, 451, 451]);
      assert.equal(await statusOf('/gw/resolver/brand'), 451);
      assert.equal(await statusOf(`/raw/${id}`), 200, 'only the name is blocked');
      assert.deepEqual(await gateway.call('PUT', 'unblock-name', { name: 'brand' }).then(brief), [
        200,
        { message: 'Name unblocked' },
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
        ['unblock-name', { name: 7 }, name],
        ['unblock-name', { name: 'a'.repeat(52) }, "'name' exceeds maximum length"],
      ];
      for (const [route, body, words] of bad) {
        const answer = await gateway.call('PUT', route, body);
        assert.deepEqual([route, ...brief(answer)], [route, 400, words]);
      }
      assert.deepEqual((await gateway.call('GET', 'blocks')).body, before);
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
