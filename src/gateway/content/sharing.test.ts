/**
 * Several gateway processes on one database, and gateways that ask each other. Each has a cache of its own; what
 * one learnt is known to the other. On SQLite, and on PostgreSQL where TEST_DATABASE_URL names a server.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { connect, createServer, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import {
  type AdminGateway,
  type MadeItem,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../test/support/admin-gateway.ts';
import {
  engines,
  type LocalStack,
  send,
  startLocalStack,
  text,
  until,
} from '../../../test/support/local-gateway.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { buildManifest, manifestContentType } from '../../formats/manifest/manifest.ts';
import type { Surface } from '../../kernel/part.ts';
import type { BlobCache } from '../../storage/blobs/cache/cache.ts';
import { openContentCache } from './part.ts';

const random = seededRandom(2);
const typed = (value: string) => [{ name: 'Content-Type', value }];

for (const engine of engines)
  describe(`two gateways on one database (${engine.name})`, () => {
    let stack: LocalStack;
    let other: Surface;
    let page: MadeItem;
    let site: MadeItem;
    const data = random.bytes(400_000);
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-shared-'));

    before(async () => {
      const caches: BlobCache[] = [];
      for (const name of ['one', 'two']) {
        const DATA_DIR = join(folder, name);
        caches.push(await openContentCache({ DATA_DIR, CONTIGUOUS_DATA_CACHE_MAX_BYTES: 64 * 1024 * 1024 }));
      }
      stack = await startLocalStack({
        ...engine.options,
        deps: () => {
          const cache = caches.shift();
          assert.ok(cache !== undefined);
          return { cache };
        },
      });
      other = await stack.addGateway({ START_WRITERS: 'false' });
      page = await makeItem({ data, tags: typed('text/html') });
      const paths = new Map([['index.html', page.id]]);
      site = await makeItem({
        data: buildManifest({ paths, indexPath: 'index.html' }),
        tags: typed(manifestContentType),
      });
      await postBundle(stack, [page, site]);
      await text(`${stack.node.url}/mine/3`);
    });
    after(async () => {
      await stack.stop();
      rmSync(folder, { recursive: true, force: true });
    });

    const both = () => [stack.gateway.url, other.url];

    test('answer the same by id, path, range, GraphQL and chain read', async () => {
      for (const url of both()) {
        await until('the site is known', async () => {
          const answer = await fetch(`${url}/raw/${site.id}`, { method: 'HEAD' });
          return answer.headers.get('x-ar-io-root-transaction-id');
        });
      }
      const answers = await Promise.all(
        both().map(async (url) => {
          const bytes = async (path: string, headers: Record<string, string> = {}) => {
            const answer = await fetch(`${url}${path}`, { headers });
            return createHash('sha256')
              .update(Buffer.from(await answer.arrayBuffer()))
              .digest('hex');
          };
          const query = `{ transactions(ids: ["${page.id}", "${site.id}"]) { edges { cursor node { id bundledIn { id } block { id height } } } } }`;
          return {
            whole: await bytes(`/raw/${page.id}`),
            path: await bytes(`/${site.id}/index.html`),
            part: await bytes(`/raw/${page.id}`, { range: 'bytes=100-300000' }),
            search: await send(`${url}/graphql`, { query }),
            block: await text(`${url}/block/height/1`),
          };
        }),
      );
      assert.deepEqual(answers[0], answers[1]);
      assert.equal(answers[0]?.whole, createHash('sha256').update(data).digest('hex'));
    });

    test('what one learnt the other knows, and one goes on without the other', async () => {
      const etag = `"${createHash('sha256').update(data).digest('base64url')}"`;
      await until('the hash is known to both', async () => {
        const heads = await Promise.all(
          both().map((url) => fetch(`${url}/raw/${page.id}`, { method: 'HEAD' })),
        );
        return heads.every((head) => head.headers.get('etag') === etag);
      });
      await other.stop();
      assert.equal((await fetch(`${stack.gateway.url}/raw/${page.id}`)).status, 200);
    });
  });

describe('two gateways that trust each other', () => {
  let first: AdminGateway;
  let second: AdminGateway;
  let proxy: SwitchableProxy;
  before(async () => {
    proxy = await openSwitchableProxy();
    second = await startAdminGateway({ overrides: { TRUSTED_GATEWAYS_URLS: proxy.url } });
    first = await startAdminGateway({ overrides: { TRUSTED_GATEWAYS_URLS: second.url } });
    proxy.leadTo(first.url);
  });
  after(async () => {
    await first.stop();
    await second.stop();
    await proxy.close();
  });

  test('say together that nobody has something, without waiting until the other gives up', async () => {
    const unknown = `${'B'.repeat(42)}A`;
    const answers = await Promise.all(
      [first, second, first, second].map(({ url }) => fetch(`${url}/raw/${unknown}`)),
    );
    assert.deepEqual(
      answers.map(({ status }) => status),
      [404, 404, 404, 404],
    );
    // For a name they are not given long: a machine that was held up is asked again.
    await until('both say that nobody has the name', async () => {
      const names = await Promise.all(
        [first, second].map(({ url }) => fetch(`${url}/gw/resolver/nobody-has-this`)),
      );
      return names.every(({ status }) => status === 404);
    });
  });

  test('have what the other has, and say where it came from', async () => {
    const item = await makeItem({ data: random.bytes(5_000), tags: typed('image/png') });
    await postBundle(first.stack, [item]);
    await until('it is read', async () => (await first.inside.index.locate(item.id))?.placement);
    const answers: Response[] = [];
    for (let round = 0; round < 2; round += 1) {
      const answer = await fetch(`${second.url}/raw/${item.id}`);
      await answer.arrayBuffer();
      answers.push(answer);
    }
    assert.deepEqual(
      answers.map(({ status }) => status),
      [200, 200],
    );
    assert.deepEqual(
      answers.map(({ headers }) => headers.get('x-cache')),
      ['MISS', 'HIT'],
    );
    assert.equal(answers[0]?.headers.get('x-ar-io-hops'), '2');
    assert.equal(answers[0]?.headers.get('content-type'), 'image/png');
    const peers = (await (await fetch(`${second.url}/gw/peers`)).json()) as {
      gateways: Record<string, Record<string, unknown>>;
    };
    const shown = peers.gateways[new URL(proxy.url).host];
    assert.deepEqual([shown?.url, shown?.chunkWeight], [proxy.url, 50]);
    assert.ok(Number(shown?.dataWeight) > 50, 'it gave what it was asked for');
  });
});

interface SwitchableProxy {
  readonly url: string;
  leadTo(url: string): void;
  close(): Promise<void>;
}

/** An address that can be told before the gateway that answers there is. */
async function openSwitchableProxy(): Promise<SwitchableProxy> {
  const sockets = new Set<Socket>();
  let port = 0;
  const server = createServer((outside) => {
    const inside = connect(port, '127.0.0.1');
    for (const [one, other] of [
      [outside, inside],
      [inside, outside],
    ] as const) {
      sockets.add(one);
      one.on('error', () => {}).pipe(other);
      one.once('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return {
    url: `http://127.0.0.1:${address.port}`,
    leadTo(url) {
      port = Number(new URL(url).port);
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
