/** Published x402 clients of both versions pay for a top-up, unmodified. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { ExactEvmScheme, UptoEvmScheme } from '@x402/evm';
import { decodePaymentResponseHeader, wrapFetchWithPaymentFromConfig } from '@x402/fetch';
import { privateKeyToAccount } from 'viem/accounts';
import { createSigner, decodeXPaymentResponse, wrapFetchWithPayment } from 'x402-fetch';
import { startFacilitator } from '../../src/localnet/x402/testing.ts';
import { openX402Bench } from '../support/x402-bench.ts';
import { costOf, openX402World } from '../support/x402-uploads.ts';

const privateKey = `0x${'11'.repeat(32)}` as const;
const account = privateKeyToAccount(privateKey);
const credit = 1_000_000_000_000n;

async function open(t: TestContext) {
  const facilitator = await startFacilitator(t);
  await facilitator.mint(account.address, 20_000_000n);
  const { url, payTo, rpcUrls } = facilitator.facilitator;
  const bench = await openX402Bench(t, { facilitatorUrl: url, payTo, rpcUrls });
  return { ...bench, facilitator };
}

test('x402-fetch 1 tops up with X-PAYMENT', async (t) => {
  const { url, credits, facilitator } = await open(t);
  const signer = await createSigner('base-sepolia', privateKey);
  const pay = wrapFetchWithPayment(fetch, signer, 5_000_000n);
  const answer = await pay(`${url}/v1/x402/top-up?type=credits&qty=2`);
  assert.equal(answer.status, 200);
  const settlement = decodeXPaymentResponse(answer.headers.get('x-payment-response') ?? '');
  assert.equal(settlement.success, true);
  assert.equal(settlement.network, 'base-sepolia');
  const body = JSON.parse(await answer.text());
  assert.equal(body.walletAddress, account.address);
  assert.equal(body.creditedWinc, (2n * credit).toString());
  assert.equal(body.x402SettlementResponse.transaction, settlement.transaction);
  assert.equal((await credits.balance(account.address))?.winc, 2n * credit);
  assert.equal(await facilitator.balance(account.address), '18000000');
});

test('x402-fetch 1 refuses to pay more than its caller allows, and nothing moves', async (t) => {
  const { url, credits, facilitator } = await open(t);
  const signer = await createSigner('base-sepolia', privateKey);
  const pay = wrapFetchWithPayment(fetch, signer);
  await assert.rejects(pay(`${url}/v1/x402/top-up?type=credits&qty=2`), /exceeds maximum/i);
  assert.equal(await credits.balance(account.address), undefined);
  assert.equal(await facilitator.balance(account.address), '20000000');
});

test('@x402/fetch 2 tops up with PAYMENT-SIGNATURE', async (t) => {
  const { url, credits, facilitator } = await open(t);
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: 'eip155:84532', client: new ExactEvmScheme(account) }],
    spendControls: false,
  });
  const answer = await pay(`${url}/v1/x402/top-up?type=credits&qty=3`);
  assert.equal(answer.status, 200, await answer.clone().text());
  const settlement = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
  assert.equal(settlement.success, true);
  assert.equal(settlement.network, 'eip155:84532');
  assert.equal((await credits.balance(account.address))?.winc, 3n * credit);
  assert.equal(await facilitator.balance(account.address), '17000000');
});

test('@x402/fetch 2 pays an upload of unknown size up to an amount, and only the bytes that came are charged', async (t) => {
  const { upload, facilitator } = await openX402World(t);
  await facilitator.mint(account.address, 1_000_000_000n);
  const pay = wrapFetchWithPaymentFromConfig(fetch, {
    schemes: [{ network: 'eip155:84532', client: new UptoEvmScheme(account) }],
    spendControls: false,
  });
  const data = Buffer.alloc(30_000, 'what a stream brings\n');
  const before = BigInt(String(await facilitator.balance(account.address)));
  const answer = await pay(`${upload.url}/v1/x402/upload/unsigned?maxBytes=1000000`, {
    method: 'POST',
    body: ReadableStream.from([data.subarray(0, 10_000), data.subarray(10_000)]),
    duplex: 'half',
  } as RequestInit);
  assert.equal(answer.status, 200, await answer.clone().text());
  const receipt = JSON.parse(await answer.text());
  const settlement = decodePaymentResponseHeader(answer.headers.get('payment-response') ?? '');
  assert.equal(settlement.success, true);
  const stored = (await upload.get(`/v1/data-item/${receipt.id}`)).bytes;
  assert.ok(stored.subarray(-data.length).equals(data));
  const taken = before - BigInt(String(await facilitator.balance(account.address)));
  assert.equal(taken, costOf(stored.length));
  assert.equal(settlement.amount, taken.toString());
});
