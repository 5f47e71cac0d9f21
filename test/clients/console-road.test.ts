/**
 * The whole road in the browser, as somebody walks it who has read nothing: a new wallet, credits by card, a folder, a
 * name, opened through the router, found in the explorer; then the operator blocks it, and it is gone.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { payByCard } from './card-page.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const operatorPages = [
  ...['', 'traffic', 'process', 'import', 'bundler', 'ledger', 'names', 'moderation'],
  ...['gateways', 'exports', 'indexes', 'configuration', 'logs'],
];

describe('the whole road in the console', { skip: noChromium }, () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-road-'));
  const site = join(folder, 'my-site');
  const name = 'a-first-name';
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  let page: Page;
  let id = '';

  before(async () => {
    mkdirSync(join(site, 'pictures'), { recursive: true });
    writeFileSync(join(site, 'index.html'), '<!doctype html><title>Mine</title><h1>Hello, road</h1>');
    writeFileSync(join(site, 'pictures', 'dot.svg'), '<svg xmlns="http://www.w3.org/2000/svg"/>');
    underTest = await openConsole();
    tab = await underTest.open('/');
    page = tab.page;
  });
  after(async () => {
    await underTest?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const button = (text: string | RegExp) => page.getByRole('button', { name: text }).first();
  const step = (title: string) => page.getByRole('listitem').filter({ hasText: title });
  const home = async (): Promise<void> => {
    await page.getByRole('link', { name: 'Home', exact: true }).first().click();
    await page.getByRole('heading', { name: 'First steps' }).waitFor();
  };
  const isDone = (title: string) => step(title).getByText('(done)').waitFor();

  test('a wallet is made in the browser', async () => {
    await step('Get a wallet').getByRole('button', { name: 'Other wallets' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('group', { name: 'Kind of key to make' }).getByText('Solana').click();
    await dialog.getByLabel('Download a copy of the key').uncheck();
    await dialog.getByRole('button', { name: 'Make a key for Solana' }).click();
    await isDone('Get a wallet');
  });

  test('credits are bought by card', async () => {
    await step('Get credits').getByRole('link', { name: 'Buy credits' }).click();
    await button(/^Pay \$25\.00 by card/).click();
    await payByCard(page);
    await page.getByText('your credits are there').waitFor();
    await home();
    await isDone('Get credits');
  });

  test('a folder is uploaded', async () => {
    await step('Upload a file').getByRole('link', { name: 'Upload' }).click();
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      button('Choose a folder').click(),
    ]);
    await chooser.setFiles(site);
    await button('Upload 2 files').click();
    await page.getByRole('heading', { name: 'Stored', exact: true }).waitFor();
    const href = await page.locator('.upload-outcome .fact a').first().getAttribute('href');
    id = (href ?? '').replace('/tx/', '');
    assert.match(id, /^[\w-]{43}$/);
  });

  test('it gets a name, and opens by it through the router', async () => {
    await page
      .getByRole('link', { name: /name/i })
      .filter({ hasText: /Name it|Give it a name/ })
      .first()
      .click();
    await page.getByLabel('Name', { exact: true }).fill(name);
    await button('Search').click();
    await page.getByText(`${name} is free`).waitFor();
    await button('Buy with credits').click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('Credits left').waitFor();
    await button(/^Sign and pay/).click();
    await button('Sign the transaction').click();
    await dialog.getByText('Done', { exact: true }).waitFor();
    await tab.go(`/name/${name}?target=${id}`);
    await page.getByLabel('Gateways may remember it for (seconds)').fill('60');
    await button('Save').click();
    await dialog.getByText('Credits left').waitFor();
    await button(/^Sign and pay/).click();
    await dialog.getByText('Done', { exact: true }).waitFor();
    await dialog.getByRole('button', { name: 'Close' }).last().click();
    const href = await page.getByRole('link', { name: 'Open through the router' }).getAttribute('href');
    const opened = await underTest.context.newPage();
    await opened.goto(String(href));
    assert.equal(await opened.locator('h1').textContent(), 'Hello, road');
    await opened.close();
    await home();
    await isDone('Upload a file');
    await isDone('Give it a name');
  });

  test('the explorer finds it by its name and by its id, and follows it until it is permanent', async () => {
    await page.getByRole('searchbox').first().fill(id);
    await page.keyboard.press('Enter');
    await page.waitForURL(`**/tx/${id}`);
    await page.getByText('index.html').first().waitFor();
    await page.getByText('Permanent').first().waitFor();
    // The contract's answer for a wallet that never had credits, which browsers tell of.
    tab.forgive(/404 .*account\/balance/);
    tab.assertQuiet();
  });

  test('every page is accessible in light and dark, and as wide as a phone', async () => {
    await tab.go('/operator');
    await button('Use the keys of this installation').click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const paths = [
      ['/', '/search?q=nothing-like-it', '/explorer', '/explorer/graphql', '/explorer/receipt', '/block/1'],
      [`/tx/${id}`, '/tag/Content-Type/text%2Fhtml', '/nowhere'],
      ['top-up', 'top-up/coin', 'top-up/x402', 'top-up/gift', 'share', 'redeem', 'prices'].map(
        (part) => `/wallet/${part}`,
      ),
      ['/wallet', '/upload', '/upload/history', '/names', '/names/mine', '/names/actions'],
      ['', '/undernames', '/lease', '/ownership', '/details', '/history'].map(
        (part) => `/name/${name}${part}`,
      ),
      operatorPages.map((part) => `/operator/${part}`),
      ['network', 'state', 'money', 'faults', 'card', 'solana', 'mail'].map((part) => `/local/${part}`),
    ].flat();
    for (const path of paths) {
      await page.setViewportSize({ width: 390, height: 844 });
      await tab.go(path);
      await page.waitForFunction(() => document.querySelector('[aria-busy="true"], .skeleton') === null);
      const width = await page.evaluate('document.documentElement.scrollWidth');
      assert.ok(Number(width) <= 390, `${path} is ${String(width)} wide on a phone`);
      await tab.assertAccessible();
    }
    // A search for nothing, a wallet without credits, a price that x402 answers with 402.
    tab.forgive(/40[24] /);
    tab.assertQuiet();
  });

  test('the operator blocks it, and nobody reads it any more', async () => {
    await page.setViewportSize({ width: 1440, height: 900 });
    await tab.go('/operator/moderation');
    await page.getByLabel('Id', { exact: true }).fill(id);
    await button('Block').click();
    await page.getByRole('cell', { name: id }).first().waitFor();
    // The contract's answer for a wallet that never had credits, which browsers tell of.
    tab.forgive(/404 .*account\/balance/);
    tab.assertQuiet();
    for (const service of ['gateway', 'router'] as const) {
      const answer = await fetch(`${underTest.stack.urls[service]}/raw/${id}`);
      assert.ok(answer.status === 451 || answer.status === 403, `${service}: ${answer.status}`);
    }
  });
});
