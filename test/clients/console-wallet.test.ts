/** Wallets in the console: chosen, made, kept; credits bought in every way, lent and given. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { payByCard } from './card-page.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';
import { type InjectedWallets, injectWallets } from './injected-wallets.ts';

describe("the console's wallet", { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let injected: InjectedWallets;
  let tab: ConsoleTab;
  let page: Page;
  before(async () => {
    underTest = await openConsole();
    injected = await injectWallets(underTest.context, { index: 9 });
    tab = await underTest.open('/wallet');
    page = tab.page;
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const choose = async (name: string, kind?: string): Promise<void> => {
    const [connect, change] = ['Connect wallet', 'Change wallet'].map((each) =>
      page.getByRole('main').getByRole('button', { name: each, exact: true }),
    );
    assert.ok(connect && change);
    await connect.or(change).click();
    const dialog = page.getByRole('dialog');
    if (kind !== undefined) await dialog.getByRole('button', { name: kind, exact: true }).first().click();
    await dialog.getByRole('button', { name }).first().click();
  };
  const credits = async (amount: string): Promise<void> => {
    await page.locator('.figure', { hasText: 'Credits' }).getByText(amount).waitFor();
  };

  test('a local wallet is one click away, and is still there after a reload', async () => {
    await tab.assertAccessible();
    await choose('Local wallet 1');
    await credits('10 credits');
    await page.getByText('1,000 AR').waitFor();
    await page.reload();
    await credits('10 credits');
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Get 1 credit' }).click();
    await credits('11 credits');
    tab.assertQuiet();
  });

  test('credits are bought by card, and the way back is to the purchase', async () => {
    await tab.go('/wallet/top-up');
    await page.getByText('3.064 credits').waitFor();
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Pay $25.00 by card' }).click();
    await page.getByRole('link', { name: 'Back' }).click();
    await page.getByText('You left the card provider without paying').waitFor();
    await page.getByRole('link', { name: 'Go on to pay' }).click();
    await payByCard(page);
    await page.getByText('your credits are there').waitFor();
    await tab.assertAccessible();
    await tab.go('/wallet');
    await credits('14.064 credits');
    const payments = page.getByRole('table', { name: 'Payments', exact: true });
    await payments.getByRole('cell', { name: '$25.00' }).waitFor();
    tab.assertQuiet();
  });

  test('credits are bought by coin, also when the tab is closed while the chain confirms', async () => {
    await tab.go('/wallet/top-up/coin');
    await page.getByText('0.766 credits', { exact: true }).waitFor();
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Send 1 AR' }).click();
    await page.getByText('1 AR for 0.766 credits').waitFor();
    const { href } = new URL(page.url());
    await page.close();
    tab = await underTest.open(new URL(href).pathname);
    page = tab.page;
    await page.getByText('your credits are there').waitFor();
    tab.assertQuiet();
  });

  test('what was not used goes back to the card and to the wallet that paid', async () => {
    await tab.go('/wallet');
    const table = page.getByRole('table', { name: 'Return what you did not use' });
    const made = page.getByRole('table', { name: 'Returns', exact: true });
    for (const [place, [amount, bought]] of [
      ['$25.00', '3.064 credits'],
      ['1 AR', '0.766 credits'],
    ].entries()) {
      const row = table.getByRole('row').filter({ hasText: amount ?? '' });
      await row.getByRole('button', { name: 'Return' }).click();
      const dialog = page.getByRole('dialog');
      await dialog.getByText(`${bought} leave this account now`).waitFor();
      if (place === 0) await tab.assertAccessible();
      await dialog.getByRole('button', { name: 'Return' }).click();
      await made
        .getByRole('row')
        .filter({ hasText: amount ?? '' })
        .getByText('gone back')
        .waitFor();
    }
    await page.reload();
    await credits('11 credits');
    await tab.assertAccessible();
    tab.assertQuiet();
  });

  test('credits are lent and taken back', async () => {
    await tab.go('/wallet/share');
    await page.getByLabel('Wallet that may spend them').fill(injected.addresses.ethereum);
    await page.getByLabel('Credits to lend').fill('2');
    await page.getByLabel('Ends').selectOption('week');
    await page.getByRole('button', { name: 'Lend credits' }).click();
    await page.getByRole('cell', { name: '2 credits' }).waitFor();
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Take back' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Take back' }).click();
    await page.getByText('You lend credits to nobody').waitFor();
    await page.getByLabel('Wallet that may spend them').fill('<img src=x onerror=alert(1)>');
    await page.getByRole('button', { name: 'Lend credits' }).click();
    await page.getByText('This is no address').waitFor();
    tab.assertQuiet();
  });

  test('what happens is told, and that credits run low before they are gone', async () => {
    await tab.go('/wallet/notices');
    await page.getByText('following').waitFor();
    const happened = page.getByRole('list', { name: 'What happened' });
    await happened.getByText('3.064 credits came in').waitFor();
    await happened.getByText('2 credits that').waitFor();
    const field = page.getByLabel('Tell me when I have less than');
    await field.fill('many');
    await page.getByText('That is no amount of credits').waitFor();
    await field.fill('10.5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('You will be told once your credits fall below that').waitFor();
    await tab.assertAccessible();
    const other = await underTest.open('/wallet/share');
    await other.page.getByLabel('Wallet that may spend them').fill(injected.addresses.ethereum);
    await other.page.getByLabel('Credits to lend').fill('1');
    await other.page.getByRole('button', { name: 'Lend credits' }).click();
    await happened.getByText('Your credits run low').waitFor();
    await page.locator('.notices').getByText('Your credits run low').waitFor();
    await other.page.close();
    await page.reload();
    await happened.getByText('Your credits run low').waitFor();
    assert.equal(await field.inputValue(), '10.5');
    tab.assertQuiet();
  });

  test('a gift is bought for an email address and redeemed by another wallet', async () => {
    await tab.go('/wallet/top-up/gift');
    await page.getByLabel('Email address of who gets it').fill('ada@example.com');
    await page.getByRole('button', { name: 'Pay $25.00 by card' }).click();
    await payByCard(page);
    await page.getByText('Pass this number on').waitFor();
    const number = await page.locator('.fact', { hasText: 'Number of the gift' }).locator('bdi').innerText();
    await tab.go(`/wallet/redeem?id=${number}`);
    await page.getByLabel('Email address it was given to').fill('ada@example.com');
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Put the credits into my wallet' }).click();
    await page.getByText('Redeemed. You now have').waitFor();
    tab.assertQuiet();
  });

  test('an Ethereum wallet pays by signature alone', async () => {
    await tab.go('/wallet');
    await choose('Local wallet 2', 'Ethereum');
    await page.getByText('10,000 USDC').waitFor();
    await tab.go('/wallet/top-up/x402');
    await page.getByRole('button', { name: /Sign a transfer of [0-9.]+ USDC/ }).click();
    await page.getByText('your credits are there').waitFor();
    await tab.go('/wallet');
    await credits('11 credits');
    // The protocol asks for a payment by refusing the first request.
    tab.forgive(/402/);
    tab.assertQuiet();
  });

  test('a key is made here: a copy is downloaded, no script can read it, and a reload finds it', async () => {
    await tab.go('/wallet');
    await page.getByRole('button', { name: 'Change wallet' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.locator('.wallet-part').last().getByRole('button', { name: 'Solana', exact: true }).click();
    await tab.assertAccessible();
    const downloaded = page.waitForEvent('download');
    await dialog.getByRole('button', { name: 'Make a key for Solana' }).click();
    const bytes: number[] = JSON.parse(readFileSync(await (await downloaded).path(), 'utf8'));
    assert.equal(bytes.length, 64);
    await page.getByText('Key in this browser').first().waitFor();
    await page.reload();
    await page.getByText('Key in this browser').first().waitFor();
    assert.equal(await page.evaluate(readableKeys), 0);
    assert.equal(await page.evaluate(() => localStorage.length + sessionStorage.length), 0);
    await page.getByRole('button', { name: 'Get 1 credit' }).click();
    await credits('1 credit');
    await tab.go('/wallet/top-up/coin');
    await page.getByText('That is more than you have').waitFor();
    assert.equal(await page.getByRole('button', { name: 'Send 1 SOL' }).isEnabled(), false);
    await tab.assertAccessible();
    // A wallet that the service has never seen.
    tab.forgive(/404.*account\/balance/);
    tab.assertQuiet();
  });

  test('injected wallets are found, connected, and refused in words', async () => {
    for (const [name, kind] of [
      ['Wander', 'arweave'],
      ['Test Ether', 'ethereum'],
      ['Test Sol', 'solana'],
    ] as const) {
      await tab.go('/wallet');
      injected.refuse(true);
      await choose(name);
      await page.getByText('You said no in your wallet').waitFor();
      injected.refuse(false);
      await page.getByRole('dialog').getByRole('button', { name }).click();
      const chip = page.getByRole('link', { name: `Wallet in use: ${name}` });
      assert.equal(await chip.getAttribute('title'), injected.addresses[kind]);
      await page.reload();
      await chip.waitFor();
      await page.getByRole('button', { name: 'Show my payments' }).click();
      await page.getByText('No payments yet').waitFor();
    }
    assert.deepEqual(
      injected.asked.filter((what) => !what.endsWith('connect')),
      ['arweave signature', 'ethereum personal_sign', 'ethereum personal_sign', 'solana sign'],
    );
    tab.assertQuiet();
  });

  test('an injected wallet pays by coin and by signature', async () => {
    await tab.go('/wallet');
    await choose('Wander');
    await page.getByRole('link', { name: 'Wallet in use: Wander' }).waitFor();
    await tab.go('/wallet/top-up/coin');
    await page.getByText('0.766 credits', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'Send 1 AR' }).click();
    await page.getByText('your credits are there').waitFor();
    assert.equal(injected.asked.at(-1), 'arweave sign');
    await tab.go('/wallet');
    await choose('Test Sol');
    await page.getByRole('link', { name: 'Wallet in use: Test Sol' }).waitFor();
    await tab.go('/wallet/top-up/coin');
    await page.getByRole('button', { name: 'Send 1 SOL' }).click();
    await page.getByText('your credits are there').waitFor();
    await tab.go('/wallet');
    await choose('Test Ether');
    await page.getByRole('link', { name: 'Wallet in use: Test Ether' }).waitFor();
    await tab.go('/wallet/top-up/x402');
    await page.getByRole('button', { name: /Sign a transfer of [0-9.]+ USDC/ }).click();
    await page.getByText('your credits are there').waitFor();
    tab.forgive(/402/);
    tab.assertQuiet();
  });

  test('every form of an address shows one account, and payments are looked for by their id', async () => {
    await tab.go('/wallet');
    await choose('Local wallet 3', 'Solana');
    await credits('10 credits');
    await page.locator('.facts a[href^="/account/"]').first().click();
    await page.getByRole('heading', { name: 'Account', exact: true }).waitFor();
    await page.getByText('Nothing in the last 30 days.').waitFor();
    const form = page.locator('.facts a[href^="/address/"]').nth(1);
    const other = (await form.innerText()).trim();
    assert.match(other, /^[\w-]{43}$/);
    await tab.go(`/account/${other}`);
    await credits('10 credits');
    await page.getByText('Nothing in the last 30 days.').waitFor();
    await page.getByLabel('Id of the payment').fill(`${'n'.repeat(42)}A`);
    await page.getByRole('button', { name: 'Look for it' }).click();
    await page.getByText('not found', { exact: true }).waitFor();
    await tab.assertAccessible();
    await tab.go('/account');
    await page.getByLabel('Address', { exact: true }).fill(injected.addresses.ethereum ?? '');
    await page.getByRole('button', { name: 'Show the account' }).click();
    await page.getByText('Only the wallet itself sees').waitFor();
    await page.getByRole('link', { name: 'Buy credits for it' }).click();
    await page.getByText('For the wallet').waitFor();
    await tab.assertAccessible();
    tab.forgive(/404.*account\/payments/);
    tab.assertQuiet();
  });

  test('prices are told for any size', async () => {
    await tab.go('/wallet/prices?size=3&unit=GiB');
    await page.locator('.facts').getByText('2.246 credits').waitFor();
    await tab.assertAccessible();
    tab.assertQuiet();
  });
});

/** Keys in the browser's storage that give their bytes to a script. Runs in the page. */
async function readableKeys(): Promise<number> {
  const opened = indexedDB.open('turnpike');
  await new Promise((done) => {
    opened.onsuccess = done;
  });
  const asked = opened.result.transaction('kept').objectStore('kept').getAll();
  await new Promise((done) => {
    asked.onsuccess = done;
  });
  opened.result.close();
  const values: unknown[] = asked.result.flatMap((value) => [value, ...Object.values(Object(value))]);
  const keys = values.filter((value) => value instanceof CryptoKey);
  if (keys.length === 0) throw new Error('there is no key at all');
  return keys.filter(({ extractable }) => extractable).length;
}
