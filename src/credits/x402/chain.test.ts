import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { type TestContext, test } from 'node:test';
import { findX402Network } from '../../formats/x402/networks.ts';
import type { TransferAuthorization } from '../../formats/x402/payment.ts';
import { AuthorizationChain } from './chain.ts';

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
  readonly chain: AuthorizationChain;
  /** How many blocks each search spanned. */
  readonly spans: number[];
}

/** A node that used the authorisation in one block, and searches no more blocks at once than public ones do. */
async function startNode(t: TestContext, usedIn: number | undefined): Promise<Node> {
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
  const blockOf = (text: unknown) => (text === 'latest' ? height : Number(text));
  const answer = (method: string, [first]: readonly unknown[]): unknown => {
    if (method === 'eth_call') return word(1n);
    if (method === 'eth_blockNumber') return hex(height);
    if (method === 'eth_getTransactionReceipt') return { logs };
    if (method === 'eth_getBlockByNumber') {
      return { timestamp: hex(now - (height - Number(first)) * secondsPerBlock) };
    }
    if (method !== 'eth_getLogs' || typeof first !== 'object' || first === null) return null;
    const [from, to] = [blockOf(Reflect.get(first, 'fromBlock')), blockOf(Reflect.get(first, 'toBlock'))];
    spans.push(to - from);
    return usedIn !== undefined && usedIn >= from && usedIn <= to ? logs.slice(0, 1) : [];
  };
  const server = createServer((request, response) => {
    let text = '';
    request.on('data', (part) => {
      text += part;
    });
    request.on('end', () => {
      const { method, params } = JSON.parse(text);
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, result: answer(method, params) }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  const chain = new AuthorizationChain({ 'base-sepolia': `http://127.0.0.1:${address.port}` }, 60_000);
  t.after(async () => {
    await chain.close();
    server.close();
  });
  return { chain, spans };
}

const hoursAgo = (hours: number) => (now - hours * 3_600) * 1000;

test('a transfer is found as far back as the payment is old, a bounded search at a time', async (t) => {
  const tenHours = height - (10 * 3_600) / secondsPerBlock;
  const { chain, spans } = await startNode(t, tenHours);
  assert.deepEqual(await chain.fateOf(network, authorization, hoursAgo(11)), {
    kind: 'transferred',
    transaction,
  });
  assert.ok(spans.length > 3 && spans.every((span) => span <= 5_000), spans.join());
});

test('nothing is looked for that is older than the payment', async (t) => {
  const { chain, spans } = await startNode(t, undefined);
  assert.deepEqual(await chain.fateOf(network, authorization, hoursAgo(1)), { kind: 'used-unseen' });
  assert.equal(spans.length, 1);
});

test('the search ends, however old the payment is', async (t) => {
  const { chain, spans } = await startNode(t, 1);
  assert.deepEqual(await chain.fateOf(network, authorization, 0), { kind: 'used-unseen' });
  assert.equal(spans.length, 60);
});
