/** The start page and the frame around every view: the road, the first steps, the palette, keys, themes, history. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../support/eventually.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole, pressInOneTurn } from './console-page.ts';

describe("the console's start page and frame", { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  before(async () => {
    underTest = await openConsole();
    tab = await underTest.open('/');
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const road = () => tab.page.getByRole('navigation', { name: 'The road' });
  const focused = (): Promise<string> => tab.page.evaluate('document.activeElement?.textContent ?? ""');

  test('the road shows how each part stands, and each part leads somewhere', async () => {
    await road()
      .getByRole('link', { name: /^Gateway .*Running$/ })
      .waitFor();
    await road()
      .getByRole('link', { name: /^Chain .*Block \d/ })
      .waitFor();
    assert.equal(await road().getByRole('link').count(), 11);
    await road()
      .getByRole('link', { name: /^Names / })
      .click();
    await tab.page.waitForURL('**/names');
  });

  test('the figures move with the chain', async () => {
    await tab.go('/');
    const height = tab.page
      .locator('.home-figures a')
      .filter({ hasText: 'Block height' })
      .locator('.figure-value');
    const shown = async (): Promise<number> => Number((await height.textContent())?.replaceAll(',', ''));
    const first = await shown();
    await fetch(new URL('/mine/3', underTest.stack.urls.arweave));
    await eventually('three more blocks', async () => (await shown()) === first + 3);
  });

  test('what moves can be paused, and goes on from where the chain is then', async () => {
    const { page } = tab;
    const height = page
      .locator('.home-figures a')
      .filter({ hasText: 'Block height' })
      .locator('.figure-value');
    const ended = page.waitForEvent('requestfailed', (request) => request.url().endsWith('/api/live'));
    await page.getByRole('button', { name: 'Live', exact: true }).click();
    await ended;
    const paused = await height.textContent();
    await fetch(new URL('/mine/2', underTest.stack.urls.arweave));
    assert.equal(await height.textContent(), paused);
    await page.getByRole('button', { name: 'Paused', exact: true }).click();
    const later = String(Number(paused?.replaceAll(',', '')) + 2);
    await eventually('two more blocks', async () => (await height.textContent()) === later);
  });

  test('a local wallet is one click away, and its steps stay ticked off after a reload', async () => {
    await tab.page.getByRole('button', { name: 'Take a play wallet' }).click();
    const done = (step: string) => tab.page.getByRole('heading', { name: `${step} (done)` });
    await done('Get a wallet').waitFor();
    await done('Get credits').waitFor();
    await tab.page.reload();
    await done('Get credits').waitFor();
    await tab.page.getByText('2 of 5 done').waitFor();
    await tab.page.getByRole('button', { name: 'Hide' }).click();
    await tab.page.reload();
    await tab.page.getByRole('button', { name: 'Show the first steps' }).click();
    await done('Get a wallet').waitFor();
  });

  test('the palette finds commands and sections by their words, and gives the focus back', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Home', exact: true }).focus();
    await page.keyboard.press('Control+k');
    await page.keyboard.type('dark');
    await page.getByRole('option', { name: 'Dark Appearance', selected: true }).waitFor();
    await tab.assertAccessible();
    await page.keyboard.press('Escape');
    assert.equal(await focused(), 'Home');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('operator');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/operator');
    await page.keyboard.press('Control+k');
    await page.keyboard.type('no such words');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/search?q=no%20such%20words');
  });

  test('the palette waits for no event: keys may come in one turn of the page', async () => {
    const { page } = tab;
    await page.getByRole('link', { name: 'Wallet', exact: true }).focus();
    // The browser tells that a dialog was closed in a later turn.
    await pressInOneTurn(page, ['Control+k', 'Enter', 'Control+k']);
    await page.keyboard.type('wallet');
    await page.keyboard.press('Enter');
    await page.waitForURL('**/wallet');
    await page.getByRole('link', { name: 'Home', exact: true }).focus();
    await page.keyboard.press('Control+k');
    await page.keyboard.press('Control+k');
    assert.equal(await focused(), 'Home');
  });

  test('what is written right after a step to another page stays', async () => {
    const { page } = tab;
    await tab.go('/');
    await pressInOneTurn(page, ['g', 'w', '/', 'g', '?']);
    assert.equal(new URL(page.url()).pathname, '/wallet');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'g?');
  });

  test('single keys lead to sections, the search field and the list of keys, until they are switched off', async () => {
    const { page } = tab;
    await tab.go('/');
    await page.keyboard.press('g');
    await page.keyboard.press('w');
    await page.waitForURL('**/wallet');
    await page.keyboard.press('/');
    await eventually('search', async () => (await page.evaluate('document.activeElement?.id')) === 'search');
    await page.keyboard.type('g?');
    assert.equal(await page.getByRole('searchbox').inputValue(), 'g?');
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await page.keyboard.press('?');
    const keys = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
    await keys.waitFor();
    await tab.assertAccessible();
    await keys.getByRole('checkbox').uncheck();
    await page.keyboard.press('Escape');
    await keys.waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').waitFor();
    assert.equal(await keys.count(), 0);
    await page.keyboard.press('Escape');
    await page.evaluate('localStorage.removeItem("turnpike-single-keys")');
  });

  test('the chosen theme stays, whatever the system prefers', async () => {
    const { page } = tab;
    const ground = (): Promise<string> => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const light = await ground();
    await page.getByRole('button', { name: 'Dark', exact: true }).click();
    const dark = await ground();
    assert.notEqual(dark, light);
    await page.reload();
    await page.locator('h1').first().waitFor();
    assert.equal(await ground(), dark);
    await page.getByRole('button', { name: 'Light or dark as the system' }).click();
    assert.equal(await ground(), light);
  });

  test('a step to another page takes the focus to its heading, and a step back to where it was scrolled', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 1000, height: 500 });
    await tab.go('/');
    await road()
      .getByRole('link', { name: /^Gateway .*Running$/ })
      .waitFor();
    await page.evaluate('scrollTo(0, 300)');
    await page.evaluate(
      `document.body.append(Object.assign(document.createElement('a'), { href: '/nowhere', textContent: 'lost' }))`,
    );
    await page.evaluate(`document.querySelector('a[href="/nowhere"]').click()`);
    await page.getByRole('heading', { name: 'Not found' }).waitFor();
    await eventually('Not found', async () => (await focused()) === 'Not found');
    assert.match(await page.title(), /^Not found · Turnpike$/);
    assert.equal(await page.evaluate('scrollY'), 0);
    await page.goBack();
    await road().waitFor();
    await eventually('scrolled back', async () => (await page.evaluate('scrollY')) === 300);
  });

  test('a view that cannot be loaded offers to load the page again', async () => {
    const { page } = tab;
    await tab.go('/nowhere');
    await page.route('**/assets/part-*.js', (route) => route.abort());
    await page.getByRole('link', { name: 'Home', exact: true }).click();
    await page.getByRole('heading', { name: 'This page could not be loaded' }).waitFor();
    tab.forgive(/ERR_FAILED/);
    await page.unroute('**/assets/part-*.js');
    await page.getByRole('button', { name: 'Load again' }).click();
    await road().waitFor();
  });

  test('on a phone the sections are at the bottom, and nothing is wider than the screen', async () => {
    const phone = await underTest.open('/', { width: 390, height: 844, scheme: 'dark' });
    await phone.page.getByRole('link', { name: /^Gateway .*Running$/ }).waitFor();
    await phone.assertAccessible();
    assert.ok((await phone.page.evaluate<number>('document.documentElement.scrollWidth')) <= 390);
    await phone.page.getByRole('button', { name: 'More' }).click();
    await phone.page.getByRole('dialog').getByRole('link', { name: 'Operator' }).click();
    await phone.page.waitForURL('**/operator');
    await phone.page.getByRole('dialog').waitFor({ state: 'detached' });
    phone.assertQuiet();
    await phone.page.close();
  });

  test('the first load is small, accessible, and the browser complains of nothing', async () => {
    const { page } = tab;
    await page.setViewportSize({ width: 1440, height: 900 });
    const session = await page.context().newCDPSession(page);
    await session.send('Network.enable');
    await session.send('Network.setCacheDisabled', { cacheDisabled: true });
    let bytes = 0;
    session.on('Network.loadingFinished', ({ encodedDataLength }) => {
      bytes += encodedDataLength;
    });
    await page.reload();
    await road()
      .getByRole('link', { name: /^Gateway .*Running$/ })
      .waitFor();
    assert.ok(bytes > 10_000 && bytes <= 200_000, `${bytes} bytes`);
    await session.detach();
    await tab.assertAccessible();
    tab.assertQuiet();
  });
});
