/**
 * Every way to bytes, one by one: each serves them before the block, none while it holds, each again at once when it
 * is lifted; by id and by hash; also at a second gateway on the same database, a second later at most. Also on
 * TEST_DATABASE_URL.
 */
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
import { isTxId } from '../../../formats/base64url.ts';
import { sandboxLabel } from '../../../formats/sandbox-label.ts';

interface Asked {
  readonly method?: string;
  readonly host?: string;
  readonly headers?: Record<string, string>;
}

function ask(base: string, path: string, { method = 'GET', host, headers = {} }: Asked = {}) {
  return new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>(
    (resolve, reject) => {
      const { hostname, port } = new URL(base);
      const sent = { ...headers, ...(host !== undefined && { host }) };
      httpRequest({ hostname, port, path, method, headers: sent }, (answer) => {
        const pieces: Buffer[] = [];
        answer.on('data', (piece: Buffer) => pieces.push(piece));
        answer.on('end', () =>
          resolve({
            status: answer.statusCode ?? 0,
            body: Buffer.concat(pieces).toString('latin1'),
            headers: answer.headers,
          }),
        );
      })
        .on('error', reject)
        .end();
    },
  );
}

for (const engine of engines)
  describe(`every way to blocked bytes on ${engine.name}`, () => {
    const names = new Map<string, string>();
    let gateway: AdminGateway;
    before(async () => {
      gateway = await startAdminGateway({
        ...engine.options,
        overrides: { ARNS_ROOT_HOST: 'gateway.test', SANDBOX_ENABLED: 'false' },
        names: [namesOf(names)],
      });
    });
    after(() => gateway.stop());

    async function post(data: Buffer, tags: { name: string; value: string }[] = []) {
      const made = await makeTransaction(gateway.stack.node.url, data, tags);
      await made.post();
      await text(`${gateway.stack.node.url}/mine`);
      const id = made.transaction.id.toString('base64url');
      const { index } = gateway.inside;
      await until('it is indexed', async () => (await index.locate(id))?.height !== undefined);
      return id;
    }
    const manifest = (value: object) =>
      post(Buffer.from(JSON.stringify({ manifest: 'arweave/paths', version: '0.2.0', ...value })), [
        { name: 'Content-Type', value: 'application/x.arweave-manifest+json' },
      ]);

    for (const by of ['id', 'hash'] as const) {
      it(`is closed by ${by}, at once here and within a second elsewhere`, async (t) => {
        const secret = `the bytes that are blocked by ${by}`;
        const id = await post(Buffer.from(secret), [{ name: 'Content-Type', value: 'text/plain' }]);
        const pages = await manifest({ index: { path: 'a' }, paths: { a: { id } }, fallback: { id } });
        names.set(`thing-${by}`, id);
        names.set(`under_thing-${by}`, id);
        names.set(`pages-${by}`, pages);
        const { offset } = JSON.parse((await ask(gateway.url, `/tx/${id}/offset`)).body);
        const apexId = await gateway.stack.addGateway({ APEX_TX_ID: id });
        const apexName = await gateway.stack.addGateway({ APEX_ARNS_NAME: `thing-${by}` });
        const sandboxed = await gateway.stack.addGateway({ SANDBOX_ENABLED: 'true' });
        t.after(() => Promise.all([apexId, apexName, sandboxed].map((other) => other.drain(0))));

        const here = (path: string, asked?: Asked) => () => ask(gateway.url, path, asked);
        const root = 'gateway.test';
        assert.ok(isTxId(id));
        const sandbox = `${sandboxLabel(id)}.${root}`;
        const ways: Record<string, () => ReturnType<typeof ask>> = {
          'the id': here(`/${id}`),
          'the raw id': here(`/raw/${id}`),
          'HEAD of the id': here(`/${id}`, { method: 'HEAD' }),
          'HEAD of the raw id': here(`/raw/${id}`, { method: 'HEAD' }),
          'a range': here(`/raw/${id}`, { headers: { range: 'bytes=4-8' } }),
          'several ranges': here(`/raw/${id}`, { headers: { range: 'bytes=0-2,6-9' } }),
          'a manifest’s child': here(`/${pages}/a`),
          'a manifest’s index': here(`/${pages}/`),
          'a manifest’s fallback': here(`/${pages}/no/such/path`),
          'a name': here('/', { host: `thing-${by}.${root}` }),
          'an undername': here('/', { host: `under_thing-${by}.${root}` }),
          'a manifest below a name': here('/a', { host: `pages-${by}.${root}` }),
          'a fallback below a name': here('/nowhere', { host: `pages-${by}.${root}` }),
          'a frame': here(`/local/social/frame/${id}`, { headers: { accept: 'text/html' } }),
          'a posted frame': here(`/local/social/frame/${id}`, { method: 'POST' }),
          'the frame’s other name': here(`/local/farcaster/frame/${id}`),
          'the data of the transaction': here(`/tx/${id}/data`),
          'a chunk': here(`/chunk/${offset}`),
          'the bytes of a chunk': here(`/chunk/${offset}/data`),
          'what another gateway asks': here(`/raw/${id}`, {
            headers: { 'x-ar-io-hops': '1', 'x-ar-io-via': 'other.test' },
          }),
        };
        const elsewhere: typeof ways = {
          'the raw id in another process': () => ask(apexName.url, `/raw/${id}`),
          'the apex': () => ask(apexId.url, '/', { host: root }),
          'HEAD of the apex': () => ask(apexId.url, '/', { host: root, method: 'HEAD' }),
          'the name at the apex': () => ask(apexName.url, '/', { host: root }),
          'the sandbox': () => ask(sandboxed.url, `/${id}`, { host: sandbox }),
          'a range in the sandbox': () =>
            ask(sandboxed.url, `/${id}`, { host: sandbox, headers: { range: 'bytes=0-3' } }),
        };

        // Again and again: the second answer may come from memory, the third without a route.
        for (let time = 0; time < 3; time += 1) {
          for (const [way, go] of Object.entries({ ...ways, ...elsewhere })) {
            assert.ok([200, 206].includes((await go()).status), `${way} is open before`);
          }
        }
        const what = by === 'id' ? { id } : { hash: hash('sha256', secret, 'hex') };
        assert.equal((await gateway.call('PUT', 'block-data', what)).status, 200);
        for (const [way, go] of Object.entries(ways)) {
          const { status, body, headers } = await go();
          assert.equal(status, 451, `${way} is closed`);
          assert.ok(!body.includes('bytes that'), `${way} gives nothing away`);
          const age = /max-age=([0-9]+)/.exec(String(headers['cache-control']))?.[1];
          assert.ok(age === undefined || Number(age) <= 60, `${way} is not cached for long`);
        }
        for (const [way, go] of Object.entries(elsewhere)) {
          await until(`${way} is closed`, async () => (await go()).status === 451);
        }

        const graphql = JSON.parse(
          await send(`${gateway.url}/graphql`, {
            query: `{ transaction(id: "${id}") { id data { size } } }`,
          }),
        );
        const link = `/${graphql.data.transaction.id}`;
        assert.equal((await ask(gateway.url, link)).status, 451, 'what GraphQL finds is closed');

        assert.equal((await gateway.call('PUT', 'unblock-data', what)).status, 200);
        for (const [way, go] of Object.entries(ways)) {
          assert.ok([200, 206].includes((await go()).status), `${way} is open again`);
        }
        for (const [way, go] of Object.entries(elsewhere)) {
          await until(`${way} is open again`, async () => [200, 206].includes((await go()).status));
        }
      });
    }

    it('is closed for a manifest as a whole, with all that is read through it', async () => {
      const child = await post(Buffer.from('an innocent page'));
      const pages = await manifest({ index: { path: 'a' }, paths: { a: { id: child } } });
      for (let time = 0; time < 3; time += 1) {
        assert.equal((await ask(gateway.url, `/${pages}/a`)).status, 200);
      }
      await gateway.call('PUT', 'block-data', { id: pages });
      assert.equal((await ask(gateway.url, `/${pages}/a`)).status, 451);
      assert.equal((await ask(gateway.url, `/raw/${child}`)).status, 200);
      await gateway.call('PUT', 'unblock-data', { id: pages });
      const content = (await ask(gateway.url, `/raw/${pages}`)).body;
      await gateway.call('PUT', 'block-data', { hash: hash('sha256', content, 'base64url') });
      assert.equal((await ask(gateway.url, `/${pages}/a`)).status, 451);
      await gateway.call('PUT', 'unblock-data', { hash: hash('sha256', content, 'hex') });
      assert.equal((await ask(gateway.url, `/${pages}/a`)).status, 200);
    });

    it('gives another gateway nothing to serve', async (t) => {
      const id = await post(Buffer.from('not for peers either'));
      await gateway.call('PUT', 'block-data', { id });
      const peer = await startAdminGateway({ overrides: { TRUSTED_GATEWAYS_URLS: gateway.url } });
      t.after(() => peer.stop());
      const refused = await ask(peer.url, `/raw/${id}`);
      assert.ok(refused.status >= 400 && !refused.body.includes('peers'), `${refused.status}`);
      const other = await post(Buffer.from('for everybody'));
      assert.equal((await ask(peer.url, `/raw/${other}`)).status, 200, 'one refusal closes nothing else');
      await gateway.call('PUT', 'unblock-data', { id });
      await until(
        'the peer has it',
        async () => (await ask(peer.url, `/raw/${id}`)).body === 'not for peers either',
      );
    });

    it('keeps the place of an item closed that is pruned from the index', async () => {
      const guilty = await makeItem({ data: Buffer.from('guilty '.repeat(40)) });
      const bundle = await postBundle(gateway.stack, [
        await makeItem({ data: Buffer.from('innocent '.repeat(40)) }),
        guilty,
      ]);
      await text(`${gateway.stack.node.url}/mine/60`);
      const place = await until('it is stable', async () => {
        const located = await gateway.inside.index.locate(guilty.id);
        return located?.stable && located.placement;
      });
      const start = place.dataOffsetInRoot;
      const part = async (from: number, to: number) =>
        (await ask(gateway.url, `/raw/${bundle}`, { headers: { range: `bytes=${from}-${to}` } })).status;
      await gateway.call('PUT', 'block-data', { id: guilty.id });
      assert.deepEqual([await part(start, start + 5), await part(0, start - 1)], [451, 206]);
      const soon = Math.floor(Date.now() / 1000) + 3;
      await gateway.call('POST', 'prune-stable-data-items', { indexedAtThreshold: soon });
      assert.equal((await gateway.inside.index.locate(guilty.id))?.isPruned, true);
      await gateway.call('PUT', 'block-data', { id: 'A'.repeat(43) });
      assert.deepEqual([await part(start, start + 5), await part(0, start - 1)], [451, 206]);
      await gateway.restart();
      assert.deepEqual([await part(start, start + 5), await part(0, start - 1)], [451, 206]);
      await gateway.call('PUT', 'unblock-data', { id: guilty.id });
      assert.equal(await part(start, start + 5), 206);
      assert.deepEqual(await gateway.inside.index.sql.all('SELECT id FROM blocked_places'), []);
    });

    it('keeps content closed that comes into the index only after it was blocked', async () => {
      const made = await makeTransaction(gateway.stack.node.url, Buffer.from('blocked before it came'));
      const id = made.transaction.id.toString('base64url');
      await gateway.call('PUT', 'block-data', { id });
      await made.post();
      await text(`${gateway.stack.node.url}/mine`);
      await until('it is indexed', async () => (await gateway.inside.index.locate(id))?.height !== undefined);
      const { offset } = JSON.parse((await ask(gateway.url, `/tx/${id}/offset`)).body);
      assert.equal((await ask(gateway.url, `/raw/${id}`)).status, 451);
      await until(
        'its chunks are closed',
        async () => (await ask(gateway.url, `/chunk/${offset}`)).status === 451,
      );
    });
  });
