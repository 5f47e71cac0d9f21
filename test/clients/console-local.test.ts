/** The local network through the console's page, as somebody uses it who builds on it. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const maxFirstLoadBytes = 200_000;

describe('the local network in the console', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  let page: Page;
  before(async () => {
    underTest = await openConsole();
    tab = await underTest.open('/');
    page = tab.page;
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const url = (name: string): string => underTest.stack.urls[name] ?? '';
  const height = async (): Promise<number> => Number(await (await fetch(`${url('arweave')}/height`)).text());
  const press = (name: string): Promise<void> => page.getByRole('button', { name, exact: true }).click();
  const told = (text: string | RegExp): Promise<void> =>
    page.locator('.notices').getByText(text).last().waitFor();

  test('the first load is small', async () => {
    const loaded = (await page.evaluate(
      `performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))
        .filter(({ name }) => new URL(name).origin === location.origin)
        .map(({ name, encodedBodySize }) => [new URL(name).pathname, encodedBodySize])`,
    )) as [string, number][];
    const bytes = loaded.reduce((sum, [, size]) => sum + size, 0);
    assert.ok(bytes > 10_000 && bytes <= maxFirstLoadBytes, `${bytes} bytes: ${JSON.stringify(loaded)}`);
  });

  test('blocks are made, and time passes', async () => {
    await tab.go('/local');
    const start = await height();
    await page.getByLabel('Number of blocks').fill('3');
    await press('Make 3 blocks');
    await told(`The chain is at height ${start + 3}.`);
    assert.equal(await height(), start + 3);
    await press('1 day');
    await page.getByText(/ ahead of this machine/).waitFor();
    await page.getByLabel('Mode').selectOption('none');
    await press('Use this mode');
    await told('Done');
    await page.locator('.fact').getByText('Only when asked').waitFor();
    await tab.assertAccessible();
  });

  test('a snapshot is made, gone back to and forgotten', async () => {
    await tab.go('/local/state');
    const start = await height();
    await page.getByLabel('Name of the snapshot').fill('before');
    await press('Make a snapshot');
    await told('Snapshot before is kept.');
    await fetch(`${url('arweave')}/mine/2`);
    assert.equal(await height(), start + 2);
    await press('Go back to before');
    await page.getByRole('dialog').getByRole('button', { name: 'Go back' }).click();
    await told('Everything is as in before.');
    assert.equal(await height(), start);
    await tab.assertAccessible();
    await press('Forget before');
    await told('Snapshot before is forgotten.');
    await page.getByText('There is no snapshot yet').waitFor();
  });

  test('the state is saved to a file and loaded again', async () => {
    const start = await height();
    const [download] = await Promise.all([page.waitForEvent('download'), press('Save to a file')]);
    const file = join(underTest.stack.dataDir, '..', `saved-${process.pid}.turnpike`);
    await download.saveAs(file);
    await fetch(`${url('arweave')}/mine/2`);
    await page.getByLabel('File with a saved state').setInputFiles(file);
    await page.getByRole('dialog').getByRole('button', { name: 'Load a file' }).click();
    await told('The saved state is in use.');
    assert.equal(await height(), start);
  });

  test('the faucet gives money to a wallet of the list', async () => {
    await tab.go('/local/money?kind=ethereum');
    const address = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
    await press(`Give it money: ${address}`);
    await page.getByLabel('Coin').selectOption('credits');
    await page.getByLabel('Amount').fill('2.5');
    await press('Give');
    await told('The address now has 12.5 credits.');
    await tab.assertAccessible();
  });

  test('faults are switched on and off', async () => {
    await tab.go('/local/faults');
    const node = page.locator('.card', { has: page.getByRole('heading', { name: 'Arweave node' }) });
    await node.getByLabel('Answer with this status').fill('503');
    await node.getByLabel('Only paths that begin with').fill('/peers');
    await node.getByRole('button', { name: 'Switch on' }).click();
    await node.getByText('On', { exact: true }).waitFor();
    assert.equal((await fetch(`${url('arweave')}/peers`)).status, 503);
    await tab.assertAccessible();
    await node.getByRole('button', { name: 'Switch off' }).click();
    await node.getByText('Off', { exact: true }).waitFor();
    assert.equal((await fetch(`${url('arweave')}/peers`)).status, 200);
    const x402 = page.locator('.card', { has: page.getByRole('heading', { name: 'x402 facilitator' }) });
    await x402.getByLabel('Refuse the next settlements').fill('1');
    await x402.getByRole('button', { name: 'Switch on' }).click();
    await x402.getByText('On', { exact: true }).waitFor();
    await x402.getByRole('button', { name: 'Switch off' }).click();
    await x402.getByText('Off', { exact: true }).waitFor();
  });

  test('webhooks of a payment are seen and sent again, and its gift is a letter', async () => {
    await buyGift("o'neil@example.com");
    await tab.go('/local/card');
    const row = page.getByRole('row', { name: /payment_intent\.succeeded/ });
    await row.getByText('Delivered').first().waitFor();
    await tab.assertAccessible();
    await row
      .first()
      .getByRole('button', { name: /^Send again/ })
      .click();
    await told('It is on its way again.');
    await eventually('a second delivery', async () => (await row.count()) === 2);
    await row.first().getByRole('button', { name: /^Show/ }).click();
    await page.getByRole('dialog').getByText('payment_intent.succeeded').first().waitFor();
    await page.keyboard.press('Escape');
    await tab.go('/local/mail');
    await page.getByText("To o'neil@example.com").waitFor();
    await tab.assertAccessible();
    const link = page.getByRole('link', { name: 'Take the credits' });
    assert.match(String(await link.getAttribute('href')), /^\/wallet\/redeem\?id=/);
  });

  test('transactions of the ledger are told in words', async () => {
    await tab.go('/local/solana');
    await page
      .getByRole('row', { name: /Mint to/ })
      .first()
      .getByRole('link')
      .click();
    await page.getByRole('heading', { name: 'Transaction', level: 1 }).waitFor();
    await page.getByRole('heading', { name: 'Instruction 1' }).waitFor();
    await page
      .getByText(/Program .* invoke \[1\]/)
      .first()
      .waitFor();
    await tab.assertAccessible();
  });

  test('the network begins anew, and the page goes on', async () => {
    await tab.go('/local/state');
    await press('Begin anew');
    await page.getByRole('dialog').getByRole('button', { name: 'Begin anew' }).click();
    await told('The network has begun anew.');
    assert.equal(await height(), 0);
    await page.getByText('Live', { exact: true }).waitFor();
    await tab.go('/local');
    await page.getByRole('link', { name: /Height\s*0/ }).waitFor();
    // While everything starts anew, a stream that is cut is no fault of the page.
    tab.forgive(/ERR_INCOMPLETE_CHUNKED_ENCODING|ERR_HTTP2|ERR_CONNECTION/);
    tab.assertQuiet();
  });

  /** Paid with the provider's test card. */
  async function buyGift(email: string): Promise<void> {
    const query = 'destinationAddressType=email';
    const path = `/v1/top-up/payment-intent/${encodeURIComponent(email)}/usd/1000?${query}`;
    const quote = (await (await fetch(`${url('payment')}${path}`)).json()) as {
      paymentSession: { id: string };
    };
    const key = readFileSync(join(underTest.stack.dataDir, 'keys', 'local-card-secret-key'), 'utf8').trim();
    const paid = await fetch(`${url('card')}/v1/payment_intents/${quote.paymentSession.id}/confirm`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: 'payment_method=pm_card_visa',
    });
    assert.equal(paid.status, 200, await paid.text());
  }
});
