/** The whole stack as a person starts it: credits are bought by card and with x402, and are there after a restart. */
import assert from 'node:assert/strict';
import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import Stripe from 'stripe';
import { encodeHeader, examplePayment } from '../../src/formats/x402/testing.ts';
import { signPayment } from '../../src/localnet/x402/testing.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const wallet = `${'w'.repeat(42)}A`;
const payer = examplePayment.payer;
let stack: RunningStack;

before(async () => {
  stack = await startStack({ environment: { TRUSTED_PROXIES: '127.0.0.1' } });
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
  stack = await startStack({ dataDir: stack.dataDir });
  assert.equal(await balance(wallet), '1225600000000');
  const [dispute] = (await stripe().disputes.list({ payment_intent: intent })).data;
  await stripe().disputes.update(dispute?.id ?? '', { evidence: { uncategorized_text: 'winning_evidence' } });
  await eventually('the credit', async () => (await balance(wallet)) === '2451200000000');
  assert.ok(BigInt(String(await balance(payer))) >= 1_000_000_000_000n);
});
