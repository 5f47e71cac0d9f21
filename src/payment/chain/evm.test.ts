import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, it } from 'node:test';
import { evmReader } from './evm.ts';

const service = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const payer = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
const id = `0x${'ab'.repeat(32)}`;
const topic = (address: string) => `0x${address.slice(2).toLowerCase().padStart(64, '0')}`;

describe('reading payments from Ethereum', () => {
  /** What the endpoint answers, by method. */
  let answers: Record<string, unknown> = {};
  let url = '';
  const server = createServer((request, response) => {
    let body = '';
    request.on('data', (part) => {
      body += part;
    });
    request.on('end', () => {
      const { id: callId, method } = JSON.parse(body);
      const result = answers[method];
      response.end(
        JSON.stringify(
          result instanceof Error
            ? { jsonrpc: '2.0', id: callId, error: { code: -32_000, message: result.message } }
            : { jsonrpc: '2.0', id: callId, result },
        ),
      );
    });
  });
  before(async () => {
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    const address = server.address();
    if (address === null || typeof address === 'string') throw new Error('no port');
    url = `http://127.0.0.1:${address.port}`;
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });

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
  const reader = () => evmReader({ rpcUrl: url, minConfirmations: 5 });
  const mined = (status: string, head: string, transaction: object = native, logs: unknown[] = []) => {
    answers = {
      eth_getTransactionByHash: transaction,
      eth_getTransactionReceipt: { status, blockNumber: '0x64', logs },
      eth_blockNumber: head,
    };
  };

  it('follows a transfer from the mempool to enough confirmations', async () => {
    answers = { eth_getTransactionByHash: null };
    assert.deepEqual(await reader().read(id), { state: 'not-found' });
    answers = { eth_getTransactionByHash: native, eth_getTransactionReceipt: null };
    assert.deepEqual(await reader().read(id), { state: 'pending', transfer });
    mined('0x1', '0x67');
    assert.deepEqual(await reader().read(id), {
      state: 'pending',
      transfer: { ...transfer, blockHeight: 100 },
    });
    mined('0x1', '0x68');
    assert.deepEqual(await reader().read(id), {
      state: 'confirmed',
      transfer: { ...transfer, blockHeight: 100 },
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

  it('reads one transfer of a token to the wallet, and no other log', async () => {
    const log = (address: string, from: string, to: string, data: string) => ({
      address: address.toLowerCase(),
      topics: ['0xddf252ad1be2c89b69c2b068fc378daa952ba7f163c4a11628f55a4df523b3ef', topic(from), topic(to)],
      data,
    });
    const call = `0xa9059cbb${topic(service).slice(2)}${'0'.repeat(64)}`;
    const memo = Buffer.from(`turboCreditDestinationAddress=${payer}`).toString('hex');
    const transaction = { from: payer, to: usdc, value: '0x0', input: call + memo };
    const token = evmReader({ rpcUrl: url, minConfirmations: 1, erc20: { contract: usdc, wallet: service } });
    const ours = log(usdc, payer, service, '0x0f4240');
    const others = [log(payer, payer, service, '0x05'), log(usdc, payer, payer, '0x06')];

    mined('0x1', '0x64', transaction, [...others, ours]);
    const found = await token.read(id);
    assert.deepEqual(found, {
      state: 'confirmed',
      transfer: {
        sender: payer,
        recipient: service,
        quantity: 1_000_000n,
        destination: payer,
        blockHeight: 100,
      },
    });
    // The same transfer as the settlement of an x402 payment, which has been credited as such.
    const authorized = {
      address: usdc.toLowerCase(),
      topics: [
        '0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5',
        topic(payer),
        `0x${'07'.repeat(32)}`,
      ],
      data: '0x',
    };
    for (const logs of [others, [ours, ours], [authorized, ours]]) {
      mined('0x1', '0x64', transaction, logs);
      const none = await token.read(id);
      assert.ok('transfer' in none);
      assert.deepEqual([none.transfer.recipient, none.transfer.quantity], ['', 0n]);
    }
    answers = { eth_getTransactionByHash: transaction, eth_getTransactionReceipt: null };
    assert.deepEqual(await token.read(id), { state: 'unreadable' });
  });

  it('fails when the endpoint fails, and takes only ids that can be one', async () => {
    answers = { eth_getTransactionByHash: new Error('busy') };
    await assert.rejects(reader().read(id), /busy/);
    answers = { eth_getTransactionByHash: 'text' };
    await assert.rejects(reader().read(id));
    await assert.rejects(evmReader({ rpcUrl: 'http://127.0.0.1:9', minConfirmations: 1 }).read(id));
    assert.equal(reader().parseId(id.toUpperCase().replace('X', 'x')), id);
    for (const wrong of ['', '0x', id.slice(2), `${id}0`, id.replace('a', 'g')]) {
      assert.equal(reader().parseId(wrong), undefined);
    }
  });
});
