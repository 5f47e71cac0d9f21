/** A person finds, buys, points, shares and gives away names in the console, in Chromium. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import type { Page } from 'playwright-core';
import { decodeBase58 } from '../../src/formats/base58.ts';
import { addressBytes, parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519PrivateKey } from '../../src/wallets/solana/ed25519.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const name = 'a-name-of-the-console';
const hostile = '<img src=x onerror=alert(1)>';

describe('names in the console', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  let page: Page;
  let uploaded = '';
  before(async () => {
    underTest = await openConsole();
    uploaded = await upload('<title>mine</title><h1>opened by its name</h1>');
    tab = await underTest.open('/names');
    page = tab.page;
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const ask = async (path: string): Promise<Record<string, unknown>> => {
    const answer = await fetch(`${underTest.stack.urls.payment}/v1${path}`);
    return { ...JSON.parse(await answer.text()) };
  };

  /** The funded ones. */
  async function localWallets(): Promise<{ address: string; secretKey: string }[]> {
    const answer = await fetch(`${underTest.stack.urls.console}/api/local/wallets`, {
      headers: { 'x-turnpike-console': '1' },
    });
    return { ...JSON.parse(await answer.text()) }.solana;
  }

  async function upload(html: string): Promise<string> {
    const secret = decodeBase58((await localWallets()).at(-1)?.secretKey ?? '');
    const signer = solanaSigner(ed25519PrivateKey(secret.subarray(0, 32)));
    const tags = [{ name: 'Content-Type', value: 'text/html' }];
    const item = await signItem({ data: Buffer.from(html), tags }, signer);
    const answer = await fetch(`${underTest.stack.urls.upload}/v1/tx`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(item),
    });
    assert.equal(answer.status, 200);
    return String({ ...JSON.parse(await answer.text()) }.id);
  }

  const dialog = () => page.getByRole('dialog');
  const button = (text: string | RegExp) => page.getByRole('button', { name: text });

  /** Agrees to what the dialog shows and waits until it is done. */
  async function agree(): Promise<void> {
    await button(/^Sign and pay/).click();
    await dialog().getByText('Done', { exact: true }).waitFor();
    await dialog().getByRole('button', { name: 'Close' }).last().click();
    await dialog().waitFor({ state: 'detached' });
  }

  async function chooseLocalWallet(number: number): Promise<void> {
    await button(new RegExp(`^Local wallet ${number} `)).click();
  }

  async function disconnect({ go, page: where }: ConsoleTab): Promise<void> {
    await go('/wallet');
    await where.getByRole('button', { name: 'Disconnect wallet' }).click();
    await where.getByRole('button', { name: 'Connect wallet' }).first().waitFor();
  }

  test('a free name has a price for each term, and is bought with credits', async () => {
    await page.getByLabel('Name', { exact: true }).fill(` ${name.toUpperCase()}.ar`);
    await button('Search').last().click();
    await page.getByText(`${name} is free`).waitFor();
    assert.equal(new URL(page.url()).searchParams.get('q'), name);
    await page.getByRole('radio').nth(5).waitFor();
    await tab.assertAccessible();
    await page.getByLabel(/^2 years/).check();
    assert.equal(new URL(page.url()).searchParams.get('term'), '2');
    await button('Buy with credits').click();
    await dialog().getByRole('button', { name: 'Choose the Solana wallet' }).click();
    await chooseLocalWallet(1);
    await dialog().getByText('Credits left').waitFor();
    await page.getByText('What your wallet signs').click();
    await dialog().getByText('/v1/arns/actions/buy-name').waitFor();
    await tab.assertAccessible();
    await button(/^Sign and pay/).click();
    await dialog().getByText('Make the token of the name, owned by you').waitFor();
    await tab.assertAccessible();
    await button('Sign the transaction').click();
    await dialog().getByText('Done', { exact: true }).waitFor();
    const told = await ask(`/arns/names/${name}`);
    assert.equal(told.state, 'registered');
    await dialog().getByRole('link', { name: 'Choose what it opens' }).click();
    await page.getByRole('heading', { level: 1, name }).waitFor();
    await dialog().waitFor({ state: 'detached' });
  });

  test('it is pointed at an upload by a link, and opens through the router', async () => {
    await tab.go(`/name/${name}?target=${uploaded}`);
    await page.getByLabel('Gateways may remember it for (seconds)').fill('60');
    await button('Save').click();
    await dialog().getByText('Credits left').waitFor();
    await agree();
    await page.getByText('up to date').first().waitFor();
    await button('Ask the router').click();
    await page.getByText('up to date').nth(1).waitFor();
    const href = await page.getByRole('link', { name: 'Open through the router' }).getAttribute('href');
    const opened = await underTest.context.newPage();
    await opened.goto(String(href));
    assert.equal(await opened.locator('h1').textContent(), 'opened by its name');
    await opened.close();
    await tab.assertAccessible();
  });

  test('what each known gateway shows is told beside what the chain says', async () => {
    await tab.go(`/name/${name}/where`);
    await page.getByText('The gateway is up to date.').waitFor();
    const row = page.getByRole('row').filter({ hasText: underTest.stack.urls.gateway ?? '' });
    await row.getByText('up to date').waitFor();
    await row.getByText(/^asks again /).waitFor();
    await tab.assertAccessible();
    await tab.go(`/name/${name}`);
  });

  test('undernames are added and removed; details are shown as text, whatever they are', async () => {
    await tab.go(`/name/${name}/undernames`);
    await button('Add an undername').click();
    await dialog().getByLabel('Undername').fill('docs');
    await dialog().getByLabel('Id of what it opens').fill(uploaded);
    await button('Continue').click();
    await dialog().getByText('Credits left').waitFor();
    await agree();
    await page.getByRole('link', { name: 'docs', exact: true }).waitFor();
    await page.getByText('1 of 10 used').waitFor();
    await tab.assertAccessible();
    await tab.go(`/name/${name}/details`);
    await page.getByLabel('Title').fill(hostile);
    await page.getByLabel('Keywords').fill('one, two');
    await button('Save').click();
    await dialog().getByText('Credits left').waitFor();
    await agree();
    assert.equal(await page.getByLabel('Title').inputValue(), hostile);
    await tab.assertAccessible();
    await tab.go(`/name/${name}/undernames`);
    await button('Remove docs').click();
    await dialog().getByText('Credits left').waitFor();
    await agree();
    await page.getByText('No undernames yet').waitFor();
  });

  test('the lease is extended, and the history tells everything', async () => {
    await tab.go(`/name/${name}/lease`);
    await page.getByText(/By up to 3 years/).waitFor();
    await tab.assertAccessible();
    await button('Continue').first().click();
    await dialog().getByText('Credits left').waitFor();
    await agree();
    await page.getByText(/By up to 2 years/).waitFor();
    await tab.go(`/name/${name}/history`);
    await page.getByText(/^Extend the lease/).waitFor();
    await page.getByText(/^Register the name/).waitFor();
    tab.assertQuiet();
  });

  test('a taken name says so and offers others; a reserved one too', async () => {
    await tab.go('/names?q=www');
    await page.getByText('www is reserved').waitFor();
    await page.getByRole('link', { name: 'www-app' }).waitFor();
    await tab.go(`/names?q=${name}`);
    await page.getByText(`${name} is yours`).waitFor();
    await disconnect(tab);
    await tab.go(`/names?q=${name}`);
    await page.getByText(`${name} is taken`).waitFor();
    await tab.assertAccessible();
    tab.assertQuiet();
  });

  test('an Arweave wallet pays for a Solana wallet, also when the tab is closed in the middle', async () => {
    await button('Connect wallet').click();
    await dialog().getByRole('button', { name: 'Arweave', exact: true }).first().click();
    await chooseLocalWallet(2);
    const payer = String(await page.locator('.wallet-chip').getAttribute('title'));
    const before = await ask(`/account/balance?address=${payer}`);
    await tab.go('/names?q=closed-in-the-middle');
    await page.locator('.wallet-chip').waitFor();
    await button('Buy with credits').click();
    await dialog()
      .getByText(/Local wallet 2 is no Solana wallet/)
      .waitFor();
    await dialog().getByRole('button', { name: 'Choose the Solana wallet' }).click();
    await chooseLocalWallet(1);
    await dialog().getByRole('button', { name: 'Pay with Local wallet 1 instead' }).waitFor();
    await dialog().getByText('Credits left').waitFor();
    await button(/^Sign and pay/).click();
    await button('Sign the transaction').waitFor();
    await page.close();
    tab.assertQuiet();
    tab = await underTest.open('/names/actions');
    page = tab.page;
    await page.getByText('Your signature is needed').waitFor();
    await tab.assertAccessible();
    await page.getByRole('link', { name: /Register closed-in-the-middle/ }).click();
    await button('Sign the transaction').click();
    await page.getByText('Done', { exact: true }).waitFor();
    assert.equal((await ask('/arns/names/closed-in-the-middle')).state, 'registered');
    const after = await ask(`/account/balance?address=${payer}`);
    assert.ok(BigInt(String(after.winc)) < BigInt(String(before.winc)));
  });

  test('a name is bought by card, and the browser comes back to it', async () => {
    await tab.go('/names?q=bought-by-card');
    await button('Buy by card').click();
    await button(/^Go to checkout/).click();
    await page.getByLabel('Card number').pressSequentially('4242424242424242');
    await page.getByLabel('Expiry date').pressSequentially('1240');
    await page.getByRole('textbox', { name: 'Security code' }).pressSequentially('123');
    await page.getByLabel('Name on card').fill('Ada Lovelace');
    await button(/^Pay \$/).click();
    await page.waitForURL(/\/names\/actions\//);
    await page.getByText('Done', { exact: true }).waitFor();
    await tab.go('/names/mine');
    await page.getByRole('link', { name: 'bought-by-card' }).waitFor();
    await page.getByRole('link', { name }).waitFor();
    await tab.assertAccessible();
  });

  test("a name is given away only when it was typed, and is not the giver's any more", async () => {
    const friend = (await localWallets())[4]?.address ?? '';
    await tab.go('/name/bought-by-card/ownership');
    await page.getByLabel('Solana address of the new owner').fill(friend);
    await button('Transfer').click();
    const go = button(/^Sign and pay/);
    await dialog().getByText('Credits left').waitFor();
    assert.equal(await go.isDisabled(), true);
    await page.getByLabel('Type bought-by-card to confirm').fill('bought-by-card');
    await go.click();
    await button('Sign the transaction').click();
    await dialog().getByText('Done', { exact: true }).waitFor();
    const { token } = await ask('/arns/names/bought-by-card');
    assert.equal({ ...Object(token) }.owner, friend);
    tab.assertQuiet();
  });

  test('a wallet that says no pays nothing', async () => {
    const address = (await localWallets())[2]?.address ?? '';
    const publicKey = [...addressBytes(parseSolanaAddress(address))];
    const before = await ask(`/account/balance?address=${address}`);
    const other = await underTest.open('/');
    await other.page.addInitScript(refusingWallet, { address, publicKey });
    const here = other.page;
    await disconnect(other);
    await other.go('/names?q=never-bought');
    await here.getByRole('button', { name: 'Buy with credits' }).click();
    await here.getByRole('dialog').getByRole('button', { name: 'Choose the Solana wallet' }).click();
    await here.getByRole('button', { name: /^Refuser/ }).click();
    await here.getByRole('dialog').getByText('Credits left').waitFor();
    await here.getByRole('button', { name: /^Sign and pay/ }).click();
    await here.getByRole('dialog').getByText('Declined by you').waitFor();
    await here.getByText('Nothing was sent, nothing was paid.').waitFor();
    other.assertQuiet();
    assert.deepEqual(await ask(`/account/balance?address=${address}`), before);
    assert.equal((await ask('/arns/names/never-bought')).state, 'free');
  });
});

/** A wallet by the Wallet Standard whose person refuses everything but to connect. Runs in the page. */
function refusingWallet({ address, publicKey }: { address: string; publicKey: number[] }): void {
  const account = {
    address,
    publicKey: new Uint8Array(publicKey),
    chains: ['solana:localnet'],
    features: [],
  };
  const refuse = () => Promise.reject(Object.assign(new Error('User rejected the request.'), { code: 4001 }));
  const wallet = {
    version: '1.0.0',
    name: 'Refuser',
    icon: 'data:image/png;base64,iVBORw0KGgo=',
    chains: ['solana:localnet'],
    accounts: [],
    features: {
      'standard:connect': { version: '1.0.0', connect: async () => ({ accounts: [account] }) },
      'solana:signMessage': { version: '1.0.0', signMessage: refuse },
      'solana:signTransaction': {
        version: '1.0.0',
        supportedTransactionVersions: ['legacy', 0],
        signTransaction: refuse,
      },
    },
  };
  const page = globalThis as unknown as EventTarget;
  page.addEventListener('wallet-standard:app-ready', (event) => {
    (event as CustomEvent<{ register(one: object): void }>).detail.register(wallet);
  });
}
