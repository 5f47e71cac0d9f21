/** Chunks are given a few at a time, each with its proof; what may pass is tried again. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { dataTreeOf } from '../../formats/arweave/data-root.ts';
import { AtOnce } from '../../kernel/background/at-once.ts';
import { ArweaveNodes, type ChunkUpload, NodeRefused, NodeUnavailable } from '../../outside/arweave/nodes.ts';
import { chunksOf } from './chain-chunks.ts';
import { postChunk, seedBytes } from './seed.ts';

const data = seededRandom(9).bytes(5 * 262_144);
const tree = dataTreeOf(data);
const { signal } = new AbortController();

class Nodes extends ArweaveNodes {
  readonly given: ChunkUpload[] = [];
  tries = 0;
  now = 0;
  most = 0;
  answer: (upload: ChunkUpload) => Promise<void> = () => Promise.resolve();

  constructor() {
    super([]);
  }
  override async postChunk(upload: ChunkUpload): Promise<void> {
    this.tries += 1;
    this.now += 1;
    this.most = Math.max(this.most, this.now);
    try {
      await this.answer(upload);
      this.given.push(upload);
    } finally {
      this.now -= 1;
    }
  }
}

async function* inPieces(size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < data.length; at += size) yield data.subarray(at, at + size);
}
const depsOf = (nodes: Nodes, atOnce = 2) => ({ nodes, posts: new AtOnce(atOnce), chunkConcurrency: atOnce });

test('all chunks are given with their proofs, so many at once, from pieces of any size', async () => {
  for (const size of [100_000, data.length]) {
    const nodes = new Nodes();
    nodes.answer = () => new Promise((resolve) => setImmediate(resolve));
    await seedBytes(depsOf(nodes), inPieces(size), tree, signal);
    assert.equal(nodes.most, 2);
    const given = nodes.given.sort((one, other) => one.offset - other.offset);
    assert.ok(Buffer.concat(given.map(({ chunk }) => chunk)).equals(data));
    for (const [index, { offset, dataPath, dataRoot, dataSize }] of given.entries()) {
      assert.deepEqual(
        { offset, dataPath },
        { offset: tree.proof(index).offset, dataPath: tree.proof(index).dataPath },
      );
      assert.deepEqual([dataRoot, dataSize], [tree.root.toString('base64url'), data.length]);
    }
  }
});

test('of chunks that are not wanted none is given', async () => {
  const nodes = new Nodes();
  const [, wanted] = chunksOf(data.length);
  await seedBytes(depsOf(nodes), inPieces(100_000), tree, signal, (start) => start === wanted?.start);
  assert.equal(nodes.given.length, 1);
  assert.ok(nodes.given[0]?.chunk.equals(data.subarray(wanted?.start, wanted?.end)));
});

test('no more is read or given once one was refused, or the work is called off', async () => {
  const nodes = new Nodes();
  nodes.answer = () => Promise.reject(new NodeRefused(400, 'invalid_proof'));
  let read = 0;
  async function* source(): AsyncGenerator<Buffer> {
    for await (const piece of inPieces(262_144)) {
      read += 1;
      yield piece;
    }
  }
  await assert.rejects(seedBytes(depsOf(nodes, 1), source(), tree, signal), /invalid_proof/);
  assert.ok(read < 5, String(read));
  assert.equal(nodes.tries, 1);
  // The last chunk is known only at the end: it is not given, either.
  const last = new Nodes();
  last.answer = ({ offset }) =>
    offset < data.length - 1 ? Promise.reject(new NodeRefused(400, 'invalid_proof')) : Promise.resolve();
  await assert.rejects(seedBytes(depsOf(last, 1), inPieces(data.length), tree, signal), /invalid_proof/);
  assert.deepEqual(last.given, []);
  const stopping = AbortSignal.abort(new Error('called off'));
  const none = new Nodes();
  await assert.rejects(seedBytes(depsOf(none), inPieces(262_144), tree, stopping), /called off/);
  assert.equal(none.tries, 0);
});

test('what may pass is tried four times, each pause longer; what does not is not', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const [chunk] = [
    { dataRoot: '', dataSize: 1, dataPath: Buffer.alloc(0), offset: 0, chunk: Buffer.alloc(1) },
  ];
  const turn = () => new Promise((resolve) => setImmediate(resolve));
  const triesUntil = async (error: Error) => {
    const nodes = new Nodes();
    nodes.answer = () => Promise.reject(error);
    const ended = postChunk(nodes, chunk).catch((failure: unknown) => failure);
    const seen: number[] = [];
    for (const ms of [0, 499, 1, 999, 1, 1_499, 1]) {
      await turn();
      t.mock.timers.tick(ms);
      await turn();
      seen.push(nodes.tries);
    }
    assert.equal(await ended, error);
    return seen;
  };
  const patient = [1, 1, 2, 2, 3, 3, 4];
  assert.deepEqual(await triesUntil(new NodeUnavailable('away')), patient);
  for (const code of ['data_root_not_found', 'exceeds_disk_pool_size_limit', 'disk_full', 'timeout'])
    assert.deepEqual(await triesUntil(new NodeRefused(400, code)), patient, code);
  assert.deepEqual(await triesUntil(new NodeRefused(400, 'invalid_proof')), [1, 1, 1, 1, 1, 1, 1]);
  assert.deepEqual(await triesUntil(new Error('a fault')), [1, 1, 1, 1, 1, 1, 1]);
  const nodes = new Nodes();
  nodes.answer = () => (nodes.tries === 1 ? Promise.reject(new NodeUnavailable('away')) : Promise.resolve());
  const posted = postChunk(nodes, chunk);
  await turn();
  t.mock.timers.tick(500);
  await posted;
  assert.equal(nodes.given.length, 1);
});
