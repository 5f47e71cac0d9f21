import assert from 'node:assert/strict';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, it } from 'node:test';
import { createLogger } from '../../kernel/log.ts';
import { agreedHeight, NodePool } from '../../outside/arweave/node-pool.ts';
import { UpstreamError, upstreamErrorOf } from '../errors.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const servers: Server[] = [];
const pools: NodePool[] = [];
afterEach(async () => {
  for (const pool of pools.splice(0)) await pool.stop();
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    server.close();
  }
});

interface Script {
  height?: number;
  /** Answer by path; `hang` never answers. */
  answers?: Record<string, { status: number; body?: string } | 'hang'>;
  asked?: string[];
}

async function node(script: Script): Promise<string> {
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    script.asked?.push(path);
    const answer = script.answers?.[path];
    if (answer === 'hang') return;
    if (answer === undefined && path === '/info') {
      const { height = 10 } = script;
      response.end(JSON.stringify({ height, blocks: height + 1, current: `block ${height}` }));
      return;
    }
    response.writeHead(answer?.status ?? 404).end(answer?.body ?? '');
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function poolOf(urls: string[]): NodePool {
  const pool = new NodePool({
    urls,
    log,
    timeoutMs: 60_000,
    healthIntervalMs: 60_000,
    toError: upstreamErrorOf,
  });
  pools.push(pool);
  return pool;
}
const statusOf = (error: unknown) => (error instanceof UpstreamError ? error.status : error);
const refusal = (promise: Promise<unknown>) => promise.then(() => 'answered', statusOf);

describe('the node pool', () => {
  it('shows where its nodes are, not what it signs in with', () => {
    const urls = ['http://user:secret@node.example:1984', 'https://node.example/ar?key=secret'];
    const shown = new NodePool({ urls, log }).status.map(({ url }) => url);
    assert.deepEqual(shown, ['http://node.example:1984', 'https://node.example/ar']);
  });

  it('believes the height that two nodes have reached, and not the one that runs ahead', async () => {
    assert.deepEqual([[], [7], [9, 7], [9, 8, 1_000_000], [5, 5, 5]].map(agreedHeight), [-1, 7, 7, 9, 5]);
    const urls = [
      await node({ height: 1_000_000 }),
      await node({ height: 100 }),
      await node({ height: 101 }),
    ];
    const pool = poolOf(urls);
    await pool.check();
    assert.equal(pool.height, 101);
    assert.deepEqual(pool.head, { height: 101, id: 'block 101' });
    assert.deepEqual(
      pool.status.map(({ healthy }) => healthy),
      [false, true, true],
    );
  });

  it('asks the next node when one fails or does not know, and the sick ones last', async () => {
    const asked: string[] = [];
    const failing = await node({ answers: { '/x': { status: 500 } } });
    const ignorant = await node({ asked });
    const good = await node({ answers: { '/x': { status: 200, body: 'yes' } } });
    const pool = poolOf([failing, ignorant, good]);
    const answer = await pool.get('/x');
    assert.deepEqual([answer.status, answer.body.toString(), answer.url], [200, 'yes', good]);
    assert.deepEqual(asked, ['/x']);
  });

  it('says "not found" only when every node said so', async () => {
    const ignorant = await node({});
    assert.equal((await poolOf([ignorant, await node({})]).get('/x')).status, 404);
    const failing = await node({ answers: { '/x': { status: 500 } } });
    assert.equal(await refusal(poolOf([ignorant, failing]).get('/x')), 502);
  });

  it('tells outages apart: 502, 503, 504', async () => {
    const hanging = poolOf([await node({ answers: { '/x': 'hang' } })]);
    assert.equal(await refusal(poolOf(['http://127.0.0.1:1']).get('/x')), 502);
    assert.equal(await refusal(poolOf([]).get('/x')), 503);
    assert.equal(await refusal(poolOf([await node({ answers: { '/x': { status: 503 } } })]).get('/x')), 503);
    assert.equal(await refusal(hanging.get('/x', { timeoutMs: 80 })), 504);
    const large = await node({ answers: { '/x': { status: 200, body: 'x'.repeat(2_000) } } });
    assert.equal(await refusal(poolOf([large]).get('/x', { maxBytes: 1_000 })), 502);
  });

  it('marks a node sick after failures in a row and well again when it answers its health check', async () => {
    const script: Script = { answers: { '/x': 'hang' } };
    const pool = poolOf([await node(script)]);
    for (let failure = 0; failure < 3; failure += 1) await refusal(pool.get('/x', { timeoutMs: 50 }));
    assert.equal(pool.status[0]?.healthy, false);
    await pool.check();
    assert.equal(pool.status[0]?.healthy, true);
  });

  it('survives nonsense where the height should be', async () => {
    for (const body of ['', 'null', '[]', '{"height":"10"}', '{"height":-1}', '{"height":1e30}', '<html>']) {
      const pool = poolOf([await node({ answers: { '/info': { status: 200, body } } })]);
      await pool.check();
      assert.deepEqual([body, pool.height, pool.head], [body, -1, undefined]);
    }
  });

  it('goes on importing and checking while readers ask for more than the node answers', async () => {
    const block = { status: 200, body: 'a block' };
    const script: Script = { answers: { '/tx/unknown': 'hang', '/block/height/1': block } };
    const pool = poolOf([await node(script)]);
    await pool.check();
    const readers = Array.from({ length: 200 }, () => refusal(pool.get('/tx/unknown', { timeoutMs: 300 })));
    const imported = await pool.get('/block/height/1', { lane: 'import' });
    assert.equal(imported.body.toString(), 'a block');
    await pool.check();
    assert.deepEqual([pool.height, pool.status[0]?.healthy], [10, true]);
    // Who never got a place is told to come back; who got one, that the node does not answer.
    assert.deepEqual([...new Set(await Promise.all(readers))].sort(), [503, 504]);
  });

  it('lets a caller leave without waiting for the node', async () => {
    const pool = poolOf([await node({ answers: { '/x': 'hang' } })]);
    const leaving = new AbortController();
    const asked = pool.get('/x', { signal: leaving.signal });
    leaving.abort(new Error('left'));
    await assert.rejects(asked, /left/);
    assert.equal(pool.status[0]?.healthy, true);
  });
});
