/** Payments in KYVE, read from a server that answers as the REST API of a Cosmos node does. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { collected } from '../../kernel/collected.ts';
import { kyveHistory, kyveReader } from './kyve.ts';

const id = 'AB'.repeat(32);
const sender = 'kyve1sender';
const service = 'kyve1service';

interface Node {
  height: number;
  /** By hash: the answer's status and body. */
  readonly transactions: Map<string, { status: number; body: unknown }>;
  readonly url: string;
}

async function startNode(t: TestContext): Promise<Node> {
  const transactions: Node['transactions'] = new Map();
  const node = { height: 1_000, transactions, url: '' };
  const server = createServer((request, response) => {
    const hash = /^\/cosmos\/tx\/v1beta1\/txs\/([0-9A-F]{64})$/.exec(request.url ?? '')?.[1];
    const latest = { status: 200, body: { block: { header: { height: String(node.height) } } } };
    const unknown = { status: 404, body: { code: 5, message: 'tx not found', details: [] } };
    const { status, body } = hash === undefined ? latest : (transactions.get(hash) ?? unknown);
    response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  node.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return node;
}

const send = (amount: readonly object[], more: object = {}) => ({
  ...{ '@type': '/cosmos.bank.v1beta1.MsgSend', from_address: sender, to_address: service, amount, ...more },
});

const answer = (messages: readonly object[], { code = 0, height = 990, memo = '' } = {}) => ({
  status: 200,
  body: {
    tx: { body: { messages, memo }, auth_info: {}, signatures: [] },
    tx_response: { height: String(height), txhash: id, code, raw_log: '' },
  },
});

const coin = (amount: string, denom = 'ukyve') => ({ denom, amount });
const options = { denom: 'ukyve', minConfirmations: 1 };

test('a bank transfer of the coin is a payment, once it is in a block with code 0', async (t) => {
  const node = await startNode(t);
  const reader = kyveReader([node.url], options);
  t.after(() => reader.close?.());
  assert.equal(reader.parseId(id.toLowerCase()), id);
  assert.equal(reader.parseId(`0x${id}`), undefined);
  assert.deepEqual(await reader.read(id), { state: 'not-found', at: 1_000 });
  const memo = 'turboCreditDestinationAddress=0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
  node.transactions.set(id, answer([send([coin('2500000')])], { memo }));
  assert.deepEqual(await reader.read(id), {
    state: 'confirmed',
    at: 1_000,
    transfer: {
      ...{ sender, recipient: service, quantity: 2_500_000n, blockHeight: 990 },
      destination: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    },
  });
  node.transactions.set(id, answer([send([coin('1')])], { code: 11 }));
  assert.equal((await reader.read(id)).state, 'reverted');
});

test('what is no plain transfer of the coin moves nothing to us', async (t) => {
  const node = await startNode(t);
  const reader = kyveReader([node.url], options);
  t.after(() => reader.close?.());
  const odd = [
    [send([coin('5', 'tkyve')])],
    [send([coin('5'), coin('5', 'other')])],
    [send([])],
    [send([coin('-5')])],
    [send([coin('5')]), send([coin('5')])],
    [{ ...send([coin('5')]), '@type': '/cosmos.bank.v1beta1.MsgMultiSend' }],
    [],
  ];
  for (const messages of odd) {
    node.transactions.set(id, answer(messages));
    const found = await reader.read(id);
    assert.ok('transfer' in found);
    assert.deepEqual([found.transfer.recipient, found.transfer.quantity], ['', 0n]);
  }
});

test('confirmations are counted, and absence is said only when every node said so', async (t) => {
  const [one, other] = [await startNode(t), await startNode(t)];
  const reader = kyveReader([one.url, other.url], { ...options, minConfirmations: 5 });
  const partly = kyveReader([one.url, 'http://127.0.0.1:9'], options);
  const nobody = kyveReader(['http://127.0.0.1:9'], options);
  t.after(() => Promise.all([reader, partly, nobody].map((each) => each.close?.())));
  assert.equal((await reader.read(id)).state, 'not-found');
  assert.equal((await partly.read(id)).state, 'not-known');
  await assert.rejects(nobody.read(id), Error);
  const { cause } = (await partly.read(id)) as { cause?: unknown };
  assert.ok(cause instanceof Error, 'why it is not known');
  other.transactions.set(id, answer([send([coin('5')])], { height: 998 }));
  assert.equal((await reader.read(id)).state, 'pending');
  other.height = 1_002;
  assert.equal((await reader.read(id)).state, 'confirmed');
  // As nodes of older versions say that there is none.
  for (const node of [one, other]) node.transactions.set(id, { status: 400, body: { code: 5 } });
  assert.equal((await reader.read(id)).state, 'not-found');
  for (const answered of [
    { status: 400, body: { code: 3 } },
    { status: 500, body: {} },
    { status: 200, body: { code: 5 } },
  ]) {
    other.transactions.set(id, answered);
    assert.equal((await reader.read(id)).state, 'not-known');
  }
  other.transactions.set(id, { status: 200, body: { tx_response: { txhash: 'CD'.repeat(32) } } });
  assert.equal((await reader.read(id)).state, 'not-known');
});

test('what was paid since a moment is listed page by page, by the first node that answers', async (t) => {
  const hashOf = (number: number) => number.toString(16).toUpperCase().padStart(64, '0');
  const newest = Date.UTC(2027, 0, 1);
  const all = Array.from({ length: 230 }, (_, index) => ({
    ...{ txhash: hashOf(index), timestamp: new Date(newest - index * 6_000).toISOString(), code: 0 },
  }));
  let newer: object[] = [];
  const asked: string[] = [];
  const listing = createServer((request, response) => {
    const { searchParams } = new URL(request.url ?? '', 'http://node');
    const page = Number(searchParams.get('page'));
    asked.push(`${searchParams.get('query')} ${searchParams.get('order_by')} ${page}`);
    const limit = Number(searchParams.get('limit'));
    const listed = [...newer, ...all].slice((page - 1) * limit, page * limit);
    // As nodes do for a page behind the last.
    response.statusCode = listed.length === 0 ? 500 : 200;
    response.end(JSON.stringify({ txs: [], tx_responses: listed, total: String(all.length) }));
  });
  await new Promise<void>((ready) => listing.listen(0, '127.0.0.1', ready));
  t.after(() => listing.close());
  const url = `http://127.0.0.1:${(listing.address() as AddressInfo).port}`;
  const broken = (await startNode(t)).url;
  const since = newest - 120 * 6_000;
  const expected = all
    .slice(0, 121)
    .map(({ txhash, timestamp }) => ({ id: txhash, at: Date.parse(timestamp) }));
  assert.deepEqual(await collected(kyveHistory([broken, url], service, since)), expected);
  const question = `transfer.recipient='${service}' ORDER_BY_DESC`;
  assert.deepEqual(asked, [`${question} 1`, `${question} 2`]);
  assert.equal((await collected(kyveHistory([url], service, 0))).length, 230);
  await assert.rejects(collected(kyveHistory([broken], service, since)), /listed no transactions/);
  for (const odd of [
    { timestamp: all[0]?.timestamp },
    { txhash: hashOf(1) },
    { txhash: hashOf(1), timestamp: 'now' },
  ]) {
    newer = [odd];
    await assert.rejects(collected(kyveHistory([url], service, since)), /without hash or time/);
  }
});
