/** The whole stack as a person starts it: credits are bought by card and with x402, and are there after a restart. */
import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { readFileSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Stripe from 'stripe';
import { memberOf } from '../../src/formats/json.ts';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { signPayment } from '../../src/localnet/x402/testing.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { followStream } from '../support/event-stream.ts';
import { eventually } from '../support/eventually.ts';
import { contentDigest, signedHeaders, solanaPayer } from '../support/request-signers.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const wallet = `${'w'.repeat(42)}A`;
const payer = examplePayment.payer;
const environment = {
  TRUSTED_PROXIES: '127.0.0.1',
  BUNDLE_MAX_WAIT_MS: '0',
  BUNDLE_POLL_MS: '50',
  BUNDLE_CONFIRMATIONS: '1',
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '500',
};
let stack: RunningStack;

before(async () => {
  stack = await startStack({ environment });
});
after(async () => {
  const { dataDir } = stack;
  await stack.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const url = (name: string) => {
  const found = stack.urls[name];
  assert.ok(found !== undefined, `no ${name} in the stack`);
  return found;
};

const json = async (path: string, init?: RequestInit): Promise<Record<string, unknown>> => {
  const answer = await fetch(path, init);
  const body: Record<string, unknown> = JSON.parse(await answer.text());
  return body;
};

const balance = async (address: string): Promise<unknown> =>
  (await json(`${url('payment')}/v1/account/balance?address=${address}`)).winc;

/** The key of the local card provider, where the first start put it. */
function stripe(): Stripe {
  const key = readFileSync(join(stack.dataDir, 'keys', 'local-card-secret-key'), 'utf8').trim();
  const { hostname, port } = new URL(url('card'));
  return new Stripe(key, { host: hostname, port, protocol: 'http', maxNetworkRetries: 0, telemetry: false });
}

test('a card payment arrives as credits', async () => {
  const quoted = await json(`${url('payment')}/v1/top-up/payment-intent/${wallet}/usd/1000`);
  const session = quoted.paymentSession;
  assert.ok(typeof session === 'object' && session !== null && 'id' in session);
  await stripe().paymentIntents.confirm(String(session.id), { payment_method: 'pm_card_visa' });
  await eventually('the credit', async () => (await balance(wallet)) === '1225600000000');
});

test('an x402 payment arrives as credits', async () => {
  await json(`${url('x402')}/mint`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ address: payer, amount: '100000000' }),
  });
  const path = `${url('payment')}/v1/x402/top-up?type=credits&qty=1`;
  const asked = await json(path);
  const { paymentPayload } = signPayment({
    payTo: String(asked.payTo),
    value: BigInt(String(asked.maxAmountRequired)),
  });
  const paid = await json(path, { headers: { 'x-payment': encodeHeader(paymentPayload) } });
  assert.equal(paid.walletAddress, payer);
  assert.ok(BigInt(String(paid.creditedWinc)) >= 1_000_000_000_000n);
  assert.equal(await balance(payer), paid.creditedWinc);
});

test('an x402 payment for so many bytes pays for an upload of them, right afterwards', async () => {
  for (const [name, bytes] of [
    ['a small file', 300_000],
    ['a large file', 4_998_000],
  ] as const) {
    const signer = solanaSigner(ed25519TestKey(name));
    const { address } = itemOwner(4, signer.owner).wallet;
    const item = await signItem({ data: Buffer.alloc(bytes, name) }, signer);
    const path = `${url('payment')}/v1/x402/top-up?type=bytes&qty=${item.length}&address=${address}`;
    const asked = await json(path);
    const value = BigInt(String(asked.maxAmountRequired));
    const { paymentPayload } = signPayment({ payTo: String(asked.payTo), value });
    const paid = await json(path, { headers: { 'x-payment': encodeHeader(paymentPayload) } });
    assert.equal(paid.walletAddress, address);
    const headers = { 'content-type': 'application/octet-stream' };
    const stored = await fetch(`${url('upload')}/v1/tx/solana`, { method: 'POST', headers, body: item });
    assert.equal(stored.status, 200, await stored.text());
    assert.ok(BigInt(String(await balance(address))) < BigInt(String(paid.creditedWinc)) / 100n);
  }
});

/** A wallet that is told what happens to it. */
const told = solanaPayer('told');
/** What it was told last before the stack was killed. */
let lastTold = '';

const signed = async (method: string, path: string, body?: object): Promise<Response> => {
  const text = body === undefined ? {} : { body: JSON.stringify(body) };
  const headers = { ...(await signedHeaders(told)), ...(body && { 'content-type': 'application/json' }) };
  return fetch(`${url('payment')}${path}`, { method, headers, ...text });
};

const payByCard = async (address: string, query = ''): Promise<void> => {
  const quoted = await json(`${url('payment')}/v1/top-up/payment-intent/${address}/usd/1000${query}`);
  const session = quoted.paymentSession;
  assert.ok(typeof session === 'object' && session !== null && 'id' in session);
  await stripe().paymentIntents.confirm(String(session.id), { payment_method: 'pm_card_visa' });
};

test('a wallet is told of payment, upload and low balance, by a stream and by a webhook', async () => {
  const received: { type: string; data: Record<string, unknown> }[] = [];
  const receiver = createServer(async (request, response) => {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece);
    received.push(...JSON.parse(String(Buffer.concat(pieces))).events);
    response.end();
  });
  await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
  const { port } = receiver.address() as AddressInfo;
  try {
    const made = await signed('POST', '/v1/hooks', {
      url: `http://127.0.0.1:${port}/`,
      query: { types: ['upload.receipt', 'credits.low'] },
    });
    assert.equal(made.status, 201, await made.clone().text());
    const stream = await followStream(`${url('payment')}/v1/events`, await signedHeaders(told, 'to-read'));
    await payByCard(told.address, '?destinationAddressType=solana');
    const [paid] = await stream.wait('credits.paid');
    assert.deepEqual([paid?.data.winc, paid?.data.reason], ['1225600000000', 'payment']);
    const notice = await signed('PUT', '/v1/account/notice', { winc: '1225600000000' });
    assert.deepEqual(await notice.json(), { winc: '1225600000000', own: true });
    const item = await signItem(
      { data: Buffer.alloc(300_000, 'told') },
      solanaSigner(ed25519TestKey('told')),
    );
    const headers = { 'content-type': 'application/octet-stream' };
    const stored = await json(`${url('upload')}/v1/tx/solana`, { method: 'POST', headers, body: item });
    const [receipt] = await stream.wait('upload.receipt');
    assert.deepEqual([receipt?.data.id, receipt?.data.winc], [stored.id, stored.winc]);
    lastTold = receipt?.id ?? '';
    const [low] = await stream.wait('credits.low');
    assert.deepEqual(
      [low?.data.noticeWinc, low?.data.usualWinc, low?.data.balance],
      ['1225600000000', stored.winc, await balance(told.address)],
    );
    assert.equal((await stream.wait('upload.bundled'))[0]?.data.id, stored.id);
    const [permanent] = await stream.wait('upload.permanent');
    assert.equal(permanent?.data.id, stored.id);
    stream.close();
    const order = stream.events.map(({ type }) => type);
    assert.deepEqual(
      order.filter((type) => type.startsWith('upload.')),
      ['upload.receipt', 'upload.bundled', 'upload.permanent'],
    );
    await eventually('the webhook', async () => received.length === 3);
    assert.deepEqual(
      received.map(({ type }) => type),
      ['ping', ...order.filter((type) => type === 'upload.receipt' || type === 'credits.low')],
    );
  } finally {
    receiver.close();
  }
});

test('nobody else is told, and no signature changes anything twice', async () => {
  const path = '/v1/events/ticket';
  assert.equal((await fetch(`${url('payment')}/v1/events`)).status, 403);
  const { ticket } = (await (await signed('POST', path)).json()) as { ticket: string };
  assert.equal((await fetch(`${url('payment')}/v1/balance?x=1`, { headers: bearer(ticket) })).status, 403);
  const byTicket = await followStream(`${url('payment')}/v1/events?last=100&ticket=${ticket}`);
  await byTicket.wait('credits.paid');
  byTicket.close();
  const other = await signedHeaders(solanaPayer('somebody else'), 'to-read');
  const stranger = await followStream(`${url('payment')}/v1/events?after=0`, other);
  const again = await signedHeaders(told);
  const change = () =>
    fetch(`${url('payment')}/v1/account/notice`, {
      method: 'PUT',
      headers: { ...again, 'content-type': 'application/json' },
      body: JSON.stringify({ winc: '5' }),
    });
  assert.deepEqual([(await change()).status, (await change()).status], [200, 403]);
  const info = await json(`${url('payment')}/v1/info`);
  const service = String(memberOf(info.addresses, 'arweave'));
  const bound = { service, method: 'PUT', path: '/v1/account/notice', contentDigest: contentDigest('{}') };
  for (const [named, words] of [
    [{ ...bound, service: told.address }, /for another service/],
    [bound, /does not cover/],
  ] as const) {
    const answer = await fetch(`${url('payment')}/v1/account/notice`, {
      method: 'PUT',
      headers: { ...(await signedHeaders(told, randomUUID(), named)), 'content-type': 'application/json' },
      body: JSON.stringify({ winc: '6' }),
    });
    assert.equal(answer.status, 403);
    assert.match(await answer.text(), words);
  }
  assert.deepEqual(await (await signed('GET', '/v1/account/notice')).json(), { winc: '5', own: true });
  for (const winc of ['-1', '1.5', 7, '9'.repeat(40)]) {
    assert.equal((await signed('PUT', '/v1/account/notice', { winc })).status, 400, String(winc));
  }
  assert.equal((await fetch(`${url('payment')}/v1/events?types=coins`, { headers: other })).status, 400);
  assert.deepEqual(await (await fetch(`${url('payment')}/v1/hooks`, { headers: other })).json(), {
    hooks: [],
  });
  assert.deepEqual(stranger.events, []);
  stranger.close();
});

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

test('behind a trusted proxy a payment is asked for at the address that the payer knows', async () => {
  const forwarded = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'pay.example' };
  const asked = await json(`${url('payment')}/v1/x402/top-up?type=credits&qty=1`, { headers: forwarded });
  assert.equal(asked.resource, 'https://pay.example/v1/x402/top-up?type=credits&qty=1');
});

test('a proxy that is no address is refused at the start, by the name of its variable', async () => {
  const environment = { TRUSTED_PROXIES: '10.0.0.0/33' };
  await assert.rejects(
    startStack({ environment, only: ['payment'] }),
    /TRUSTED_PROXIES: "10\.0\.0\.0\/33" is no address or network\s*$/,
  );
});

test('a dispute that came before a crash and is won after it gives its credits back', async () => {
  const quoted = await json(`${url('payment')}/v1/top-up/payment-intent/${wallet}/usd/1000`);
  const session = quoted.paymentSession;
  assert.ok(typeof session === 'object' && session !== null && 'id' in session);
  const intent = String(session.id);
  await stripe().paymentIntents.confirm(intent, { payment_method: 'pm_card_createDispute' });
  await stack.end('SIGKILL');
  stack = await startStack({ dataDir: stack.dataDir, environment });
  assert.equal(await balance(wallet), '1225600000000');
  const [dispute] = (await stripe().disputes.list({ payment_intent: intent })).data;
  await stripe().disputes.update(dispute?.id ?? '', { evidence: { uncategorized_text: 'winning_evidence' } });
  await eventually('the credit', async () => (await balance(wallet)) === '2451200000000');
  assert.ok(BigInt(String(await balance(payer))) >= 1_000_000_000_000n);
});

test('a reader that comes back goes on where it was, after a crash too', async () => {
  const headers = { ...(await signedHeaders(told, 'to-read')), 'last-event-id': lastTold };
  const stream = await followStream(`${url('payment')}/v1/events?types=upload`, headers);
  await stream.wait('upload.permanent');
  assert.deepEqual(
    stream.events.map(({ type }) => type),
    ['upload.bundled', 'upload.permanent'],
  );
  stream.close();
});
