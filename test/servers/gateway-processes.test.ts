/**
 * Two gateways as operating system processes on one PostgreSQL (TEST_DATABASE_URL) and one blob store: an S3 server,
 * and a folder. One imports; when it is killed without warning the other goes on, and nothing is lost or doubled.
 */
import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import pg from 'pg';
import { request } from 'undici';
import { readConfig } from '../../src/config/config.ts';
import type { Surface } from '../../src/kernel/part.ts';
import { createLocalArweave } from '../../src/localnet/arweave/local-arweave.ts';
import { startTestS3, type TestS3 } from '../../src/storage/blobs/s3/testing.ts';
import { type MadeItem, makeItem, postBundle } from '../support/admin-gateway.ts';
import { send, silent, text, until } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const server = process.env.TEST_DATABASE_URL;
const adminKey = 'operator-key-of-both-gateways';
const random = seededRandom(77);
/** What a process that died was at is free for others after up to half a minute. */
const takeoverMs = 120_000;
const hashOf = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64url');

for (const store of ['an S3 store', 'a folder'] as const)
  describe(`two gateway processes on one PostgreSQL and ${store}`, {
    skip: server === undefined && 'SKIPPED: needs TEST_DATABASE_URL; `npm run test:servers` runs it',
  }, () => {
    const folder = mkdtempSync(join(tmpdir(), 'turnpike-two-gateways-'));
    const database = `two_gateways_${randomBytes(6).toString('hex')}`;
    let node: Surface;
    let front: Front;
    let s3: TestS3 | undefined;
    let one: RunningStack;
    let two: RunningStack;
    const page = random.bytes(700_000);
    let item: MadeItem;
    let alone = '';

    before(async () => {
      await onServer(`CREATE DATABASE ${database}`);
      if (store === 'an S3 store') s3 = await startTestS3();
      const config = readConfig({
        DATA_DIR: join(folder, 'node'),
        LOCAL_ARWEAVE_PORT: '0',
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      });
      node = createLocalArweave(config, { log: silent });
      await node.start();
      front = await startFront(node.url);
      item = await makeItem({ data: page, tags: [{ name: 'Content-Type', value: 'text/html' }] });
      alone = await postBundle({ node }, [item]);
      one = await startGateway('one');
      two = await startGateway('two');
    });
    after(async () => {
      await Promise.all([one?.end('SIGKILL'), two?.end('SIGKILL')]);
      front?.close();
      await node?.stop();
      await s3?.close();
      await onServer(`DROP DATABASE IF EXISTS ${database} WITH (FORCE)`);
      rmSync(folder, { recursive: true, force: true });
    });

    function startGateway(name: 'one' | 'two'): Promise<RunningStack> {
      const url = new URL(server ?? '');
      url.pathname = `/${database}`;
      return startStack({
        only: ['gateway'],
        // With an S3 store the processes share no file at all.
        dataDir: join(folder, s3 === undefined ? 'both' : name),
        environment: {
          DATABASE_URL: url.href,
          ...(s3 !== undefined && { BLOB_STORE_URL: s3.url }),
          ARWEAVE_NODE_URLS: front.url,
          ADMIN_API_KEY: adminKey,
          GATEWAY_POLL_INTERVAL_MS: '50',
          MEMPOOL_POLLING_INTERVAL_MS: '200',
          WORKER_THREADS: '1',
          // A chain of the local network has one process.
          ...(name === 'two' && { SOLANA_RPC_URL: one.urls.solana ?? '' }),
        },
      });
    }

    const gatewayOf = (stack: RunningStack) => stack.urls.gateway ?? '';
    const both = () => [one, two].map(gatewayOf);

    async function isLeader(stack: RunningStack): Promise<boolean> {
      return /^block_importer_running 1$/m.test(await text(`${gatewayOf(stack)}/gw/__gateway_metrics`));
    }

    /** The one that imports, and the other. */
    function roles(): Promise<{ leader: RunningStack; follower: RunningStack }> {
      return until('one imports and the other does not', async () => {
        const [first, second] = [await isLeader(one), await isLeader(two)];
        if (first === second) return undefined;
        return first ? { leader: one, follower: two } : { leader: two, follower: one };
      });
    }

    /** All ids that the tag leads to, page by page, as they come. */
    async function idsTagged(url: string, name: string): Promise<string[]> {
      const ids: string[] = [];
      for (let after = ''; ; ) {
        const query = `{ transactions(tags: [{ name: "${name}", values: ["yes"] }], first: 50, after: "${after}") {
          pageInfo { hasNextPage } edges { cursor node { id } } } }`;
        const { data } = JSON.parse(await send(`${url}/graphql`, { query }));
        const { edges, pageInfo } = data.transactions;
        for (const edge of edges) ids.push(edge.node.id);
        if (!pageInfo.hasNextPage) return ids;
        after = edges.at(-1).cursor;
      }
    }

    function admin(url: string, method: string, path: string, body?: object): Promise<Response> {
      return fetch(`${url}/gw/admin/${path}`, {
        method,
        headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
    }

    test('one of them imports, and both answer the same', async () => {
      await roles();
      for (const url of both()) {
        await until('the item is placed', async () => {
          const head = await fetch(`${url}/raw/${item.id}`, { method: 'HEAD' });
          return head.headers.get('x-ar-io-root-transaction-id') === alone;
        });
      }
      const query = `{ transactions(ids: ["${item.id}", "${alone}"]) { edges { cursor node { id tags { name value }
        bundledIn { id } block { id height } data { size type } } } } blocks { edges { node { id height } } } }`;
      const answers = await Promise.all(
        both().map(async (url) => ({
          search: await send(`${url}/graphql`, { query }),
          whole: hashOf(Buffer.from(await (await fetch(`${url}/raw/${item.id}`)).arrayBuffer())),
          block: await text(`${url}/block/height/1`),
          height: await text(`${url}/height`),
        })),
      );
      assert.deepEqual(answers[0], answers[1]);
      assert.equal(answers[0]?.whole, hashOf(page));
    });

    test('what one has read the other has, without a source', async () => {
      const data = random.bytes(300_000);
      const made = await makeItem({ data });
      const bundle = await postBundle({ node }, [made]);
      const { leader, follower } = await roles();
      const [first, second] = [gatewayOf(leader), gatewayOf(follower)];
      await until('it is indexed and both know', async () => {
        const heads = await Promise.all(
          [first, second].map((url) => fetch(`${url}/raw/${made.id}`, { method: 'HEAD' })),
        );
        return heads.every((head) => head.headers.get('x-ar-io-digest') === hashOf(data));
      });
      const read = async (url: string) => {
        const answer = await fetch(url);
        const whole = hashOf(Buffer.from(await answer.arrayBuffer()));
        return { status: answer.status, whole, digest: answer.headers.get('x-ar-io-digest') ?? '' };
      };
      assert.equal((await read(`${first}/raw/${made.id}`)).whole, hashOf(data));
      const { digest } = await read(`${first}/raw/${bundle}`);
      if (s3 !== undefined) {
        const name = Buffer.from(digest, 'base64url').toString('hex');
        await until('the bundle is shared', async () =>
          s3?.answered.some((line) => /^(PUT|POST) .*gateway-content/.test(line) && line.includes(name)),
        );
      }
      front.down = true;
      try {
        for (const path of [`/raw/${made.id}`, `/raw/${bundle}`]) {
          const answers = await Promise.all([first, second].map((url) => read(`${url}${path}`)));
          assert.equal(answers[1]?.status, 200);
          assert.deepEqual(answers[0], answers[1]);
        }
        if (s3 !== undefined) {
          const texts = await Promise.all(both().map((url) => text(`${url}/gw/__gateway_metrics`)));
          assert.match(texts.join('\n'), /get_data_stream_successes_total\{source="shared[^"]*"\} [1-9]/);
        }
      } finally {
        front.down = false;
      }
    });

    test('what an operator does at one holds at the other', async () => {
      const [first = '', second = ''] = both();
      const status = async (url: string) => (await fetch(`${url}/raw/${item.id}`)).status;
      assert.equal((await admin(first, 'PUT', 'block-data', { id: item.id })).status, 200);
      assert.equal(await status(first), 451);
      await until('the other refuses it too', async () => (await status(second)) === 451);
      assert.equal((await admin(second, 'PUT', 'unblock-data', { id: item.id })).status, 200);
      for (const url of [first, second]) {
        await until('it is served again', async () => (await status(url)) === 200);
      }
    });

    test('when the one that imports is killed the other takes over, and nothing is lost or doubled', async () => {
      const { leader, follower } = await roles();
      const expected: string[] = [];
      const tags = [{ name: 'Survivor', value: 'yes' }];
      const post = async () => {
        const items: MadeItem[] = [];
        for (let at = 0; at < 60; at += 1) items.push(await makeItem({ data: random.bytes(200), tags }));
        expected.push(...items.map(({ id }) => id));
        return postBundle({ node }, items);
      };
      const bundles: string[] = [];
      for (let made = 0; made < 6; made += 1) {
        bundles.push(await post());
        // In the middle of it: blocks to import, bundles half read.
        if (made === 3) await leader.end('SIGKILL');
      }
      const height = Number(await text(`${node.url}/height`));
      const url = gatewayOf(follower);
      await until('it imports', () => isLeader(follower), takeoverMs);
      await until('it has every block', async () => Number(await text(`${url}/height`)) >= height);
      for (const bundle of bundles) {
        const isRead = async () => {
          const answer = await admin(url, 'GET', `bundle-status/${bundle}`);
          const status: unknown = answer.status === 200 ? await answer.json() : undefined;
          return JSON.stringify(status)?.includes('"matchedDataItemCount":60');
        };
        await until('every bundle is read to its end', isRead, takeoverMs);
      }
      assert.deepEqual((await idsTagged(url, 'Survivor')).sort(), expected.toSorted());
      const blocks = await onDatabase('SELECT count(*) AS n, max(height) AS top FROM gateway.blocks');
      assert.equal(Number(blocks[0].n), Number(blocks[0].top) + 1, 'every height once');
      const twice = await onDatabase(
        `SELECT record FROM gateway.postings WHERE term = -1 GROUP BY record HAVING count(*) > 1`,
      );
      assert.deepEqual(twice, [], 'every record in one place');

      // And back: a new process follows, and answers the same.
      const again = await startGateway(leader === one ? 'one' : 'two');
      if (leader === one) one = again;
      else two = again;
      assert.deepEqual((await idsTagged(gatewayOf(again), 'Survivor')).sort(), expected.toSorted());
      assert.equal(await isLeader(again), false);
    });

    function onDatabase(statement: string) {
      return query(statement, database);
    }
  });

interface Front {
  readonly url: string;
  down: boolean;
  close(): void;
}

/** The node as the gateways see it, which can be out of reach. */
async function startFront(nodeUrl: string): Promise<Front> {
  const server = createServer(async (incoming, response) => {
    if (front.down) return void response.destroy();
    const answer = await request(`${nodeUrl}${incoming.url}`, {
      method: incoming.method ?? 'GET',
      headers: { 'content-type': incoming.headers['content-type'] ?? 'text/plain' },
      ...(incoming.method === 'POST' && { body: incoming }),
    });
    response.writeHead(answer.statusCode, answer.headers);
    answer.body.pipe(response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const front: Front = {
    url: `http://127.0.0.1:${address.port}`,
    down: false,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return front;
}

function onServer(statement: string) {
  return server === undefined ? undefined : query(statement);
}

async function query(statement: string, database?: string) {
  const url = new URL(server ?? '');
  if (database !== undefined) url.pathname = `/${database}`;
  const client = new pg.Client({ connectionString: url.href });
  await client.connect();
  try {
    return (await client.query(statement)).rows;
  } finally {
    await client.end();
  }
}
