import assert from 'node:assert/strict';
import { after, before, describe, it, type TestContext } from 'node:test';
import { collected } from '../../kernel/collected.ts';
import { evmCallErrors, JsonRpcPool } from '../../outside/json-rpc.ts';
import { NodeSays, startTestNode } from '../../outside/testing.ts';
import { coinHistory, evmReader, tokenHistory } from './evm.ts';

const service = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const payer = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const stranger = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf';
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const id = `0x${'ab'.repeat(32)}`;
const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

describe('reading payments from Ethereum', () => {
  /** What the endpoint answers, by method. */
  let answers: Record<string, unknown> = {};
  let url = '';
  const cleanup: (() => unknown)[] = [];
  before(async () => {
    const later = { after: (work: () => void) => void cleanup.push(work) };
    ({ url } = await startTestNode(later, (method) => answers[method]));
  });
  after(() => Promise.all(cleanup.map((work) => work())));

  const endpoints = (...urls: string[]): JsonRpcPool => {
    const pool = new JsonRpcPool({ urls, timeoutMs: 60_000, callErrors: evmCallErrors });
    cleanup.push(() => pool.close());
    return pool;
  };
  const native = {
    from: payer.toLowerCase(),
    to: service.toLowerCase(),
    value: '0x2386f26fc10000',
    input: `0x${Buffer.from('turboCreditDestinationAddress=GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB').toString('hex')}`,
  };
  const transfer = {
    sender: payer,
    recipient: service,
    quantity: 10_000_000_000_000_000n,
    destination: 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB',
  };
  const reader = () => evmReader({ endpoints: endpoints(url), minConfirmations: 5 });
  const mined = (status: string, head: string, transaction: object = native, logs: unknown[] = []) => {
    answers = {
      eth_getTransactionByHash: transaction,
      eth_getTransactionReceipt: { status, blockNumber: '0x64', logs },
      eth_blockNumber: head,
    };
  };

  it('follows a transfer from the mempool to enough confirmations', async () => {
    answers = { eth_blockNumber: '0x60', eth_getTransactionByHash: null };
    assert.deepEqual(await reader().read(id), { state: 'not-found', at: 96 });
    answers = {
      eth_blockNumber: '0x60',
      eth_getTransactionByHash: native,
      eth_getTransactionReceipt: null,
    };
    assert.deepEqual(await reader().read(id), { state: 'pending', transfer, at: 96 });
    mined('0x1', '0x67');
    assert.deepEqual(await reader().read(id), {
      state: 'pending',
      transfer: { ...transfer, blockHeight: 100 },
      at: 103,
    });
    mined('0x1', '0x68');
    assert.deepEqual(await reader().read(id), {
      state: 'confirmed',
      transfer: { ...transfer, blockHeight: 100 },
      at: 104,
    });
  });

  it('sees that a transaction was reverted although it has a value', async () => {
    mined('0x0', '0x68');
    assert.equal((await reader().read(id)).state, 'reverted');
    mined('0x0', '0x67');
    assert.equal((await reader().read(id)).state, 'pending', 'its block may still be replaced');
  });

  it('takes the making of a contract for no payment', async () => {
    mined('0x1', '0x68', { ...native, to: null });
    const found = await reader().read(id);
    assert.ok('transfer' in found);
    assert.equal(found.transfer.recipient, '');
  });

  const log = (address: string, from: string, to: string, data: string) => ({
    address: address.toLowerCase(),
    topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', topic(from), topic(to)],
    data,
  });
  const authorized = (by: string) => ({
    address: usdc.toLowerCase(),
    topics: [
      '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
      topic(by),
      `0x${'07'.repeat(32)}`,
    ],
    data: '0x',
  });
  const paid = log(usdc, payer, service, '0x0f4240');
  const call = `0xa9059cbb${topic(service).slice(2)}${(1_000_000).toString(16).padStart(64, '0')}`;
  const memo = Buffer.from(`turboCreditDestinationAddress=${stranger}`).toString('hex');
  const token = () =>
    evmReader({ endpoints: endpoints(url), minConfirmations: 1, erc20: { contract: usdc, wallet: service } });

  it('reads one transfer of a token to the wallet, and no other log', async () => {
    const transaction = { from: payer, to: usdc, value: '0x0', input: call + memo };
    const others = [log(payer, payer, service, '0x05'), log(usdc, payer, payer, '0x06')];

    mined('0x1', '0x64', transaction, [...others, paid]);
    assert.deepEqual(await token().read(id), {
      state: 'confirmed',
      transfer: {
        sender: payer,
        recipient: service,
        quantity: 1_000_000n,
        destination: stranger,
        blockHeight: 100,
      },
      at: 100,
    });
    // The same transfer as the settlement of an x402 payment, which has been credited as such.
    for (const logs of [others, [paid, paid], [authorized(payer), paid]]) {
      mined('0x1', '0x64', transaction, logs);
      const none = await token().read(id);
      assert.ok('transfer' in none);
      assert.deepEqual([none.transfer.recipient, none.transfer.quantity], ['', 0n]);
    }
    answers = { ...answers, eth_getTransactionByHash: transaction, eth_getTransactionReceipt: null };
    assert.deepEqual(await token().read(id), { state: 'unreadable', at: 100 });
  });

  it('lets nobody but the payer name the wallet for a token', async () => {
    const changed = (change: string) => change.padStart(64, '0');
    const strangers: [string, Record<string, unknown>][] = [
      ['a bundle of a smart wallet', { from: stranger, to: stranger, input: `0x1fad948c${memo}` }],
      ['a bundle that holds the very call', { from: stranger, to: stranger, input: call + memo }],
      ['an allowance that is used', { from: stranger, to: usdc, input: `0x23b872dd${memo}` }],
      ['a transfer that somebody else calls', { from: stranger, to: usdc, input: call + memo }],
      [
        'another function of the token',
        { from: payer, to: usdc, input: `0x12345678${call.slice(10)}${memo}` },
      ],
      [
        'another amount',
        { from: payer, to: usdc, input: call.slice(0, 74) + changed((999_999).toString(16)) + memo },
      ],
      [
        'another recipient',
        { from: payer, to: usdc, input: `0xa9059cbb${changed(stranger.slice(2))}${call.slice(74)}${memo}` },
      ],
      ['a call that is cut short', { from: payer, to: usdc, input: `0xa9059cbb${memo}` }],
      ['the making of a contract', { from: payer, to: null, input: call + memo }],
    ];
    for (const [what, transaction] of strangers) {
      mined('0x1', '0x64', { value: '0x0', ...transaction }, [paid]);
      const found = await token().read(id);
      assert.ok('transfer' in found, what);
      assert.equal(found.transfer.sender, payer, what);
      assert.equal(found.transfer.destination, undefined, what);
    }
  });

  it("is not kept from a payer's transfer by the authorisation of somebody else in the same bundle", async () => {
    const settled = log(usdc, stranger, service, '0x05');
    mined('0x1', '0x64', { from: stranger, to: stranger, value: '0x0', input: '0x' }, [
      authorized(stranger),
      settled,
      paid,
    ]);
    const found = await token().read(id);
    assert.ok('transfer' in found);
    assert.deepEqual([found.transfer.sender, found.transfer.quantity], [payer, 1_000_000n]);
  });

  it('takes a transaction for absent only when every endpoint says so', async (t) => {
    const none = (height: string) =>
      startTestNode(t, (method) => (method === 'eth_blockNumber' ? height : null));
    const [high, low] = [await none('0x64'), await none('0x60')];
    const away = 'http://127.0.0.1:1';
    const read = (...urls: string[]) =>
      evmReader({ endpoints: endpoints(...urls), minConfirmations: 5 }).read(id);
    assert.deepEqual(await read(high.url, low.url), { state: 'not-found', at: 96 });
    assert.deepEqual(await read((await none('0x0')).url), { state: 'not-found', at: 0 });
    await assert.rejects(read((await none('-0x1')).url));
    assert.equal((await read(high.url, away)).state, 'not-known');
    await assert.rejects(read(away, away));
    mined('0x1', '0x68');
    assert.equal((await read(high.url, away, url)).state, 'confirmed');
  });

  it('fails when the endpoint fails, and takes only ids that can be one', async () => {
    answers = { eth_blockNumber: '0x60', eth_getTransactionByHash: NodeSays.error(-32000, 'busy') };
    await assert.rejects(reader().read(id), /busy/);
    answers = { eth_blockNumber: '0x60', eth_getTransactionByHash: 'text' };
    await assert.rejects(reader().read(id));
    assert.equal(reader().parseId(id.toUpperCase().replace('X', 'x')), id);
    for (const wrong of ['', '0x', id.slice(2), `${id}0`, id.replace('a', 'g')]) {
      assert.equal(reader().parseId(wrong), undefined);
    }
  });

  describe('what was paid since a moment', () => {
    const secondsPerBlock = 12;
    const now = 1_800_000_000;
    const head = 20_000;
    const timeOf = (block: number) => (now - (head - block) * secondsPerBlock) * 1000;
    const hashOf = (number: number) => `0x${number.toString(16).padStart(64, '0')}`;
    const hex = (number: number) => `0x${number.toString(16)}`;
    /** By block: the transactions that it has, and the transfers that the token logged in it. */
    let transactions = new Map<number, object[]>();
    let transfers = new Map<number, object[]>();

    const chain = async (t: TestContext): Promise<JsonRpcPool> => {
      const node = await startTestNode(t, (method, [first, isFull]) => {
        if (method === 'eth_blockNumber') return hex(head);
        if (method === 'eth_getBlockByNumber') {
          const block = Number(first);
          const inside = transactions.get(block) ?? [];
          return { timestamp: hex(timeOf(block) / 1000), transactions: isFull === true ? inside : [] };
        }
        const { fromBlock, toBlock, address, topics } = Object(first);
        assert.deepEqual([method, address, topics[2]], ['eth_getLogs', usdc, topic(service)]);
        const last = toBlock === 'latest' ? head : Number(toBlock);
        assert.ok(last - Number(fromBlock) <= 5_000, 'no more blocks at once than public nodes search');
        return [...transfers].flatMap(([block, logs]) =>
          block >= Number(fromBlock) && block <= last ? logs : [],
        );
      });
      return endpoints(node.url);
    };

    it('is every transaction to the wallet with a value, block by block', async (t) => {
      const sent = (number: number, to: string | null, value: string) => ({
        hash: hashOf(number),
        to,
        value,
      });
      transactions = new Map([
        [head, [sent(1, stranger, '0x5'), sent(2, service.toLowerCase(), '0x5'), sent(3, null, '0x5')]],
        [head - 40, [sent(4, service, '0x0'), sent(5, service, '0x7')]],
        [head - 41, [sent(6, service, '0x7')]],
      ]);
      const pool = await chain(t);
      assert.deepEqual(await collected(coinHistory(pool, service, timeOf(head - 40))), [
        { id: hashOf(2), at: timeOf(head) },
        { id: hashOf(5), at: timeOf(head - 40) },
      ]);
      transactions.set(head - 3, [{ to: service, value: '0x1' }]);
      await assert.rejects(collected(coinHistory(pool, service, timeOf(head - 40))), /without a hash/);
    });

    it('is every transaction in which the token came in, once, however far back', async (t) => {
      const log = (number: number, block: number) => ({
        transactionHash: hashOf(number),
        blockNumber: hex(block),
      });
      transfers = new Map([
        [head - 1, [log(1, head - 1), log(1, head - 1)]],
        [head - 12_000, [log(2, head - 12_000)]],
        [head - 12_002, [log(3, head - 12_002)]],
      ]);
      const pool = await chain(t);
      const erc20 = { contract: usdc, wallet: service };
      assert.deepEqual(await collected(tokenHistory(pool, erc20, timeOf(head - 12_001))), [
        { id: hashOf(1), at: timeOf(head - 1) },
        { id: hashOf(2), at: timeOf(head - 12_000) },
      ]);
      assert.equal((await collected(tokenHistory(pool, erc20, 0))).length, 3);
      assert.equal((await collected(tokenHistory(pool, erc20, timeOf(head - 12_000)))).length, 2);
      transfers.set(head, [{ blockNumber: hex(head) }]);
      await assert.rejects(collected(tokenHistory(pool, erc20, 0)), /a log without a transaction/);
    });
  });
});
