/** A person pays on the hosted page in a real browser, and the credits arrive. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { openCardBench, wallet } from '../support/card-bench.ts';
import { launchChromium, noChromium } from './chromium.ts';

/** Set to a folder to look at the pages. */
const screenshots = process.env.SCREENSHOTS;

let browser: Browser;
let shopUrl: string;
const shop = createServer((request, response) => {
  response.setHeader('content-type', 'text/html').end(`<h1>${request.url}</h1>`);
});

before(async () => {
  if (noChromium !== false) return;
  await new Promise<void>((resolve) => shop.listen(0, '127.0.0.1', resolve));
  shopUrl = `http://127.0.0.1:${(shop.address() as AddressInfo).port}`;
  browser = await launchChromium();
});

after(async () => {
  await browser?.close();
  shop.closeAllConnections();
  shop.close();
});

async function newPage(options: Parameters<Browser['newPage']>[0] = {}): Promise<Page> {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 }, ...options });
  page.setDefaultTimeout(60_000);
  return page;
}

const look = async (page: Page, name: string) => {
  if (screenshots !== undefined)
    await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
};

async function fill(page: Page, number: string): Promise<void> {
  await page.getByLabel('Card number').pressSequentially(number);
  await page.getByLabel('Expiry date').pressSequentially('1240');
  await page.getByRole('textbox', { name: 'Security code' }).pressSequentially('123');
  await page.getByLabel('Name on card').fill('Ada Lovelace');
}

const topUp = (bench: Awaited<ReturnType<typeof openCardBench>>) =>
  bench.topUp(
    `checkout-session/${wallet}/usd/1000?successUrl=${encodeURIComponent(`${shopUrl}/thanks`)}&cancelUrl=${encodeURIComponent(`${shopUrl}/cart`)}`,
  );

test('a card is refused, another pays, the browser comes back to the shop and the credits arrive', {
  skip: noChromium,
}, async (t) => {
  const bench = await openCardBench(t);
  const { body } = await topUp(bench);
  const page = await newPage();
  const failures: string[] = [];
  page.on('console', (message) => {
    if (message.type() === 'error' && !message.text().includes('status of 402'))
      failures.push(message.text());
  });
  page.on('requestfailed', (request) => failures.push(request.url()));
  const requested: string[] = [];
  page.on('request', (request) => requested.push(new URL(request.url()).origin));
  await page.goto(body.paymentSession.url ?? '');
  await look(page, 'checkout');
  assert.equal(await page.getByLabel('Card number').count(), 1);
  await fill(page, '4000000000000002');
  assert.equal(await page.getByLabel('Card number').inputValue(), '4000 0000 0000 0002');
  assert.equal(await page.getByLabel('Expiry date').inputValue(), '12 / 40');
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await page.getByRole('alert').waitFor();
  assert.equal(await page.getByRole('alert').textContent(), 'Your card was declined.');
  await look(page, 'declined');
  assert.equal(await bench.balance(), 0n);
  // What was typed is there again, but for the security code.
  assert.equal(await page.getByLabel('Name on card').inputValue(), 'Ada Lovelace');
  assert.equal(await page.getByRole('textbox', { name: 'Security code' }).inputValue(), '');
  await page.getByText('Test cards').click();
  await page.getByRole('button', { name: 'Use visa ending in 4242' }).click();
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await page.waitForURL(`${shopUrl}/thanks`);
  await bench.until(async () => (await bench.balance()) === 1_225_600_000_000n);
  assert.deepEqual(failures, []);
  assert.deepEqual([...new Set(requested)], [bench.provider.url, shopUrl]);
  await page.goto(body.paymentSession.url ?? '');
  assert.equal(await page.getByRole('heading').textContent(), 'Payment received');
  await look(page, 'paid');
});

test('mistakes are said at their fields, and the page works without scripts and on a phone', {
  skip: noChromium,
}, async (t) => {
  const bench = await openCardBench(t);
  const { body } = await topUp(bench);
  const page = await newPage({
    javaScriptEnabled: false,
    viewport: { width: 390, height: 844 },
    colorScheme: 'dark',
  });
  await page.goto(body.paymentSession.url ?? '');
  await look(page, 'phone-dark');
  await page.getByLabel('Card number').fill('4242 4242 4242 4241');
  await page.getByRole('textbox', { name: 'Security code' }).fill('1');
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await page.getByText('Your card number is invalid').waitFor();
  await look(page, 'phone-mistakes');
  const invalid = await page
    .locator('[aria-invalid="true"]')
    .evaluateAll((fields) => fields.map((field) => field.id));
  assert.deepEqual(invalid, ['number', 'expiry', 'cvc', 'name']);
  const wide = await page
    .evaluate(() => document.documentElement.scrollWidth > window.innerWidth)
    .catch(() => false);
  assert.equal(wide, false);
  for (const [label, text] of [
    ['Card number', '4242424242424242'],
    ['Expiry date', '12/40'],
    ['Security code', '123'],
    ['Name on card', 'Ada'],
  ] as const) {
    await page.getByRole('textbox', { name: label }).fill(text);
  }
  await page.getByRole('button', { name: 'Pay $10.00' }).click();
  await page.waitForURL(`${shopUrl}/thanks`);
  await bench.until(async () => (await bench.balance()) === 1_225_600_000_000n);
});

test('the way back leads to the shop without a charge', { skip: noChromium }, async (t) => {
  const bench = await openCardBench(t);
  const { body } = await topUp(bench);
  const page = await newPage();
  await page.goto(body.paymentSession.url ?? '');
  await page.getByRole('link', { name: 'Back' }).click();
  await page.waitForURL(`${shopUrl}/cart`);
  assert.equal((await bench.stripe.charges.list()).data.length, 0);
});
