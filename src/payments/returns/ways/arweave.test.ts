/** What is believed of a transfer of AR, with a node that says what the test says. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { winc } from '../../../credits/credits.ts';
import { testArweaveKey } from '../../../wallets/testing/keys.ts';
import { CannotSend, type CreditReturn, type SentReturn } from '../returns.ts';
import { arweaveWay } from './arweave.ts';

const recipient = `${'r'.repeat(42)}A`;
const order: CreditReturn = {
  ...{ id: 'one', address: 'anna', addressType: 'arweave', kind: 'chain', payment: 'p', quoteId: undefined },
  ...{ chain: 'arweave', token: 'arweave', winc: winc(1n), amount: 500n, recipient, state: 'due' },
  ...{ reference: undefined, reason: undefined, createdAt: 0, changedAt: 0 },
};

async function setUp(t: TestContext) {
  const says = {
    ...{ balance: '600', fee: '100', height: 1_000, post: 200 },
    /** Status and body. */
    tx: [404, 'Not Found.'] as [number, string],
  };
  const posted: string[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    const url = request.url ?? '';
    const answer = (status: number, text: string) => response.writeHead(status).end(text);
    if (request.method === 'POST') {
      posted.push(body);
      answer(says.post, 'OK');
    } else if (url.startsWith('/price/')) answer(200, says.fee);
    else if (url.endsWith('/balance')) answer(200, says.balance);
    else if (url === '/tx_anchor') answer(200, 'A'.repeat(64));
    else if (url === '/height') answer(200, String(says.height));
    else if (url.startsWith('/tx/')) answer(...says.tx);
    else answer(404, '');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const way = arweaveWay({ nodes: [url], key: testArweaveKey, minConfirmations: 10 });
  t.after(async () => {
    await way.close?.();
    server.closeAllConnections();
    server.close();
  });
  return { way, says, posted };
}

test('AR is sent where the wallet has it and the fee, and waits until it is deep enough or its time is over', async (t) => {
  const { way, says, posted } = await setUp(t);
  const prepared = await way.prepare(order);
  assert.ok(prepared !== undefined);
  assert.equal(prepared.validUntil, 1_000 + 50 + 18);
  says.balance = '599';
  await assert.rejects(way.prepare(order), /has 599 winston, and 600 are needed/);
  const sent: SentReturn = { ...order, state: 'sent', ...prepared };
  const mined = (confirmations: number) =>
    JSON.stringify({ block_height: 990, block_indep_hash: 'b', number_of_confirmations: confirmations });
  says.tx = [200, mined(9)];
  assert.equal((await way.deliver(sent)).state, 'waiting');
  says.tx = [200, mined(10)];
  assert.equal((await way.deliver(sent)).state, 'confirmed');
  says.tx = [202, 'Pending'];
  assert.equal((await way.deliver(sent)).state, 'waiting');
  assert.deepEqual(posted, []);
  says.tx = [404, 'Not Found.'];
  says.height = prepared.validUntil;
  assert.equal((await way.deliver(sent)).state, 'waiting');
  assert.equal(posted.length, 1, 'it is sent again');
  says.post = 400;
  assert.equal((await way.deliver(sent)).state, 'waiting', 'a refusal says nothing of other nodes');
  says.post = 503;
  await assert.rejects(way.deliver(sent), CannotSend);
  says.height += 1;
  assert.equal((await way.deliver(sent)).state, 'void');
  for (const missing of ['reference', 'wire', 'validUntil'] as const)
    await assert.rejects(way.deliver({ ...sent, [missing]: undefined }), /sent without a transaction/);
});

test('nodes that do not answer put it off', async (t) => {
  const way = arweaveWay({ nodes: ['http://127.0.0.1:1'], key: testArweaveKey, minConfirmations: 1 });
  t.after(() => way.close?.());
  await assert.rejects(way.prepare(order), CannotSend);
});
