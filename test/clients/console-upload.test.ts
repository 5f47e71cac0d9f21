/**
 * Uploads in the console, as a person does them: a folder with hostile names that opens through gateway and router, a
 * large file that is paused, reloaded and resumed, and what goes wrong on the way.
 */
import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { CDPSession, Page } from 'playwright-core';
import { eventually } from '../support/eventually.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';
import { type InjectedWallets, injectWallets } from './injected-wallets.ts';

const mebibyte = 1024 * 1024;
/** Bytes per second while something is to happen in the middle of an upload. */
const slowly = 4 * mebibyte;

const site: Readonly<Record<string, string>> = {
  'index.html': '<!doctype html><title>here</title><h1>here</h1>',
  '404.html': '<!doctype html><h1>not here</h1>',
  'css/deep/site.css': 'h1 { color: green }',
  'a b/<img src=x onerror=alert(1)>.txt': 'hostile',
  'a b/\u202Egnp.txt': 'turned round',
  'a b/__proto__': 'prototype',
  'ünï ☃.txt': 'unicode',
  '.git/config': 'hidden',
  '.DS_Store': 'hidden',
};

describe('uploads in the console', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let injected: InjectedWallets;
  let folder: string;
  let large: string;
  before(async () => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-upload-'));
    for (const [path, text] of Object.entries(site)) {
      mkdirSync(dirname(join(folder, 'site', path)), { recursive: true });
      writeFileSync(join(folder, 'site', path), text);
    }
    large = join(folder, 'large.bin');
    const bytes = Buffer.alloc(30 * mebibyte);
    for (let at = 0; at < bytes.length; at += 4) bytes.writeUInt32LE((at * 2_654_435_761) % 2 ** 32, at);
    writeFileSync(large, bytes);
    mkdirSync(join(folder, 'other'));
    writeFileSync(join(folder, 'other', 'large.bin'), Buffer.alloc(bytes.length));
    underTest = await openConsole({ FREE_UPLOAD_LIMIT: '600' });
    injected = await injectWallets(underTest.context, { index: 1 });
  });
  after(async () => {
    await underTest?.[Symbol.asyncDispose]();
    rmSync(folder, { recursive: true, force: true });
  });

  const choose = async (page: Page, button: string, files: string | string[]): Promise<void> => {
    const [chooser] = await Promise.all([
      page.waitForEvent('filechooser'),
      page.getByRole('button', { name: button }).first().click(),
    ]);
    await chooser.setFiles(files);
  };
  const heading = (page: Page, name: string) => page.getByRole('heading', { name, exact: true }).waitFor();
  const press = (page: Page, name: string | RegExp) =>
    page.getByRole('button', { name, exact: true }).first().click();
  /** One session for all: the last word of each counts. */
  let network: CDPSession;
  const setNetwork = (conditions: { offline?: boolean; uploadThroughput?: number }): Promise<unknown> =>
    network.send('Network.emulateNetworkConditions', {
      offline: false,
      latency: 0,
      downloadThroughput: -1,
      uploadThroughput: -1,
      ...conditions,
    });
  const slowDown = () => setNetwork({ uploadThroughput: slowly });
  const useLocalWallet = async (page: Page): Promise<void> => {
    await press(page, 'Choose a wallet');
    await page
      .getByRole('button', { name: /^Local wallet 1\b/ })
      .first()
      .click();
    await page.getByRole('button', { name: /^Upload \d/ }).waitFor();
  };
  const changeWallet = async (page: Page): Promise<void> => {
    await page.keyboard.press('Control+k');
    await page.getByRole('combobox').fill('Change wallet');
    await page.keyboard.press('Enter');
    await page.getByRole('dialog').getByText('Wallets in this browser').waitFor();
  };
  /** The parts that were sent, by where they start. */
  const watchParts = (page: Page): string[] => {
    const parts: string[] = [];
    page.on('requestfinished', (request) => {
      const part = /\/v1\/chunks\/\w+\/[\w-]+\/(\d+)$/.exec(request.url())?.[1];
      if (request.method() === 'POST' && part !== undefined) parts.push(part);
    });
    return parts;
  };
  const storedId = async (page: Page): Promise<string> => {
    await heading(page, 'Stored');
    const href = await page.locator('.upload-outcome .fact a').first().getAttribute('href');
    return (href ?? '').replace('/tx/', '');
  };
  const readFrom = async (service: 'gateway' | 'router', path: string): Promise<Buffer> => {
    const answer = await fetch(`${underTest.stack.urls[service]}/${path}`);
    assert.equal(answer.status, 200, `${service} ${path}`);
    return Buffer.from(await answer.arrayBuffer());
  };
  const postJson = async (url: string, body: unknown) => {
    const answer = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    assert.equal(answer.status, 200, url);
    return await answer.json();
  };
  /** A reload finds what was chosen: until the browser has written it there is nothing to find. */
  const keptFiles = (page: Page): Promise<number> =>
    page.evaluate(
      () =>
        new Promise<number>((resolve, reject) => {
          const opened = indexedDB.open('turnpike');
          opened.onerror = () => reject(opened.error);
          opened.onsuccess = () => {
            const found = opened.result.transaction('kept').objectStore('kept').get(['upload', 'current']);
            found.onerror = () => reject(found.error);
            found.onsuccess = () => {
              opened.result.close();
              resolve(found.result?.files.size ?? 0);
            };
          };
        }),
    );
  let tab: ConsoleTab;

  test('a folder: hidden files are left out, names do no harm, and it opens through gateway and router', async () => {
    tab = await underTest.open('/upload');
    const { page } = tab;
    network = await underTest.context.newCDPSession(page);
    await network.send('Network.enable');
    await tab.assertAccessible();
    await choose(page, 'Choose a folder', join(folder, 'site'));
    await page.getByRole('heading', { name: /^7 files, / }).waitFor();
    await page.getByText('2 hidden and system files were left out').waitFor();
    await useLocalWallet(page);
    assert.equal(
      await page.getByText('Free', { exact: true }).count(),
      0,
      'an RSA item alone has 1,044 bytes',
    );
    await tab.assertAccessible();

    await press(page, 'Edit type and tags of index.html');
    await press(page, 'Add a tag');
    await page.getByLabel('Name of tag 1').fill('App "><b>');
    await page.getByLabel('Value of tag 1').fill('\u202Etest');
    await tab.assertAccessible();
    await press(page, 'Save');
    await page.getByLabel('Page for what is not there').selectOption('404.html');
    await press(page, 'Upload 7 files');
    const id = await storedId(page);
    await tab.assertAccessible();

    for (const service of ['gateway', 'router'] as const) {
      assert.equal(String(await readFrom(service, id)), site['index.html'], 'the first page');
      for (const [path, text] of Object.entries(site).filter(([, each]) => each !== 'hidden')) {
        const address = path.split('/').map(encodeURIComponent).join('/');
        assert.equal(String(await readFrom(service, `${id}/${address}`)), text, path);
      }
      assert.equal(String(await readFrom(service, `${id}/nowhere`)), site['404.html'], 'the fallback');
    }
    await page.getByText('Permanent').locator('..').getByText('(Done)').waitFor();
    tab.assertQuiet();
  });

  test('the history has the receipts, follows them, and exports them', async () => {
    const { page } = tab;
    await press(page, 'Upload more');
    await page.getByRole('link', { name: 'History' }).click();
    const folderRow = page.getByRole('row', { name: /Folder of 7 files/ });
    await folderRow.getByText('Permanent').waitFor();
    await page.reload();
    await folderRow.getByText('Permanent').waitFor();
    await tab.assertAccessible();
    const [download] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'Export receipts' }).click(),
    ]);
    const exported: { path: string; receipt: { id: string; signature: string } }[] = JSON.parse(
      readFileSync(await download.path(), 'utf8'),
    );
    assert.equal(exported.length, 8);
    const index = exported.find(({ path }) => path === 'index.html');
    assert.ok(index !== undefined && index.receipt.signature.length > 0);
    const query = `{ transaction(id: "${index.receipt.id}") { tags { name value } } }`;
    const { data } = await postJson(`${underTest.stack.urls.gateway}/graphql`, { query });
    assert.deepEqual(data.transaction.tags, [
      { name: 'Content-Type', value: 'text/html' },
      { name: 'App "><b>', value: '\u202Etest' },
    ]);
    await folderRow.getByRole('link', { name: 'Folder of 7 files' }).click();
    await heading(page, 'Receipt of Folder of 7 files');
    await tab.assertAccessible();
    tab.assertQuiet();
  });

  test('30 MiB in parts: paused, reloaded, another file refused, resumed with the same; nothing is sent twice', async () => {
    await tab.go('/upload');
    const { page } = tab;
    const parts = watchParts(page);
    await slowDown();
    await choose(page, 'Choose files', large);
    await press(page, 'Upload 1 file');
    await page.waitForRequest(/\/v1\/chunks\/\w+\/[\w-]+\/10485760$/);
    await press(page, 'Pause all');
    await heading(page, 'Paused');
    await setNetwork({});
    await tab.assertAccessible();
    const before = [...parts];
    assert.ok(before.length > 0 && before.length < 7, `${before.length} parts are there`);
    await page.reload();
    await heading(page, 'Paused');
    await page.getByText('1 file is missing').waitFor();
    await choose(page, 'Choose files', join(folder, 'other', 'large.bin'));
    await page.getByText('"large.bin" is not the file that this upload waits for.').waitFor();
    parts.length = 0;
    await choose(page, 'Choose files', large);
    const id = await storedId(page);
    assert.deepEqual(
      parts.filter((part) => before.includes(part)),
      [],
      'what was there is not sent again',
    );
    assert.ok((await readFrom('gateway', `raw/${id}`)).equals(readFileSync(large)));
    tab.assertQuiet();
  });

  test('offline in the middle, it goes on by itself', async () => {
    const { page } = tab;
    await press(page, 'Upload more');
    await slowDown();
    await choose(page, 'Choose files', large);
    await press(page, 'Upload 1 file');
    await page.waitForRequest(/\/v1\/chunks\/\w+\/[\w-]+\/5242880$/);
    await setNetwork({ offline: true });
    await page.getByText('This device is offline.').waitFor();
    await setNetwork({});
    await storedId(page);
    tab.forgive(/ERR_INTERNET_DISCONNECTED|ERR_NETWORK_CHANGED/);
    tab.assertQuiet();
  });

  test('cancelled: nothing more is sent, nothing is charged, and the list is free again', async () => {
    const { page } = tab;
    await press(page, 'Upload more');
    await slowDown();
    await choose(page, 'Choose files', large);
    await press(page, 'Upload 1 file');
    await page.waitForRequest(/\/v1\/chunks\/\w+\/[\w-]+\/\d+$/);
    await press(page, 'Stop for good');
    await page.getByRole('dialog').getByRole('button', { name: 'Stop for good' }).click();
    await heading(page, 'Nothing was stored');
    await setNetwork({});
    await press(page, 'Upload more');
    await page.getByText('Drop files or a folder here').waitFor();
    tab.assertQuiet();
  });

  test('dropped on the page, and finished while another section is shown', async () => {
    const { page } = tab;
    const transfer = await page.evaluateHandle(() => {
      const dropped = new DataTransfer();
      dropped.items.add(new File([new Uint8Array(2 * 1024 * 1024)], 'dropped.bin'));
      return dropped;
    });
    await page.getByRole('region', { name: 'Drop files or a folder here' }).dispatchEvent('drop', {
      dataTransfer: transfer,
    });
    await heading(page, '1 file, 2 MiB');
    // Long enough to leave meanwhile; a request that is on its way may keep its pace to the end.
    await setNetwork({ uploadThroughput: mebibyte / 3 });
    await press(page, 'Upload 1 file');
    await page.getByRole('link', { name: 'Names', exact: true }).first().click();
    await setNetwork({});
    await page.getByText('Your file is stored.').waitFor();
    await page.getByRole('link', { name: 'Upload', exact: true }).first().click();
    await storedId(page);
    await press(page, 'Upload more');
    tab.assertQuiet();
  });

  test('what is chosen is kept at once, without waiting for more', async () => {
    const other = await underTest.context.newPage();
    // The upload is this tab's while no other has it.
    await tab.page.goto('about:blank');
    await other.goto(new URL('/upload', underTest.stack.urls.console).href);
    await other.clock.install();
    await other.clock.pauseAt(Date.now() + 60_000);
    await choose(other, 'Choose files', join(folder, 'site', 'index.html'));
    await eventually('the file is kept', async () => (await keptFiles(other)) === 1);
    await other.clock.resume();
    await press(other, 'Remove index.html');
    await eventually('nothing is kept', async () => (await keptFiles(other)) === 0);
    await other.close();
    await tab.go('/upload');
    tab.assertQuiet();
  });

  test('a key without credits: the price is told before, free files go, the rest waits for credits', async () => {
    const { page } = tab;
    await changeWallet(page);
    await page.getByRole('group', { name: 'Kind of key to make' }).getByText('Solana').click();
    await page.getByLabel('Download a copy of the key').uncheck();
    await page.getByRole('button', { name: 'Make a key for Solana' }).click();
    const file = join(folder, 'paid.txt');
    writeFileSync(file, 'x'.repeat(5_000));
    await choose(page, 'Choose files', [file, join(folder, 'site', 'index.html')]);
    await eventually('both files are kept', async () => (await keptFiles(page)) === 2);
    await page.getByText('Free', { exact: true }).waitFor();
    await page.getByText(/^You need .* more\.$/).waitFor();
    const address = await page.locator('.fact bdi').first().getAttribute('title');
    await page.getByRole('link', { name: 'Get credits' }).click();
    await page.waitForURL(/\/wallet\/top-up$/);
    await page.goBack();
    await heading(page, '2 files, 4.9 KiB');
    await page.reload();
    await heading(page, '2 files, 4.9 KiB');
    await press(page, 'Upload 2 files');
    await page.getByText('There are not enough credits.').first().waitFor();
    await tab.assertAccessible();
    tab.forgive(/402|account\/balance/);
    await postJson(`${underTest.stack.urls.arweave}/local/faucet`, { address, coin: 'credits', amount: '1' });
    await press(page, 'Go on');
    await heading(page, 'Stored');
    tab.assertQuiet();
  });

  test('wallets of each kind sign in their own way; who says no is asked once, and nothing is lost', async () => {
    const { page } = tab;
    const files = ['index.html', '404.html', 'ünï ☃.txt'].map((name) => join(folder, 'site', name));
    for (const [name, question, more] of [
      ['Wander', 'arweave signature', 0],
      // One more tells the public key.
      ['Test Ether', 'ethereum personal_sign', 1],
      ['Test Sol', 'solana sign', 0],
    ] as const) {
      await press(page, 'Upload more');
      await changeWallet(page);
      await page.getByRole('dialog').getByRole('button', { name }).click();
      await choose(page, 'Choose files', files);
      await page.getByText('Your wallet will ask you to sign 3 times').waitFor();
      const count = () => injected.asked.filter((what) => what === question).length;
      const before = count();
      injected.refuse(true);
      await press(page, 'Upload 3 files');
      await page.getByText('You said no in your wallet.').first().waitFor();
      await heading(page, 'Stopped');
      assert.equal(count() - before, 1, name);
      injected.refuse(false);
      await press(page, 'Go on');
      await heading(page, 'Stored');
      assert.equal(count() - before, 1 + 3 + more, name);
    }
    tab.assertQuiet();
  });
});
