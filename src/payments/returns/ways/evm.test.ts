/** What is signed, sent and believed on a chain of Ethereum's kind, with a node that says what the test says. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { winc } from '../../../credits/credits.ts';
import { evmCallErrors, JsonRpcPool } from '../../../outside/json-rpc.ts';
import { NodeSays, startTestNode } from '../../../outside/testing.ts';
import { CannotSend, type CreditReturn, type SentReturn } from '../returns.ts';
import { evmWay } from './evm.ts';
import { parseEvmKey } from './ways.ts';

const key = parseEvmKey('11'.repeat(32));
const recipient = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const contract = '0x036CbD53842c5426634e7929541eC2318f3dCF7e';
const hex = (value: bigint | number) => `0x${value.toString(16)}`;

const order: CreditReturn = {
  ...{ id: 'one', address: 'anna', addressType: 'arweave', kind: 'chain', payment: 'p', quoteId: undefined },
  ...{ chain: 'test', token: 'test', winc: winc(1n), amount: 400n, recipient, state: 'due' },
  ...{ reference: undefined, reason: undefined, createdAt: 0, changedAt: 0 },
};
const sent: SentReturn = { ...order, state: 'sent', reference: '0xhash', wire: '0xwire', validUntil: 7 };

async function setUp(t: TestContext, token?: string) {
  const answers: Record<string, unknown> = {
    ...{ eth_chainId: hex(5), eth_getTransactionCount: hex(7), eth_estimateGas: hex(21_000) },
    ...{ eth_gasPrice: hex(10), eth_getBalance: hex(10n ** 18n), eth_blockNumber: hex(100) },
  };
  const asked: [string, readonly unknown[]][] = [];
  const node = await startTestNode(t, (method, params) => {
    asked.push([method, params]);
    const answer = answers[method];
    return typeof answer === 'function' ? answer(...params) : (answer ?? null);
  });
  const endpoints = new JsonRpcPool({ urls: [node.url], timeoutMs: 60_000, callErrors: evmCallErrors });
  const way = evmWay({ endpoints, chain: 'eip155:5', key, minConfirmations: 3, contract: token });
  t.after(() => way.close?.());
  const paramsOf = (method: string) => asked.find(([name]) => name === method)?.[1];
  return { way, answers, asked, paramsOf };
}

test('a transfer is made with the next number of its sender, where the wallet can pay for it', async (t) => {
  const s = await setUp(t);
  const { validUntil, reference, wire } = (await s.way.prepare(order)) ?? {};
  assert.equal(validUntil, 7);
  assert.match(reference ?? '', /^0x[0-9a-f]{64}$/);
  assert.match(wire ?? '', /^0x02/);
  assert.deepEqual(s.paramsOf('eth_getTransactionCount'), [key.address, 'latest']);
  assert.deepEqual(s.paramsOf('eth_estimateGas'), [
    { from: key.address, to: recipient, value: hex(400), data: '0x' },
  ]);
  // A fifth more gas than was estimated, at twice the price of now, and what is sent.
  const most = 400n + 25_200n * 10n * 2n;
  s.answers.eth_getBalance = hex(most);
  assert.notEqual(await s.way.prepare(order), undefined);
  s.answers.eth_getBalance = hex(most - 1n);
  await assert.rejects(s.way.prepare(order), new RegExp(`has ${most - 1n} wei, and ${most} are needed`));
  s.answers.eth_getBalance = hex(10n ** 18n);
  s.answers.eth_estimateGas = hex(300_000);
  assert.notEqual(await s.way.prepare(order), undefined);
  s.answers.eth_estimateGas = hex(300_001);
  await assert.rejects(s.way.prepare(order), /would take 300001 gas/);
});

test('a token is sent by its contract, and costs no coin but the gas', async (t) => {
  const s = await setUp(t, contract);
  s.answers.eth_getBalance = hex(25_200n * 10n * 2n);
  assert.notEqual(await s.way.prepare(order), undefined);
  const amount = (400).toString(16).padStart(64, '0');
  assert.deepEqual(s.paramsOf('eth_estimateGas'), [
    {
      ...{ from: key.address, to: contract, value: '0x0' },
      data: `0xa9059cbb${recipient.slice(2).toLowerCase().padStart(64, '0')}${amount}`,
    },
  ]);
});

test('what cannot be asked, or is refused, is put off', async (t) => {
  const s = await setUp(t);
  for (const answer of [
    '0x',
    'nonsense',
    5,
    hex(16n ** 64n),
    NodeSays.error(3, 'reverted'),
    NodeSays.status(500),
  ]) {
    s.answers.eth_estimateGas = answer;
    await assert.rejects(s.way.prepare(order), CannotSend);
  }
});

test('it has arrived when its block is final and good, and never where that is bad', async (t) => {
  const s = await setUp(t);
  const deliver = async (height: number, status = '0x1') => {
    s.answers.eth_getTransactionReceipt = { blockNumber: hex(height), status };
    return (await s.way.deliver(sent)).state;
  };
  assert.equal(await deliver(99), 'waiting');
  assert.equal(await deliver(99, '0x0'), 'waiting', 'the block may still be replaced');
  assert.equal(await deliver(98), 'confirmed');
  assert.equal(await deliver(98, '0x0'), 'void');
  assert.ok(!s.asked.some(([method]) => method === 'eth_sendRawTransaction'));
  for (const missing of ['reference', 'wire', 'validUntil'] as const)
    await assert.rejects(s.way.deliver({ ...sent, [missing]: undefined }), /sent without a transaction/);
});

test('what is not in a block is sent again, until another with its number is final', async (t) => {
  const s = await setUp(t);
  s.answers.eth_getTransactionReceipt = null;
  const deliver = async (used: number) => {
    s.asked.length = 0;
    s.answers.eth_getTransactionCount = hex(used);
    const { state } = await s.way.deliver(sent);
    return [state, s.asked.some(([method]) => method === 'eth_sendRawTransaction')];
  };
  assert.deepEqual(await deliver(7), ['waiting', true], 'its number is free');
  assert.deepEqual(s.paramsOf('eth_getTransactionCount'), [key.address, hex(97)], 'as deep as is final');
  assert.deepEqual(s.paramsOf('eth_sendRawTransaction'), ['0xwire']);
  assert.deepEqual(await deliver(8), ['void', false]);
  // It came into a block between the two questions.
  let looks = 0;
  s.answers.eth_getTransactionReceipt = () => {
    looks += 1;
    return looks === 1 ? null : { blockNumber: hex(100), status: '0x1' };
  };
  assert.deepEqual(await deliver(8), ['waiting', true]);
  s.answers.eth_getTransactionReceipt = null;
  s.answers.eth_blockNumber = hex(2);
  assert.deepEqual(await deliver(8), ['waiting', true], 'nothing is final yet');
  s.answers.eth_blockNumber = hex(3);
  assert.deepEqual(await deliver(8), ['void', false]);
  s.answers.eth_sendRawTransaction = NodeSays.error(-32000, 'already known');
  assert.deepEqual(await deliver(7), ['waiting', true]);
  // A node that does not say leaves it open.
  s.answers.eth_getTransactionReceipt = NodeSays.status(500);
  assert.deepEqual(await deliver(8), ['waiting', true]);
});
