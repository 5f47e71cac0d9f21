import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemProgram } from '../../formats/solana/programs.ts';
import { NodeSays, startTestNode, type TestNode } from '../../outside/testing.ts';
import { createNameChain, type NameChain } from '../../registry/chain.ts';
import { ChainUnavailable } from '../../registry/errors.ts';
import { deliver, readOutcome } from './delivery.ts';

/** Its last block is 800; slots are 100 ahead of blocks. */
const transaction = { wire: Buffer.alloc(1), signature: 'x', lastValidBlockHeight: 800 };
const landed = { slot: 890, err: null, confirmationStatus: 'finalized' };

interface Node {
  /** The slot it has reached; its finalized block is the one of that slot. */
  readonly slot: number;
  readonly status?: unknown;
  readonly send?: unknown;
  /** Answers so many calls, then has had enough. */
  readonly calls?: number;
}

function startNode(t: TestContext, node: Node): Promise<TestNode> {
  let answered = 0;
  return startTestNode(t, (method) => {
    answered += 1;
    if (answered > (node.calls ?? Number.POSITIVE_INFINITY)) return NodeSays.status(429);
    switch (method) {
      case 'getEpochInfo':
        return { absoluteSlot: node.slot, blockHeight: node.slot - 100 };
      case 'getSignatureStatuses':
        return { context: { slot: node.slot }, value: [node.status ?? null] };
      case 'sendTransaction':
        return node.send ?? transaction.signature;
      default:
        return NodeSays.error(-32601);
    }
  });
}

async function chainOf(t: TestContext, ...nodes: (Node | 'away')[]): Promise<NameChain> {
  const urls: string[] = [];
  for (const node of nodes) {
    urls.push(node === 'away' ? 'http://127.0.0.1:1' : (await startNode(t, node)).url);
  }
  const chain = createNameChain({ urls, timeoutMs: 60_000 });
  t.after(() => chain.close());
  return chain;
}

test('a transaction is dead when every node is past its last block and none has seen it', async (t) => {
  assert.equal(
    await readOutcome(await chainOf(t, { slot: 900 }), transaction),
    undefined,
    'one block may hold it',
  );
  assert.deepEqual(await readOutcome(await chainOf(t, { slot: 901 }), transaction), { outcome: 'expired' });
  assert.deepEqual(await readOutcome(await chainOf(t, { slot: 901 }, { slot: 950 }), transaction), {
    outcome: 'expired',
  });
});

test('the height of one node and the missing status of another that is behind prove nothing', async (t) => {
  // The first has no status yet, then knows the height, and then has had enough of us.
  const chain = await chainOf(t, { slot: 1_100, calls: 2 }, { slot: 600 });
  assert.equal(await readOutcome(chain, transaction), undefined);
});

test('a node that is behind, or away, keeps a transaction alive', async (t) => {
  assert.equal(await readOutcome(await chainOf(t, { slot: 1_100 }, { slot: 600 }), transaction), undefined);
  assert.equal(await readOutcome(await chainOf(t, { slot: 1_100 }, 'away'), transaction), undefined);
});

test('one address with a member that is behind does not prove it either', async (t) => {
  let calls = 0;
  const pool = await startTestNode(t, (method) => {
    calls += 1;
    const slot = calls === 2 ? 1_100 : 600;
    return method === 'getEpochInfo'
      ? { absoluteSlot: slot, blockHeight: slot - 100 }
      : { context: { slot }, value: [null] };
  });
  const chain = createNameChain({ urls: [pool.url], timeoutMs: 60_000 });
  t.after(() => chain.close());
  assert.equal(await readOutcome(chain, transaction), undefined);
  assert.equal(calls, 3);
});

test('a status that only another node has is found before anything is judged', async (t) => {
  const chain = await chainOf(t, { slot: 1_100 }, { slot: 1_100, status: landed });
  assert.deepEqual(await readOutcome(chain, transaction), { outcome: 'confirmed' });
});

test('a refusal counts only when no node that was silent may have passed the transaction on', async (t) => {
  const refusal = NodeSays.error(-32002, 'simulation failed', { err: 'AccountInUse', logs: [] });
  const options = { timeoutMs: 0 };
  const refused = await chainOf(t, { slot: 600, send: refusal });
  assert.deepEqual(await deliver(refused, transaction, options), {
    outcome: 'refused',
    err: 'AccountInUse',
    logs: [],
  });
  const passedOn = await chainOf(t, { slot: 600, send: NodeSays.nothing() }, { slot: 600, send: refusal });
  assert.deepEqual(await deliver(passedOn, transaction, options), { outcome: 'unknown', lagging: false });
});

test('accounts are not read from a node that has not reached what was seen on the chain, or told of', async (t) => {
  const floors: unknown[] = [];
  let status: object = { slot: 720, err: null, confirmationStatus: 'processed' };
  const node = await startTestNode(t, (method, params) => {
    if (method === 'getEpochInfo') return { absoluteSlot: 700, blockHeight: 600 };
    if (method === 'getSignatureStatuses') return { context: { slot: 730 }, value: [status] };
    floors.push(Reflect.get(Object(params[1]), 'minContextSlot'));
    return { context: { slot: 700 }, value: 5 };
  });
  const chain = createNameChain({ urls: [node.url], timeoutMs: 60_000 });
  t.after(() => chain.close());
  await chain.balance(systemProgram);
  await chain.finalized();
  await chain.balance(systemProgram);
  assert.deepEqual(floors, [undefined, 700]);
  for (const [seen, confirmationStatus, slot, ask, floor] of [
    ['what a fork may undo', 'processed', 720, 'status', 700],
    ['what is confirmed', 'confirmed', 721, 'status', 721],
    ['what is final', 'finalized', 722, 'lookUpStatus', 722],
    ['a slot that its own node has not reached', 'confirmed', 9_000, 'status', 730],
  ] as const) {
    status = { slot, err: null, confirmationStatus };
    await chain[ask]('x');
    await chain.balance(systemProgram);
    assert.equal(floors.at(-1), floor, seen);
  }
  chain.reach(800);
  chain.reach(790);
  assert.equal(chain.reached(), 800);
  await chain.balance(systemProgram);
  assert.equal(floors.at(-1), 800);
});

test('a node that is behind for a moment is asked again; one that stays behind is as good as away', async (t) => {
  let behind = 2;
  let asked = 0;
  const node = await startTestNode(t, () => {
    asked += 1;
    behind -= 1;
    return behind >= 0 ? NodeSays.error(-32016) : { value: 5 };
  });
  const chain = createNameChain({ urls: [node.url], timeoutMs: 60_000 });
  t.after(() => chain.close());
  assert.equal(await chain.balance(systemProgram), 5n);
  assert.equal(asked, 3);
  behind = Number.POSITIVE_INFINITY;
  await assert.rejects(chain.balance(systemProgram), ChainUnavailable);
  assert.equal(asked, 8);
});

test('which chain it is is asked once, and again where nobody said', async (t) => {
  let asked = 0;
  const node = await startTestNode(t, () => {
    asked += 1;
    return asked === 1 ? NodeSays.status(429) : 'the genesis hash';
  });
  const chain = createNameChain({ urls: [node.url], timeoutMs: 60_000 });
  t.after(() => chain.close());
  await assert.rejects(chain.genesisHash());
  for (let time = 1; time <= 3; time += 1) assert.equal(await chain.genesisHash(), 'the genesis hash');
  assert.equal(asked, 2);
});
