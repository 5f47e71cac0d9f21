import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { systemProgram } from '../../formats/solana/programs.ts';
import { NodeSays, startTestNode, type TestNode } from '../../outside/testing.ts';
import { createNameChain, type NameChain } from '../../registry/chain.ts';
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

test('accounts are not read from a node that has not reached the finalized block that was seen', async (t) => {
  const floors: unknown[] = [];
  const node = await startTestNode(t, (method, params) => {
    if (method === 'getEpochInfo') return { absoluteSlot: 700, blockHeight: 600 };
    floors.push(Reflect.get(Object(params[1]), 'minContextSlot'));
    return { context: { slot: 700 }, value: 5 };
  });
  const chain = createNameChain({ urls: [node.url], timeoutMs: 60_000 });
  t.after(() => chain.close());
  await chain.balance(systemProgram);
  await chain.finalized();
  await chain.balance(systemProgram);
  assert.deepEqual(floors, [undefined, 700]);
});
