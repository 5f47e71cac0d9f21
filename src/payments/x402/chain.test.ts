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
  assert.deepEqual(await fateOf(behind.url, 0), { kind: 'unused' }, 'it has not run out yet');
  assert.deepEqual(await fateOf(current.url, 1), { kind: 'unused' });
  assert.deepEqual(await fateOf(behind.url, 600), { kind: 'unused' }, 'a block of its very end');
});

const usedTopic = '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5';
const movedTopic = '0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef';
const { from, to, nonce, value } = authorization;
const use = { address: asset, topics: [usedTopic, word(from), nonce], transactionHash: transaction };
const transfer = { address: asset, topics: [movedTopic, word(from), word(to)], data: word(value) };

type Calls = Readonly<Record<string, (...params: readonly unknown[]) => unknown>>;

/** A chain of one node that answers by method; blocks are two seconds apart, as above. */
async function scripted(t: TestContext, calls: Calls): Promise<AuthorizationChain> {
  const usual: Calls = {
    eth_blockNumber: () => hex(height),
    eth_getBlockByNumber: (block) => {
      const number = block === 'latest' ? height : Number(block);
      return { number: hex(number), timestamp: hex(now - (height - number) * secondsPerBlock) };
    },
  };
  const { url } = await startTestNode(t, (method, params): unknown => {
    const answer = calls[method] ?? usual[method];
    return answer === undefined ? null : answer(...params);
  });
  return chainOf(t, url);
}

test('a payment was made only where its own transfer follows the use of its authorisation', async (t) => {
  let logs: unknown = [];
  const chain = await scripted(t, {
    eth_call: () => word(1n),
    eth_getLogs: () => [{ transactionHash: 7 }, { transactionHash: '0x12' }, use],
    eth_getTransactionReceipt: () => logs,
  });
  const fate = async (list: unknown) => {
    logs = list;
    return (await chain.fateOf(network, authorization, hoursAgo(1))).kind;
  };
  const other = `0x${'12'.repeat(20)}`;
  assert.equal(await fate({ logs: [use, transfer] }), 'transferred');
  assert.equal(await fate({ logs: [transfer, use, transfer] }), 'transferred');
  const upper = { ...use, address: asset.toUpperCase().replace('0X', '0x') };
  assert.equal(await fate({ logs: [upper, transfer] }), 'transferred');
  for (const [what, list] of Object.entries({
    'no logs': undefined,
    'a use alone': [use],
    'a transfer alone': [transfer],
    'another order': [transfer, use],
    'something between': [use, { address: asset, topics: [] }, transfer],
    'another token': [{ ...use, address: other }, transfer],
    'a transfer of another token': [use, { ...transfer, address: other }],
    'no address': [use, { ...transfer, address: 5 }],
    'another payer': [use, { ...transfer, topics: [movedTopic, word(to), word(to)] }],
    'another payee': [use, { ...transfer, topics: [movedTopic, word(from), word(from)] }],
    'another nonce': [{ ...use, topics: [usedTopic, word(from), word(5n)] }, transfer],
    'more topics': [use, { ...transfer, topics: [...transfer.topics, word(1n)] }],
    'no topics': [use, { ...transfer, topics: 'none' }],
    'another amount': [use, { ...transfer, data: word(value + 1n) }],
    'no amount': [use, { ...transfer, data: '0x1' }],
    'no text': [use, { ...transfer, data: 1 }],
  }))
    assert.equal(await fate({ logs: list }), 'used-otherwise', what);
  await assert.rejects(fate(null), ChainUnavailable);
});

test('numbers and states that are none are no answer', async (t) => {
  let [head, state]: [unknown, unknown] = [hex(height), word(0n)];
  const chain = await scripted(t, {
    eth_getBlockByNumber: () => ({ number: head, timestamp: hex(now) }),
    eth_call: () => state,
  });
  const fate = () => chain.fateOf(network, authorization, hoursAgo(1));
  assert.deepEqual(await fate(), { kind: 'unused' });
  for (const nonsense of [7, 'x', '0x', `0x${'1'.repeat(17)}`]) {
    head = nonsense;
    await assert.rejects(fate(), ChainUnavailable, String(nonsense));
  }
  head = hex(height);
  for (const nonsense of [7, '0x1', `${word(0n)}0`]) {
    state = nonsense;
    await assert.rejects(fate(), ChainUnavailable, String(nonsense));
  }
  const elsewhere = findX402Network('base');
  assert.ok(elsewhere !== undefined && !chain.knows(elsewhere) && chain.knows(network));
  await assert.rejects(chain.fateOf(elsewhere, authorization, 0), ChainUnavailable);
  await assert.rejects(chain.transfersTo(elsewhere, to, 0).next(), ChainUnavailable);
});

test('a permit was used by the transfer of just its amount in a transaction that carries its signature', async (t) => {
  const signature = `0x${'5A'.repeat(65)}`;
  const permit = { authorization: { ...authorization, nonce: word(0x105n) }, signature };
  const answers = {
    bitmap: word(1n << 5n),
    logs: [] as unknown,
    input: `0x00${'5a'.repeat(65)}00` as unknown,
  };
  const asked: unknown[] = [];
  const chain = await scripted(t, {
    eth_call: (call) => {
      asked.push(call);
      return answers.bitmap;
    },
    eth_getLogs: () => answers.logs,
    eth_getTransactionByHash: (hash) => {
      asked.push(hash);
      return { input: answers.input };
    },
  });
  const fate = () => chain.fateOfPermit(network, permit, 300n, hoursAgo(1));
  const paid = { data: word(300n), transactionHash: transaction };
  answers.logs = [
    { ...paid, data: 7 },
    { ...paid, data: '0x1' },
    { ...paid, data: '0x12c', transactionHash: word(9n) },
    { ...paid, data: word(301n) },
    { ...paid, transactionHash: 1 },
    { ...paid, transactionHash: '0x1' },
    paid,
  ];
  assert.deepEqual(await fate(), { kind: 'transferred', transaction });
  assert.equal(asked.length, 2, 'only what may be it is looked into');
  assert.match(JSON.stringify(asked[0]), /0{63}1"/, 'the word of the bitmap that the nonce is in');
  answers.input = '0x1234';
  assert.deepEqual(await fate(), { kind: 'used-unseen' });
  answers.input = 5;
  assert.deepEqual(await fate(), { kind: 'used-unseen' });
  answers.logs = 'none';
  assert.deepEqual(await fate(), { kind: 'used-unseen' });
  answers.logs = Array.from({ length: 51 }, (_, n) => ({ ...paid, transactionHash: word(BigInt(n + 1)) }));
  asked.length = 0;
  assert.deepEqual(await fate(), { kind: 'used-unseen' });
  assert.equal(asked.length, 51, 'fifty, and the state');
  for (const bitmap of [1n << 4n, 1n << 6n, 0n]) {
    answers.bitmap = word(bitmap);
    assert.deepEqual(await fate(), { kind: 'unused' });
  }
});

test('what came in to a wallet is listed once, with the authorisation that it used', async (t) => {
  const [newer, older] = [word(1n), word(2n)];
  const searches: unknown[] = [];
  const chain = await scripted(t, {
    eth_getLogs: (search) => {
      searches.push(search);
      if (searches.length > 1) return [{ transactionHash: older, blockNumber: hex(height - 6_000) }];
      return [
        { transactionHash: newer, blockNumber: hex(height - 10) },
        { transactionHash: newer, blockNumber: hex(height - 10) },
        { transactionHash: 5, blockNumber: hex(height - 10) },
        { transactionHash: '0x5', blockNumber: hex(height - 10) },
      ];
    },
    eth_getTransactionReceipt: (hash) => ({
      logs:
        hash === newer
          ? [
              use,
              transfer,
              { ...transfer, data: word(7n) },
              { ...use, topics: [usedTopic, word(to), nonce] },
              { ...transfer, data: word(8n) },
              { ...transfer, topics: [movedTopic, word(from), word(from)] },
              { ...transfer, topics: [usedTopic, word(from), word(to)] },
              { ...transfer, topics: [movedTopic] },
              { ...transfer, data: 5 },
              { ...transfer, data: '0x5' },
              { ...transfer, address: to },
            ]
          : undefined,
    }),
  });
  const all = async (since: number) => {
    searches.length = 0;
    const list: unknown[] = [];
    for await (const one of chain.transfersTo(network, to, since)) list.push(one);
    return list;
  };
  const at = (now - 20) * 1000;
  const common = { from, transaction: newer, at };
  const expected = [
    { ...common, value, nonce },
    { ...common, value: 7n, nonce: undefined },
    { ...common, value: 8n, nonce: undefined },
  ];
  assert.deepEqual(await all(at), expected);
  assert.equal(searches.length, 1);
  assert.deepEqual(await all(at + 1), [], 'what is older is not');
  assert.deepEqual(await all((now - 15_000) * 1000), expected);
  assert.deepEqual(
    searches.map((search) => [
      Reflect.get(Object(search), 'fromBlock'),
      Reflect.get(Object(search), 'toBlock'),
    ]),
    [
      [hex(height - 5_000), 'latest'],
      [hex(height - 10_001), hex(height - 5_001)],
    ],
  );
});

test('a search ends at the first block', async (t) => {
  let searches = 0;
  const chain = await scripted(t, {
    eth_blockNumber: () => hex(5_000),
    eth_call: () => word(1n),
    eth_getLogs: () => {
      searches += 1;
      return [];
    },
  });
  assert.deepEqual(await chain.fateOf(network, authorization, 0), { kind: 'used-unseen' });
  assert.equal(searches, 1);
});

test('a contract stands by a signature with one answer alone', async (t) => {
  let answer: unknown = '';
  let asked: unknown;
  const chain = await scripted(t, {
    eth_call: (call) => {
      asked = call;
      return answer;
    },
  });
  const isSigned = () => chain.isSignedByContract(network, from, Buffer.alloc(32, 9), `0x${'ab'.repeat(33)}`);
  answer = `0x1626ba7e${'0'.repeat(56)}`;
  assert.equal(await isSigned(), true);
  assert.deepEqual(asked, {
    to: from,
    gas: '0xf4240',
    data: `0x1626ba7e${'09'.repeat(32)}${'40'.padStart(64, '0')}${'21'.padStart(64, '0')}${'ab'.repeat(33).padEnd(128, '0')}`,
  });
  for (const wrong of ['0x', `0x1626ba7e${'0'.repeat(55)}1`, `0x${'f'.repeat(64)}`, 7, null]) {
    answer = wrong;
    assert.equal(await isSigned(), false);
  }
  answer = NodeSays.error(-32000);
  assert.equal(await isSigned(), false);
});
