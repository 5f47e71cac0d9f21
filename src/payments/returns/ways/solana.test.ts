/** What is believed of a transfer on Solana, with a node that says what the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { winc } from '../../../credits/credits.ts';
import { encodeBase58 } from '../../../formats/base58.ts';
import { wallet } from '../../../localnet/solana/testing.ts';
import { JsonRpcPool, solanaCallErrors } from '../../../outside/json-rpc.ts';
import { NodeSays, startTestNode } from '../../../outside/testing.ts';
import { CannotSend, type CreditReturn, type SentReturn } from '../returns.ts';
import { solanaWay } from './solana.ts';

const order: CreditReturn = {
  ...{ id: 'one', address: 'anna', addressType: 'arweave', kind: 'chain', payment: 'p', quoteId: undefined },
  ...{ chain: 'test', token: 'test', winc: winc(1n), amount: 4n, recipient: wallet('payer').address },
  ...{ state: 'due', reference: undefined, reason: undefined, createdAt: 0, changedAt: 0 },
};
const sent: SentReturn = { ...order, state: 'sent', reference: 'signature', wire: 'wire', validUntil: 50 };
const blockhash = encodeBase58(Buffer.alloc(32, 9));

async function setUp(t: TestContext) {
  const answers: Record<string, unknown> = {
    getLatestBlockhash: { value: { blockhash, lastValidBlockHeight: 50 } },
    simulateTransaction: { value: { err: null } },
    getSignatureStatuses: { context: { slot: 90 }, value: [null] },
    getEpochInfo: { absoluteSlot: 80, blockHeight: 51 },
    sendTransaction: 'signature',
  };
  const asked: string[] = [];
  const node = await startTestNode(t, (method) => {
    asked.push(method);
    return answers[method];
  });
  const endpoints = new JsonRpcPool({ urls: [node.url], timeoutMs: 60_000, callErrors: solanaCallErrors });
  const key = { address: wallet('service').address, sign: () => Buffer.alloc(64, 1) };
  const way = solanaWay({ endpoints, key });
  t.after(() => way.close?.());
  const deliver = async () => {
    asked.length = 0;
    const { state } = await way.deliver(sent);
    return [state, asked.includes('sendTransaction')];
  };
  return { way, answers, asked, deliver };
}

test('a transfer names a recent block, and what would fail is not sent', async (t) => {
  const s = await setUp(t);
  const prepared = await s.way.prepare(order);
  assert.deepEqual([prepared?.validUntil, prepared?.reference], [50, encodeBase58(Buffer.alloc(64, 1))]);
  s.answers.simulateTransaction = { value: {} };
  assert.notEqual(await s.way.prepare(order), undefined);
  s.answers.simulateTransaction = { value: { err: { InsufficientFundsForRent: 1 } } };
  await assert.rejects(s.way.prepare(order), /would fail: \{"InsufficientFundsForRent":1\}/);
  for (const nonsense of [
    {},
    { value: { blockhash } },
    { value: { lastValidBlockHeight: 5 } },
    NodeSays.status(500),
    NodeSays.error(-32602),
  ]) {
    s.answers.getLatestBlockhash = nonsense;
    await assert.rejects(s.way.prepare(order), CannotSend);
  }
});

test('it has arrived when it is final without an error, and never where that has one', async (t) => {
  const s = await setUp(t);
  const says = (status: object) => {
    s.answers.getSignatureStatuses = { context: { slot: 90 }, value: [status] };
    return s.deliver();
  };
  assert.deepEqual(await says({ confirmationStatus: 'confirmed', err: null }), ['waiting', false]);
  assert.deepEqual(await says({ confirmationStatus: 'confirmed', err: {} }), ['waiting', false]);
  assert.deepEqual(await says({ confirmationStatus: 'finalized', err: null }), ['confirmed', false]);
  assert.deepEqual(await says({ confirmationStatus: 'finalized' }), ['confirmed', false]);
  assert.deepEqual(await says({ confirmationStatus: 'finalized', err: {} }), ['void', false]);
  for (const missing of ['reference', 'wire', 'validUntil'] as const)
    await assert.rejects(s.way.deliver({ ...sent, [missing]: undefined }), /sent without a transaction/);
});

test('what the network did not take is void once a final block is past its end, and is sent again until then', async (t) => {
  const s = await setUp(t);
  assert.deepEqual(await s.deliver(), ['void', false]);
  s.answers.getEpochInfo = { absoluteSlot: 80, blockHeight: 50 };
  assert.deepEqual(await s.deliver(), ['waiting', true], 'the last block that may hold it');
  s.answers.getEpochInfo = { absoluteSlot: 90, blockHeight: 51 };
  assert.deepEqual(await s.deliver(), ['void', false]);
  s.answers.getEpochInfo = { absoluteSlot: 91, blockHeight: 51 };
  assert.deepEqual(await s.deliver(), ['waiting', true], 'who lacks it has not come so far');
  for (const nonsense of [
    {},
    { absoluteSlot: 80 },
    { blockHeight: 51 },
    { absoluteSlot: -1, blockHeight: 51 },
  ]) {
    s.answers.getEpochInfo = nonsense;
    assert.deepEqual(await s.deliver(), ['waiting', true]);
  }
  s.answers.getEpochInfo = { absoluteSlot: 80, blockHeight: 51 };
  for (const unknown of [{ value: [null] }, { context: { slot: 90 } }, NodeSays.status(500)]) {
    s.answers.getSignatureStatuses = unknown;
    assert.deepEqual(await s.deliver(), ['waiting', true], 'nobody says that it is absent');
  }
  s.answers.sendTransaction = NodeSays.error(-32002, 'blockhash not found');
  assert.deepEqual(await s.deliver(), ['waiting', true]);
});
