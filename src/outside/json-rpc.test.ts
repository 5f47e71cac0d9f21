import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { OutsideUnavailable } from './http.ts';
import { evmCallErrors, JsonRpcPool, RpcRefused } from './json-rpc.ts';
import { absent, found, type LookUp } from './look-up.ts';
import { NodeSays, startTestNode } from './testing.ts';

const nobody = 'http://127.0.0.1:1';

function open(t: TestContext, ...urls: string[]): JsonRpcPool {
  const pool = new JsonRpcPool({ urls, timeoutMs: 60_000, maxBytes: 1_000, callErrors: evmCallErrors });
  t.after(() => pool.close());
  return pool;
}

test('a call goes to the first node that answers, and stays with it', async (t) => {
  const second = await startTestNode(t, (method) => `${method} of the second`);
  const pool = open(t, nobody, second.url);
  assert.equal(await pool.call('head', []), 'head of the second');
  const third = await startTestNode(t, () => 'third');
  const busy = await startTestNode(t, () => NodeSays.status(429));
  const other = open(t, busy.url, third.url);
  await other.call('one', []);
  await other.call('two', []);
  assert.deepEqual([busy.calls, third.calls], [['one'], ['one', 'two']]);
});

test('errors about a node let the next be asked; an error about the call is the answer', async (t) => {
  const good = await startTestNode(t, () => 'good');
  for (const failure of [
    NodeSays.error(-32005),
    NodeSays.error(-32601),
    NodeSays.status(200),
    NodeSays.status(401),
    NodeSays.status(404),
    NodeSays.status(502),
    NodeSays.nothing(),
    'x'.repeat(1_000),
  ]) {
    const bad = await startTestNode(t, () => failure);
    assert.equal(await open(t, bad.url, good.url).call('m', []), 'good');
    await assert.rejects(open(t, bad.url).call('m', []), OutsideUnavailable);
  }
  const refusing = await startTestNode(t, () => NodeSays.error(3, 'execution reverted', '0x'));
  await assert.rejects(open(t, refusing.url, good.url).call('m', []), (error) => {
    assert.ok(error instanceof RpcRefused);
    assert.deepEqual([error.code, error.message, error.data], [3, 'execution reverted', '0x']);
    return true;
  });
});

test('after a node that was silent a refusal does not prove that nothing was done', async (t) => {
  const refusing = await startTestNode(t, () => NodeSays.error(3, 'already there'));
  const silent = await startTestNode(t, () => NodeSays.nothing());
  const busy = await startTestNode(t, () => NodeSays.status(429));
  await assert.rejects(
    open(t, silent.url, refusing.url).call('send', [], { acts: true }),
    OutsideUnavailable,
  );
  await assert.rejects(open(t, silent.url, refusing.url).call('read', []), RpcRefused);
  for (const url of [nobody, busy.url]) {
    await assert.rejects(open(t, url, refusing.url).call('send', [], { acts: true }), RpcRefused, url);
  }
});

test('a look-up says absent only when every node said so, at the lowest height of them', async (t) => {
  const at = (height: number) => startTestNode(t, (method) => (method === 'height' ? height : null));
  const [high, low] = [await at(900), await at(500)];
  const has = await startTestNode(t, (method) => (method === 'height' ? 700 : 'it'));
  const nonsense = await startTestNode(t, () => 'nonsense');
  const lookUp = (...urls: string[]): Promise<LookUp<unknown>> =>
    open(t, ...urls).lookUp(async (node) => {
      const height = Number(await node.call('height', []));
      if (Number.isNaN(height)) throw new Error('no height');
      const value = await node.call('get', []);
      return value === null ? absent(height) : found(value, height);
    });
  assert.deepEqual(await lookUp(high.url, low.url), { state: 'absent', at: 500 });
  assert.deepEqual(await lookUp(high.url, nobody, has.url), { state: 'found', value: 'it', at: 700 });
  assert.equal((await lookUp(high.url, nobody)).state, 'not-known');
  assert.equal((await lookUp(nonsense.url, high.url)).state, 'not-known');
});
