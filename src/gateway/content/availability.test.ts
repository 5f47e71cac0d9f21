/** Whether content is there, over HTTP: every state by every way to it, GET and HEAD, whichever is asked first. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { globSync } from 'node:fs';
import { request } from 'node:http';
import { after, before, describe, test } from 'node:test';
import {
  type AdminGateway,
  type MadeItem,
  makeItem,
  namesOf,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import { engines, makeTransaction, send, text, until } from '../../../test/support/local-gateway.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { buildManifest, manifestContentType } from '../../formats/manifest/manifest.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { silentLog } from '../../kernel/testing.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import { createReadableProbe } from './readable-probe.ts';
import { gatewayWith, saying, serve } from './testing.ts';

const root = 'gateway.test';
const random = seededRandom(404);
const typed = [{ name: 'Content-Type', value: 'image/png' }];
const madeUp = (): string => random.bytes(32).toString('base64url');
const kept = 'public, max-age=60, must-revalidate';

for (const engine of engines)
  describe(`whether content is there (${engine.name})`, () => {
    let gateway: AdminGateway;
    let other: Awaited<ReturnType<typeof serve>>;
    let otherFails = false;
    const names = new Map<string, string>();
    const elsewhere = new Map<string, Buffer>();

    before(async () => {
      other = await serve((asked, response) => {
        const bytes = elsewhere.get(asked.url?.split('/')[2] ?? '');
        if (otherFails) saying(500)(asked, response);
        else (bytes === undefined ? saying(404) : gatewayWith(bytes))(asked, response);
      });
      gateway = await startAdminGateway({
        ...engine.options,
        names: [namesOf(names)],
        overrides: { ARNS_ROOT_HOST: root, TRUSTED_GATEWAYS_URLS: other.url, SANDBOX_ENABLED: 'false' },
      });
    });
    after(() => gateway.stop());

    interface Got {
      readonly status: number;
      readonly header: (name: string) => string | undefined;
      readonly body: Buffer;
    }

    function ask(method: string, path: string, headers: Record<string, string> = {}): Promise<Got> {
      return new Promise((resolve, reject) => {
        request(`${gateway.url}${path}`, { method, headers, agent: false }, (answer) => {
          const pieces: Buffer[] = [];
          answer.on('data', (piece: Buffer) => pieces.push(piece));
          answer.once('end', () => {
            const header = (name: string) => answer.headers[name]?.toString();
            resolve({ status: answer.statusCode ?? 0, header, body: Buffer.concat(pieces) });
          });
        })
          .once('error', reject)
          .end();
      });
    }

    /** Signed, and not posted. */
    async function sign(data: Buffer, format: 1 | 2 = 2) {
      const made = await makeTransaction(gateway.stack.node.url, data, typed);
      let { transaction } = made;
      if (format === 1) {
        const { lastTx, reward, owner, tags } = transaction;
        const fields = { format, lastTx, reward, owner, tags, data, dataSize: data.length } as const;
        transaction = await signTransactionAsync(newTransaction(fields), testArweaveKey.privateKey);
      }
      const header = transactionToJson(transaction, 'header');
      return {
        id: transaction.id.toString('base64url'),
        post: () => made.post(),
        postHeader: () => send(`${gateway.url}/tx`, header),
        postInline: (bytes: Buffer) =>
          fetch(`${gateway.url}/tx`, {
            method: 'POST',
            body: JSON.stringify({ ...header, data: bytes.toString('base64url') }),
          }),
      };
    }

    async function place(item: MadeItem): Promise<void> {
      await postBundle(gateway.stack, [item]);
      await until('it is placed', async () => (await gateway.inside.index.locate(item.id))?.placement);
    }

    function makeSite(paths: ReadonlyMap<string, string>, indexPath?: string): Promise<MadeItem> {
      return makeItem({
        data: buildManifest({ paths, ...(indexPath !== undefined && { indexPath }) }),
        tags: [{ name: 'Content-Type', value: manifestContentType }],
      });
    }

    async function mine(id: string): Promise<void> {
      await text(`${gateway.stack.node.url}/mine`);
      await until('it is mined', async () => (await gateway.inside.index.locate(id))?.height !== undefined);
    }

    const far = { 'x-ar-io-hops': '3' };
    /** All that lead to content, by the id alone, a manifest and a name. */
    type Way = { readonly path: string; readonly headers?: Record<string, string>; readonly record?: true };
    function waysTo(id: string, site: string, name: string): Way[] {
      return [
        { path: `/${id}` },
        { path: `/raw/${id}` },
        { path: `/local/social/frame/${id}`, record: true },
        { path: `/local/social/frame/${id}`, headers: { accept: 'text/html' } },
        { path: `/${site}/${name}` },
        { path: '/', headers: { host: `${name}.${root}` } },
      ];
    }

    interface State {
      readonly name: string;
      readonly id: string;
      readonly status: number;
      readonly cacheControl?: string;
      readonly headers?: Record<string, string>;
      /** Where no index has a record to show. */
      readonly isElsewhere?: true;
    }

    async function agree(states: readonly State[], site: MadeItem): Promise<void> {
      for (const { name, id, status, cacheControl, headers, isElsewhere } of states) {
        names.set(name, id);
        for (const way of waysTo(id, site.id, name)) {
          const isRecord = way.record === true && isElsewhere === true && status < 500;
          const expected = isRecord ? [404, 'no-store'] : [status, cacheControl];
          const sent = { ...way.headers, ...headers };
          for (const method of ['HEAD', 'GET', 'HEAD']) {
            const got = await ask(method, way.path, sent);
            const what = `${method} ${way.path} ${JSON.stringify(sent)}: ${name}`;
            assert.equal(got.status, expected[0], what);
            if (cacheControl !== undefined) assert.equal(got.header('cache-control'), expected[1], what);
            const get = await ask('GET', way.path, sent);
            for (const one of ['content-length', 'content-type', 'cache-control', 'x-ar-io-trusted']) {
              assert.equal(got.header(one), get.header(one), `${what}: ${one}`);
            }
            if (got.status >= 400) assert.equal(got.header('x-ar-io-trusted'), undefined, what);
          }
        }
      }
    }

    test('HEAD says what GET does in every state, by every way', async () => {
      const data = random.bytes(5_000);
      const [inline, waiting, here, refused] = await Promise.all([
        sign(data),
        sign(random.bytes(3_000)),
        sign(random.bytes(4_000)),
        sign(random.bytes(4_000)),
      ]);
      const only = madeUp();
      elsewhere.set(only, random.bytes(2_000));
      const absent = { name: 'absent', id: madeUp(), status: 404, cacheControl: kept };
      const down = {
        name: 'down',
        id: madeUp(),
        status: 503,
        cacheControl: 'no-store',
        isElsewhere: true,
      } as const;
      const notAsked = { name: 'not-asked', status: 404, cacheControl: 'no-store', headers: far } as const;
      const beforeBlock: State[] = [
        { name: 'pending', id: inline.id, status: 200, cacheControl: 'no-store' },
        { name: 'pending-without-data', id: waiting.id, status: 404, cacheControl: 'no-store' },
      ];
      const afterBlock: State[] = [
        { name: 'here', id: here.id, status: 200 },
        { name: 'mined-without-data', id: waiting.id, status: 502, cacheControl: 'no-store' },
        { name: 'blocked', id: refused.id, status: 451, cacheControl: kept },
        absent,
        { ...notAsked, id: only, isElsewhere: true },
        { name: 'elsewhere', id: only, status: 200, isElsewhere: true },
      ];
      const all = [...beforeBlock, ...afterBlock, down];
      const site = await makeSite(new Map(all.map(({ name, id }) => [name, id])));
      await place(site);
      await Promise.all([inline.postInline(data), waiting.postHeader(), here.post(), refused.post()]);
      await agree(beforeBlock, site);
      await mine(waiting.id);
      await mine(refused.id);
      await gateway.call('PUT', 'block-data', { id: refused.id });
      await agree(afterBlock, site);
      // One that fails rests, and may have it all the same.
      otherFails = true;
      assert.equal((await ask('GET', `/raw/${madeUp()}`)).status, 502);
      await agree([down], site);
      otherFails = false;
      await gateway.restart();
    });

    test('data that came with a transaction is read where it was posted, before its block and after', async () => {
      for (const format of [1, 2] as const) {
        const data = random.bytes(9_000);
        const made = await sign(data, format);
        const { id } = made;
        await made.postInline(data);
        for (const path of [`/${id}`, `/raw/${id}`]) {
          const whole = await ask('GET', path);
          assert.ok(whole.body.equals(data), `version ${format}: ${whole.status}`);
          assert.equal(whole.header('content-type'), 'image/png');
          assert.equal(whole.header('x-ar-io-stable'), 'false');
          assert.equal(whole.header('cache-control'), 'no-store');
          const part = await ask('GET', path, { range: 'bytes=10-19' });
          assert.deepEqual([part.status, part.body], [206, data.subarray(10, 20)]);
        }
        await made.postInline(Buffer.from(data).reverse());
        assert.ok(
          (await ask('GET', `/raw/${id}`)).body.equals(data),
          'other bytes are not taken for its own',
        );
        if (format === 1) {
          // Nodes keep the data of version 1 with it.
          await gateway.inside.content.dropCopies([createHash('sha256').update(data).digest('base64url')]);
          assert.ok((await ask('GET', `/raw/${id}`)).body.equals(data));
        }
        await mine(id);
        await until('it is mined for readers too', async () => {
          const answer = await ask('GET', `/raw/${id}`);
          assert.ok(answer.body.equals(data));
          return answer.header('cache-control') !== 'no-store';
        });
      }
    });

    test('what the operator blocked does not come back by being posted again', async () => {
      const data = random.bytes(6_000);
      const made = await sign(data);
      const files = () => {
        const digest = createHash('sha256').update(data).digest('hex');
        return globSync(`**/${digest}`, { cwd: gateway.cacheFolder }).length;
      };
      await made.postInline(data);
      assert.equal(files(), 1);
      await gateway.call('PUT', 'block-data', { id: made.id });
      await until('its copy is gone', () => files() === 0);
      assert.ok((await made.postInline(data)).ok);
      assert.equal(files(), 0);
      assert.equal((await ask('GET', `/raw/${made.id}`)).status, 451);
    });

    test('an item that was asked for before its upload is served as soon as it is indexed', async () => {
      const data = random.bytes(700);
      const item = await makeItem({ data, tags: typed });
      for (const method of ['GET', 'HEAD']) {
        const before = await ask(method, `/${item.id}`);
        assert.deepEqual([before.status, before.header('cache-control')], [404, kept]);
      }
      await gateway.call('POST', 'queue-data-item', [item.header]);
      const announced = await ask('GET', `/${item.id}`);
      assert.deepEqual([announced.status, announced.header('cache-control')], [404, 'no-store']);
      await place(item);
      assert.ok((await ask('GET', `/${item.id}`)).body.equals(data));
    });

    test('what a read found missing is not promised to HEAD, and is once it is there', async () => {
      const made = await sign(random.bytes(3_000));
      const { id } = made;
      await made.postHeader();
      await mine(id);
      for (const method of ['HEAD', 'GET', 'HEAD']) {
        const got = await ask(method, `/raw/${id}`);
        assert.deepEqual([got.status, got.header('cache-control')], [502, 'no-store'], method);
      }
      await made.post();
      await until('it is seeded', async () => (await ask('HEAD', `/raw/${id}`)).status === 200);
      const head = await ask('HEAD', `/raw/${id}`);
      assert.equal(head.header('content-length'), '3000');
      assert.equal((await ask('GET', `/raw/${id}`)).status, 200);
    });

    test('a request header makes no absence that a cache may keep, of content or of a name', async () => {
      const id = madeUp();
      elsewhere.set(id, random.bytes(500));
      for (const headers of [far, { 'x-ar-io-via': new URL(other.url).host }]) {
        for (const path of [`/${id}`, `/raw/${id}`, `/local/social/frame/${id}`, '/ar-io/resolver/nobody']) {
          for (const method of ['GET', 'HEAD']) {
            const got = await ask(method, path, headers);
            assert.deepEqual(
              [got.status, got.header('cache-control')],
              [404, 'no-store'],
              `${method} ${path}`,
            );
          }
        }
        const page = await ask('GET', '/', { ...headers, host: `nobody.${root}`, accept: 'text/html' });
        assert.deepEqual([page.status, page.header('cache-control')], [404, 'no-store']);
      }
      assert.equal((await ask('GET', `/raw/${id}`)).status, 200);
      const nobody = await ask('GET', '/gw/resolver/nobody');
      assert.deepEqual([nobody.status, nobody.header('cache-control')], [404, kept]);
    });

    test('the data of an item is a field of it', async () => {
      const data = random.bytes(2_000);
      const item = await makeItem({ data, tags: typed });
      await place(item);
      const got = await ask('GET', `/tx/${item.id}/data`);
      assert.deepEqual([got.status, got.body.toString()], [200, data.toString('base64url')]);
      assert.equal(got.header('content-type'), 'text/plain; charset=utf-8');
      const head = await ask('HEAD', `/tx/${item.id}/data`);
      assert.deepEqual([head.status, head.header('content-length')], [200, String(got.body.length)]);
      const lost = await makeItem({ data: random.bytes(900), tags: typed });
      await gateway.call('POST', 'queue-data-item', [lost.header]);
      const waiting = await ask('GET', `/tx/${lost.id}/data`);
      const served = await ask('GET', `/${lost.id}`);
      assert.deepEqual(
        [waiting.status, waiting.header('cache-control')],
        [served.status, served.header('cache-control')],
      );
    });

    test('HEAD of a manifest without its slash has the head of GET', async () => {
      const site = await makeSite(new Map([['index.html', madeUp()]]), 'index.html');
      await place(site);
      for (const method of ['GET', 'HEAD']) {
        const got = await ask(method, `/${site.id}`);
        assert.deepEqual(
          [got.status, got.header('location'), got.header('content-length')],
          [301, `/${site.id}/`, '0'],
          method,
        );
      }
    });

    test('a frame refuses what is too large in words, as it does everything else', async () => {
      const answer = await fetch(`${gateway.url}/local/social/frame/${madeUp()}`, {
        method: 'POST',
        body: 'x'.repeat(64 * 1024 + 1),
      });
      assert.deepEqual(
        [answer.status, answer.headers.get('content-type'), await answer.text()],
        [413, 'text/plain; charset=utf-8', 'Payload too large'],
      );
    });

    test('ids that were had are read again and again, and it is told when none can be', async (t) => {
      const item = await makeItem({ data: random.bytes(2_000), tags: typed });
      await place(item);
      assert.equal((await ask('GET', `/raw/${item.id}`)).status, 200);
      const { index, content } = gateway.inside;
      await until('its hash is known', async () => (await index.locate(item.id))?.hash !== undefined);
      let isBroken = false;
      let reads = 0;
      const metrics = new Metrics();
      const bytes: ByteSource = {
        async stream(id, range) {
          reads += 1;
          if (isBroken) throw new Error('the disk is gone');
          return content.bytes.stream(id, range);
        },
      };
      const probe = createReadableProbe({ index, bytes, metrics, log: silentLog, everyMs: 1 });
      for (const job of probe.jobs ?? []) job.start();
      t.after(() => Promise.all(probe.jobs?.map((job) => job.stop()) ?? []));
      await until('some were read', () => reads > 6);
      const fatal = () => probe.fatal?.() ?? [];
      assert.deepEqual(fatal(), []);
      isBroken = true;
      await until('it is seen', () => fatal().length > 0);
      assert.match(fatal()[0] ?? '', /^A known id cannot be read: [\w-]{43}: the disk is gone\.$/);
      assert.match(await metrics.text(), /^gateway_known_id_unreadable 1$/m);
      isBroken = false;
      await until('it is over', () => fatal().length === 0);
    });
  });
