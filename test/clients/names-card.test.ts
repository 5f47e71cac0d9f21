/** A person buys a name by card on the hosted page in a real browser; the name is registered and stays theirs. */
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import type { Browser } from 'playwright-core';
import { wallet } from '../../src/localnet/solana/testing.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import { launchChromium, noChromium } from './chromium.ts';

let stack: RunningStack;
let browser: Browser;

before(async () => {
  if (noChromium !== false) return;
  stack = await startStack({ only: ['payment'] });
  browser = await launchChromium();
});
after(async () => {
  await browser?.close();
  await stack?.stop();
});

async function ask(path: string): Promise<Record<string, unknown>> {
  const answer = await fetch(`${stack.urls.payment}/v1${path}`);
  assert.equal(answer.status, 200, path);
  const body: Record<string, unknown> = JSON.parse(await answer.text());
  return body;
}

test('a name bought by card in a browser is confirmed and belongs to the buyer', {
  skip: noChromium,
  timeout: 300_000,
}, async () => {
  // Always the same: one in seventy could as well be an Arweave wallet, for which the name is kept.
  const { address: buyer } = wallet('a buyer in a browser');
  const home = encodeURIComponent(`${stack.urls.payment}/v1/info`);
  const path = `checkout-session/${buyer}/usd/buy-record/bought-in-a-browser?type=lease&years=1&successUrl=${home}`;
  const { purchaseQuote, paymentSession } = await ask(`/arns/quote/${path}`);
  const { nonce, paymentAmount }: Record<string, unknown> = { ...Object(purchaseQuote) };
  const { url }: Record<string, unknown> = { ...Object(paymentSession) };
  const page = await browser.newPage();
  page.setDefaultTimeout(60_000);
  await page.goto(String(url));
  await page.getByLabel('Card number').pressSequentially('4242424242424242');
  await page.getByLabel('Expiry date').pressSequentially('1240');
  await page.getByRole('textbox', { name: 'Security code' }).pressSequentially('123');
  await page.getByLabel('Name on card').fill('Ada Lovelace');
  await page.getByRole('button', { name: `Pay $${(Number(paymentAmount) / 100).toFixed(2)}` }).click();
  await page.waitForURL(`${stack.urls.payment}/v1/info`);
  const giveUpAt = Date.now() + 90_000;
  let status = await ask(`/arns/purchase/${String(nonce)}`);
  while (status.status === 'PENDING') {
    assert.ok(Date.now() < giveUpAt, 'the purchase was not confirmed in time');
    await new Promise((done) => setTimeout(done, 200));
    status = await ask(`/arns/purchase/${String(nonce)}`);
  }
  assert.equal(status.status, 'CONFIRMED');
  const { names } = await ask(`/arns/my-names/${buyer}`);
  assert.ok(Array.isArray(names));
  const { name, antId, selfCustody }: Record<string, unknown> = { ...Object(names[0]) };
  assert.deepEqual([name, antId, selfCustody], ['bought-in-a-browser', status.antId, true]);
});
