/** What the node has because ArLocal has it: wallets by decree, transactions that are taken back, a log. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { request } from 'undici';
import {
  checkChain,
  type RunningLocalArweave,
  startLocalArweave,
  TestWallet,
} from '../../../test/support/local-arweave.ts';
import { encodeBase64url } from '../../formats/base64url.ts';

const AR = 1_000_000_000_000n;
const stranger = encodeBase64url(Buffer.alloc(32, 7));

describe('the routes of ArLocal', () => {
  let running: RunningLocalArweave;
  before(async () => {
    running = await startLocalArweave();
  });
  after(() => running.stop());

  const ask = async (
    method: 'GET' | 'POST' | 'PATCH' | 'DELETE',
    path: string,
    body?: unknown,
    headers: Record<string, string> = {},
  ) => {
    const answer = await request(running.client.url + path, {
      method,
      headers: { 'content-type': 'application/json', ...headers },
      body: body === undefined ? null : typeof body === 'string' ? body : JSON.stringify(body),
    });
    return { status: answer.statusCode, text: await answer.body.text() };
  };

  it('makes wallets with the balance that is asked for', async () => {
    const { client } = running;
    const made = await ask('POST', '/wallet', { balance: 5_000 });
    assert.equal(made.status, 200);
    const { address, balance } = JSON.parse(made.text);
    assert.equal(balance, 5_000);
    assert.equal(await client.balance(address), 5_000n);
    const named = await ask('POST', '/wallet', { address: stranger, balance: '7' });
    assert.deepEqual(JSON.parse(named.text), { address: stranger, balance: '7' });
    assert.equal(await client.balance(stranger), 7n);
    assert.deepEqual(JSON.parse((await ask('PATCH', `/wallet/${stranger}/balance`, { balance: 3 })).text), {
      balance: 3,
    });
    assert.equal(await client.balance(stranger), 3n);
    assert.equal((await ask('PATCH', `/wallet/${stranger}/balance`, { balance: '0' })).status, 200);
    assert.equal(await client.balance(stranger), 0n);
    await checkChain(client, 5_000n);
  });

  it('refuses what is no wallet or no balance, in the words that suites compare, and changes nothing', async () => {
    const { client } = running;
    const before = await client.snapshot();
    for (const [method, path, body, status, text] of [
      ['POST', '/wallet', { address: 'short' }, 422, '{"status":422,"error":"Address badly formatted"}'],
      ['PATCH', `/wallet/${stranger}/balance`, {}, 422, '{"status":422,"error":"Balance is required !"}'],
      [
        'PATCH',
        '/wallet/short/balance',
        { balance: 1 },
        422,
        '{"status":422,"error":"Address badly formatted"}',
      ],
      ['POST', '/wallet', { balance: -1 }, 400, undefined],
      ['POST', '/wallet', { balance: 1.5 }, 400, undefined],
      ['POST', '/wallet', { balance: '1e3' }, 400, undefined],
      ['POST', '/wallet', { balance: 1e22 }, 400, undefined],
      ['POST', '/wallet', '{', 400, undefined],
      ['DELETE', `/tx/${stranger}`, undefined, 404, '{"status":404,"error":"Not found"}'],
      ['GET', '/mineWithFails/0', undefined, 400, undefined],
      ['GET', '/mineWithFails?fails=101', undefined, 400, undefined],
    ] as const) {
      const answer = await ask(method, path, body);
      assert.equal(answer.status, status, `${method} ${path} ${JSON.stringify(body)}: ${answer.text}`);
      if (text !== undefined) assert.equal(answer.text, text);
    }
    assert.deepEqual(await client.snapshot(), before);
  });

  it('takes a pending transaction back, and no mined one', async () => {
    const { client } = running;
    const wallet = new TestWallet();
    await client.text(`/mint/${wallet.address}/${10n * AR}`);
    const transaction = await wallet.transaction(client, { data: Buffer.from('second thoughts') });
    const id = encodeBase64url(transaction.id);
    await client.postTx(transaction);
    assert.deepEqual(await client.json('/tx/pending'), [id]);
    assert.equal((await ask('DELETE', `/tx/${id}`)).status, 200);
    assert.deepEqual(await client.json('/tx/pending'), []);
    assert.equal((await client.get(`/tx/${id}`)).status, 404);
    assert.equal((await client.postTx(transaction)).status, 200, 'it may come again');
    await client.text('/mine');
    assert.equal((await ask('DELETE', `/tx/${id}`)).status, 409);
    assert.equal((await client.get(`/tx/${id}`)).status, 200);
    await checkChain(client, 5_000n + 10n * AR);
  });

  it('mines, answers as /info does, and drops what is said to fail', async () => {
    const { client } = running;
    const wallet = new TestWallet();
    await client.text(`/mint/${wallet.address}/${10n * AR}`);
    const post = async (text: string) => {
      const transaction = await wallet.transaction(client, { data: Buffer.from(text) });
      await client.postTx(transaction);
      return encodeBase64url(transaction.id);
    };
    const lost = await post('lost');
    const { height } = await client.json<{ height: number }>('/info');
    const answer = await client.json<{ height: number }>('/mineWithFails/2?fails=100');
    assert.equal(answer.height, height + 2);
    assert.deepEqual(answer, await client.json('/info'));
    assert.equal((await client.get(`/tx/${lost}`)).status, 404);
    const kept = await post('kept');
    await client.text('/mineWithFails');
    assert.equal((await client.get(`/tx/${kept}`)).status, 200);
  });

  it('lists the newest requests as text', async () => {
    await running.client.get('/wallet/short/balance');
    const { text } = await ask('GET', '/logs');
    assert.match(text, /^\S+Z GET \/wallet\/short\/balance 400 \d+ ms$/m);
    for (let count = 0; count < 1_100; count += 50) {
      await Promise.all(Array.from({ length: 50 }, () => running.client.get('/height')));
    }
    const later = (await ask('GET', '/logs')).text;
    assert.equal(later.trimEnd().split('\n').length, 1_000);
    assert.ok(!later.includes('/wallet/short/balance'));
  });

  it('lets no page from elsewhere control the network', async () => {
    const { client } = running;
    const before = await client.snapshot();
    const foreign = { 'sec-fetch-site': 'cross-site' };
    for (const [method, path] of [
      ['GET', '/mine'],
      ['GET', '/mine/2'],
      ['GET', '/mineWithFails'],
      ['GET', `/mint/${stranger}/5`],
      ['POST', '/wallet'],
      ['PATCH', `/wallet/${stranger}/balance`],
      ['POST', '/fork'],
      ['POST', '/faults'],
      ['DELETE', '/faults'],
      ['DELETE', `/tx/${stranger}`],
      ['DELETE', '/chunk/1'],
    ] as const) {
      const answer = await ask(method, path, method === 'GET' ? undefined : {}, foreign);
      assert.equal(answer.status, 403, path);
    }
    assert.deepEqual(await client.snapshot(), before);
    const own = { ...foreign, origin: 'http://localhost:5173' };
    assert.equal((await ask('GET', '/mine', undefined, own)).status, 200);
    assert.equal((await ask('GET', '/info', undefined, foreign)).status, 200, 'the chain is for everybody');
  });
});
