import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { DataRootBuilder } from '../../formats/arweave/data-root.ts';
import { ArweaveNodes, type NodeChunk, NodeUnavailable } from '../../outside/arweave/nodes.ts';
import { absent, found, type LookUp } from '../../outside/look-up.ts';
import type { BundleRow } from './bundle-rows.ts';
import { type ChunkRange, chunksOf, dataOf, provenChunk, someOf } from './chain-chunks.ts';
import { judgeBundle } from './confirm.ts';

const data = seededRandom(5).bytes(1_000);
const builder = new DataRootBuilder();
builder.update(data);
const tree = builder.finish();
const id = 'b'.repeat(43);

const bundle: BundleRow = {
  plan: 'plan',
  state: 'seeded',
  item_count: 1,
  size: data.length,
  tx_id: id,
  tx: JSON.stringify({ data_root: tree.root.toString('base64url') }),
  anchor_height: 1_000,
  posted_at: 1,
  seeded_at: 1,
  seedings: 1,
  unreadable: 0,
  unreadable_since: null,
  block_height: null,
  attempts: 0,
  due_at: 0,
  created_at: 0,
  changed_at: 0,
  last_error: null,
  last_error_at: null,
  confirmations: null,
  look_at: null,
  looks: 0,
  looked_at: null,
  damage: null,
  damaged_at: null,
  mend_tries: 0,
  chunks_mended: 0,
  others: null,
};

type Answers = Record<string, readonly [status: number, body: unknown]>;

async function chain(t: TestContext, ...nodes: Answers[]): Promise<ArweaveNodes> {
  const urls = await Promise.all(
    nodes.map(async (answers) => {
      const server = createServer((request, response) => {
        const [status, body] = answers[String(request.url)] ?? answers['*'] ?? [404, 'Not Found'];
        response.writeHead(status).end(typeof body === 'string' ? body : JSON.stringify(body));
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      t.after(() => {
        server.closeAllConnections();
        server.close();
      });
      const place = server.address();
      assert.ok(place !== null && typeof place === 'object');
      return `http://127.0.0.1:${place.port}`;
    }),
  );
  const pool = new ArweaveNodes(urls);
  t.after(() => pool.close());
  return pool;
}

const at = (height: number): Answers => ({ '/height': [200, String(height)] });
const away: Answers = { '*': [503, 'busy'] };
const chunk = { chunk: data.toString('base64url'), data_path: tree.proof(0).dataPath.toString('base64url') };
const mined: Answers = {
  [`/tx/${id}/status`]: [200, { block_height: 1_001, number_of_confirmations: 20 }],
  [`/tx/${id}/offset`]: [200, { offset: '5000', size: String(data.length) }],
  '/chunk/4001': [200, chunk],
};

test('a bundle is dropped only when every node misses it at a height at which it can no longer be mined', async (t) => {
  assert.deepEqual(await judgeBundle(await chain(t, at(1_056), at(1_060)), bundle, 10), { kind: 'dropped' });
  // One of them is behind: there the transaction may still be on its way.
  assert.deepEqual(await judgeBundle(await chain(t, at(1_060), at(1_055)), bundle, 10), {
    kind: 'forgotten',
  });
});

test('a node that is away may have it: nothing is decided', async (t) => {
  for (const nodes of [await chain(t, at(2_000), away), await chain(t, away, at(2_000))]) {
    await assert.rejects(judgeBundle(nodes, bundle, 10), NodeUnavailable);
  }
});

test('one node that has it is enough, whatever the others say', async (t) => {
  const verdict = await judgeBundle(await chain(t, at(2_000), away, mined), bundle, 10);
  assert.deepEqual(verdict, { kind: 'permanent', blockHeight: 1_001, confirmations: 20 });
});

test('a bundle is permanent only by chunks that fit its data root', async (t) => {
  const wrong = { ...chunk, chunk: Buffer.alloc(data.length).toString('base64url') };
  const lying: Answers = { ...mined, '/chunk/4001': [200, wrong] };
  await assert.rejects(judgeBundle(await chain(t, lying), bundle, 10), NodeUnavailable);
  const missing: Answers = { ...mined, '/chunk/4001': [404, 'Not Found'], ...at(2_000) };
  assert.deepEqual(await judgeBundle(await chain(t, missing), bundle, 10), { kind: 'unreadable' });
  assert.equal((await judgeBundle(await chain(t, missing, lying, mined), bundle, 10)).kind, 'permanent');
});

test('a bundle without a transaction has no data on the chain', () => {
  assert.deepEqual(dataOf(bundle), { txId: id, size: data.length, root: tree.root });
  for (const lack of [{ tx_id: null }, { tx: null }])
    assert.throws(() => dataOf({ ...bundle, ...lack }), /bundle plan has no transaction/);
});

test('of many chunks the first, the last and others in their order are read; of few all', () => {
  const chunks = chunksOf(30 * 262_144);
  assert.equal(chunks.length, 30);
  assert.deepEqual([chunks[1]?.start, chunks[1]?.end], [262_144, 2 * 262_144]);
  const some = someOf(chunks, 16);
  assert.equal(some.length, 16);
  assert.deepEqual([some[0], some.at(-1)], [chunks[0], chunks.at(-1)]);
  assert.deepEqual(
    some,
    chunks.filter((chunk) => some.includes(chunk)),
  );
  assert.deepEqual(someOf(chunks, 30), chunks);
  assert.deepEqual(someOf(chunks, 0), [chunks[0], chunks.at(-1)]);
  const seen = new Set(Array.from({ length: 200 }, () => someOf(chunks, 3)[1]?.start));
  assert.ok(seen.size > 10, 'by chance');
});

test('a node that has something else in the place of a chunk is noticed', async () => {
  const asked: bigint[] = [];
  class OneChunk extends ArweaveNodes {
    bytes = data;
    override async chunk(offset: bigint, isRight: (chunk: NodeChunk) => boolean): Promise<LookUp<NodeChunk>> {
      asked.push(offset);
      const one = { chunk: this.bytes, dataPath: tree.proof(0).dataPath, txPath: Buffer.alloc(0) };
      return isRight(one) ? found(one, 1) : absent(1);
    }
  }
  const nodes = new OneChunk([]);
  let wrong = 0;
  const read = (range: ChunkRange, root = tree.root) =>
    provenChunk(nodes, { txId: id, size: data.length, root }, 4_000n, range, () => {
      wrong += 1;
    });
  const whole = { start: 0, end: data.length };
  assert.equal((await read(whole)).state, 'found');
  assert.deepEqual([asked, wrong], [[4_001n], 0]);
  assert.equal((await read({ start: 0, end: data.length - 1 })).state, 'absent');
  assert.equal((await read(whole, Buffer.alloc(32))).state, 'absent');
  nodes.bytes = Buffer.alloc(data.length);
  assert.equal((await read(whole)).state, 'absent');
  assert.equal(wrong, 3);
});
