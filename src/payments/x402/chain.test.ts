import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { findX402Network } from '../../formats/x402/networks.ts';
import type { TransferAuthorization } from '../../formats/x402/payment.ts';
import { NodeSays, startTestNode } from '../../outside/testing.ts';
import { AuthorizationChain } from './chain.ts';
import { ChainUnavailable } from './errors.ts';

const network = findX402Network('base-sepolia');
assert.ok(network !== undefined);
const { asset } = network;
const authorization: TransferAuthorization = {
  from: `0x${'aa'.repeat(20)}`,
  to: `0x${'bb'.repeat(20)}`,
  value: 1_000_000n,
  validAfter: 0n,
  validBefore: 4_102_444_800n,
  nonce: `0x${'cd'.repeat(32)}`,
};
const transaction = `0x${'ef'.repeat(32)}`;
const secondsPerBlock = 2;
const height = 1_000_000;
const now = 1_800_000_000;
const word = (value: bigint | string) => `0x${BigInt(value).toString(16).padStart(64, '0')}`;
const hex = (value: number) => `0x${value.toString(16)}`;

interface Node {
  readonly url: string;
  /** How many blocks each search spanned. */
  readonly spans: number[];
}

/** A node that used the authorisation in one block, and searches no more blocks at once than public ones do. */
async function startNode(
  t: TestContext,
  usedIn: number | undefined,
  { isUsed = true, behindSeconds = 0 } = {},
): Promise<Node> {
  const spans: number[] = [];
  const used = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
  const moved = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
  const logs = [
    {
      address: asset,
      topics: [used, word(authorization.from), authorization.nonce],
      transactionHash: transaction,
    },
    {
      address: asset,
      topics: [moved, word(authorization.from), word(authorization.to)],
      data: word(authorization.value),
    },
  ];
  const head = height - behindSeconds / secondsPerBlock;
  const blockOf = (text: unknown) => (text === 'latest' ? head : Number(text));
  const { url } = await startTestNode(t, (method, [first, block]): unknown => {
    // The state of a block is asked for by its number, so that another member of a pool cannot answer for another.
    if (method === 'eth_call') return block === hex(head) ? word(isUsed ? 1n : 0n) : NodeSays.error(-32000);
    if (method === 'eth_blockNumber') return hex(head);
    if (method === 'eth_getTransactionReceipt') return { logs };
    if (method === 'eth_getBlockByNumber') {
      const number = blockOf(first);
      return { number: hex(number), timestamp: hex(now - (height - number) * secondsPerBlock) };
    }
    if (method !== 'eth_getLogs' || typeof first !== 'object' || first === null) return null;
    const [from, to] = [blockOf(Reflect.get(first, 'fromBlock')), blockOf(Reflect.get(first, 'toBlock'))];
    spans.push(to - from);
    return usedIn !== undefined && usedIn >= from && usedIn <= to ? logs.slice(0, 1) : [];
  });
  return { url, spans };
}

function chainOf(t: TestContext, ...urls: string[]): AuthorizationChain {
  const chain = new AuthorizationChain({ 'base-sepolia': urls.join(', ') }, 60_000, () => now * 1000);
  t.after(() => chain.close());
  return chain;
}

const hoursAgo = (hours: number) => (now - hours * 3_600) * 1000;

test('a transfer is found as far back as the payment is old, a bounded search at a time', async (t) => {
  const tenHours = height - (10 * 3_600) / secondsPerBlock;
  const { url, spans } = await startNode(t, tenHours);
  const chain = chainOf(t, url);
  assert.deepEqual(await chain.fateOf(network, authorization, hoursAgo(11)), {
    kind: 'transferred',
    transaction,
  });
  assert.ok(spans.length > 3 && spans.every((span) => span <= 5_000), spans.join());
});

test('nothing is looked for that is older than the payment', async (t) => {
  const { url, spans } = await startNode(t, undefined);
  const chain = chainOf(t, url);
  assert.deepEqual(await chain.fateOf(network, authorization, hoursAgo(1)), { kind: 'used-unseen' });
  assert.equal(spans.length, 1);
});

test('the search ends, however old the payment is', async (t) => {
  const { url, spans } = await startNode(t, 1);
  const chain = chainOf(t, url);
  assert.deepEqual(await chain.fateOf(network, authorization, 0), { kind: 'used-unseen' });
  assert.equal(spans.length, 60);
});

test('an authorisation is unused only when every node says so', async (t) => {
  const unused = await startNode(t, undefined, { isUsed: false });
  const used = await startNode(t, height - 1);
  const fateOf = (...urls: string[]) => chainOf(t, ...urls).fateOf(network, authorization, hoursAgo(1));
  assert.deepEqual(await fateOf(unused.url, unused.url), { kind: 'unused' });
  assert.deepEqual(await fateOf(unused.url, used.url), { kind: 'transferred', transaction });
  await assert.rejects(fateOf(unused.url, 'http://127.0.0.1:1'), ChainUnavailable);
});

test('one that has run out is unused for good only in a block that is past its end', async (t) => {
  const current = await startNode(t, undefined, { isUsed: false });
  const behind = await startNode(t, undefined, { isUsed: false, behindSeconds: 600 });
  const fateOf = (url: string, endedSeconds: number) => {
    const ended = { ...authorization, validBefore: BigInt(now - endedSeconds) };
    return chainOf(t, url).fateOf(network, ended, hoursAgo(1));
  };
  assert.deepEqual(await fateOf(current.url, 300), { kind: 'unused' });
  await assert.rejects(fateOf(behind.url, 300), ChainUnavailable);
  assert.deepEqual(await fateOf(behind.url, 900), { kind: 'unused' });
});
