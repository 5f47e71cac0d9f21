/**
 * The explorer in Chromium: what was uploaded is found, followed, proven and shown; what is hostile stays text or in its
 * frame; and a hundred thousand entries scroll smoothly.
 */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import type { Locator, Page } from 'playwright-core';
import { ConsoleState } from '../../src/console/state.ts';
import { createConsoleSurface } from '../../src/console/surface.ts';
import { isTxId } from '../../src/formats/base64url.ts';
import { sandboxLabel } from '../../src/formats/sandbox-label.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { eventually } from '../support/eventually.ts';
import { fillIndex } from '../support/index-rows.ts';
import { startLocalStack } from '../support/local-gateway.ts';
import { noChromium, openChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole, pressInOneTurn } from './console-page.ts';
import {
  bundleOf,
  bundleTags,
  ethereum,
  hostilePage,
  hostileSvg,
  hostileTags,
  makeItem,
  manifestOf,
  minimalPdf,
  png,
  type Sample,
  uploadSample,
  wav,
} from './explorer-samples.ts';

/** Absent things are asked for on purpose, and browsers write every 404 into their console. */
const absent = /Failed to load resource: .* 404 .*\/(?:gw\/resolver|raw|v1\/tx|v1\/account\/balance)/;

describe('the explorer', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  let page: Page;
  let urls: Readonly<Record<string, string>>;
  let samples: Record<
    'image' | 'svg' | 'page' | 'json' | 'text' | 'sound' | 'pdf' | 'bytes' | 'manifest' | 'nested' | 'inner',
    Sample
  >;
  let receipt: Record<string, unknown>;

  before(async () => {
    underTest = await openConsole({ FREE_UPLOAD_LIMIT: '10000000' });
    urls = underTest.stack.urls;
    const image = await makeItem('image/png', png(), [{ name: 'App-Name', value: 'Explorer test' }]);
    const inner = await makeItem('text/plain', 'inside a bundle in a bundle');
    const stored = await makeItem('text/html', hostilePage);
    samples = {
      image,
      inner,
      page: stored,
      svg: await makeItem('image/svg+xml', hostileSvg, hostileTags),
      json: await makeItem('application/json', '{"answer":[42]}', [], ethereum),
      text: await makeItem('text/markdown', '# A title <script>alert(1)</script>'),
      sound: await makeItem('audio/wav', wav()),
      pdf: await makeItem('application/pdf', minimalPdf),
      bytes: await makeItem('application/octet-stream', Buffer.alloc(3_000, 7)),
      manifest: await makeItem(
        'application/x.arweave-manifest+json',
        manifestOf({ 'index.html': stored.id, 'img/sun.png': image.id }, 'index.html'),
      ),
      nested: await makeItem('application/octet-stream', bundleOf([inner]), bundleTags),
    };
    for (const [name, sample] of Object.entries(samples)) {
      if (name === 'inner') continue;
      const answer = await uploadSample(urls.upload ?? '', sample);
      if (name === 'image') receipt = answer;
    }
    await eventually('everything is permanent', async () => {
      const answers = await Promise.all(
        [samples.image.id, samples.inner.id].map((id) =>
          fetch(`${urls.gateway}/raw/${id}`, { method: 'HEAD' }),
        ),
      );
      return answers.every(({ headers }) => headers.get('x-ar-io-stable') === 'true');
    });
    tab = await underTest.open('/explorer');
    page = tab.page;
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const open = async (path: string, seen: string | RegExp): Promise<void> => {
    await tab.go(path);
    await page.getByText(seen).first().waitFor();
  };
  const row = (id: string): Locator => page.locator(`tbody a[href="/tx/${id}"]`);

  test('lists what is new, tells of more without moving rows, and can be paused', async () => {
    await tab.go('/explorer');
    await row(samples.image.id).waitFor();
    await page.locator('a[href^="/block/"]').first().waitFor();
    await tab.assertAccessible();
    const later = await makeItem('text/plain', 'a little later');
    await uploadSample(urls.upload ?? '', later);
    const bar = page.getByRole('button', { name: /^\d+ new/ });
    await bar.waitFor();
    assert.equal(await row(later.id).count(), 0);
    await bar.click();
    await row(later.id).waitFor();
    await page.getByRole('button', { name: 'Pause' }).click();
    assert.equal(await page.getByRole('button', { name: 'Paused' }).getAttribute('aria-pressed'), 'true');
    tab.assertQuiet();
  });

  test('narrows the list, keeps that in the address, and opens the very query in the playground', async () => {
    await tab.go('/explorer');
    await page.getByText('Filter', { exact: true }).first().click();
    await page.getByLabel('Tags').fill('App-Name:Explorer test');
    await page.getByRole('button', { name: 'Filter' }).click();
    await page.waitForURL(/tag=App-Name/);
    await row(samples.image.id).waitFor();
    await page.reload();
    await row(samples.image.id).waitFor();
    assert.equal(await row(samples.json.id).count(), 0);
    const [file] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name: 'CSV' }).click(),
    ]);
    assert.equal(file.suggestedFilename(), 'turnpike.csv');
    await page.locator('.explorer-bar').getByRole('link', { name: 'GraphQL' }).click();
    await page.waitForURL(/\/explorer\/graphql\?query=/);
    assert.match(await page.getByLabel('Query').inputValue(), /transactions\(tags: \$tags/);
    await page.getByText('edges:', { exact: true }).waitFor();
    await page.getByLabel('Query').focus();
    await pressInOneTurn(page, ['}', 'Control+Enter']);
    await page.getByText(/^Syntax Error/).waitFor();
    tab.forgive(/status of 400 .*\/graphql/);
    await page.getByLabel('Query').press('Backspace');
    await page.getByLabel('Query').press('Control+Enter');
    await page.getByText('edges:', { exact: true }).waitFor();
    await page.getByRole('button', { name: 'As text' }).click();
    await page.getByText(samples.image.id).first().waitFor();
    await page.getByText('TransactionConnection', { exact: true }).waitFor();
    await tab.assertAccessible();
    tab.assertQuiet();
  });

  test('finds ids, links, labels, blocks and tags by their shape, and says what it tried', async () => {
    const { id } = samples.image;
    assert.ok(isTxId(id));
    for (const text of [
      id,
      `ar://${id}`,
      `http://localhost:4000/${id}/a?b`,
      `http://${sandboxLabel(id)}.localhost:4000/`,
    ]) {
      await tab.go(`/search?q=${encodeURIComponent(text)}`);
      await page.waitForURL(`**/tx/${id}`);
    }
    await tab.go('/search?q=1');
    await page.waitForURL('**/block/1');
    await tab.go('/search?q=App-Name:Explorer%20test');
    await page.waitForURL('**/tag/App-Name/Explorer%20test');
    await row(id).waitFor();
    await open('/search?q=nobody-has-this-name', 'Nothing found');
    await page.getByText('A name', { exact: true }).waitFor();
    await tab.assertAccessible();
    await open('/search?q=two words', 'This looks like nothing');
    tab.forgive(absent);
    tab.assertQuiet();
  });

  test('shows an item with its way to permanent, its proofs, and verifies it in the browser', async () => {
    const { id } = samples.inner;
    await open(`/tx/${id}`, 'Nothing can take it away any more');
    assert.equal(await page.locator('.timeline .step-done').count(), 4);
    await page.getByText('verified by signature').waitFor();
    await page.getByRole('button', { name: 'Verify in this browser' }).click();
    await page.getByText('The owner signed exactly these').waitFor();
    // The path leads over the nested bundle to the transaction on the chain.
    const path = page.locator('.explorer-path a');
    assert.equal(await path.count(), 2);
    assert.equal(await path.nth(1).getAttribute('href'), `/tx/${samples.nested.id}`);
    await tab.assertAccessible();
    const root = (await path.nth(0).getAttribute('href')) ?? '';
    await open(root, 'In this bundle');
    await row(samples.nested.id).waitFor();
    await page.getByRole('button', { name: 'Verify in this browser' }).click();
    await page.getByText('have the data root that was signed').waitFor();
    await page.getByText('Show as JSON').click();
    await page.getByText('data_root').first().waitFor();
    // What is inside another upload was not uploaded itself.
    tab.forgive(absent);
    tab.assertQuiet();
  });

  test('shows every kind of content as what it is', async () => {
    const shown = async (locator: Locator) => {
      await locator.waitFor();
      return locator;
    };
    const isDrawn = (image: Locator) =>
      eventually('it is drawn', () =>
        image.evaluate((element) => (element as { naturalWidth?: number }).naturalWidth),
      );
    await tab.go(`/tx/${samples.image.id}`);
    assert.equal(await isDrawn(await shown(page.locator('img.explorer-media'))), 120);
    await tab.go(`/tx/${samples.json.id}`);
    await page.getByText('answer:').waitFor();
    assert.equal(
      await page.getByRole('link', { name: 'Proof to keep' }).getAttribute('href'),
      `${urls.upload}/v1/tx/${samples.json.id}/proof`,
    );
    await tab.go(`/tx/${samples.sound.id}`);
    await shown(page.locator('audio'));
    await open(`/tx/${samples.bytes.id}`, '000000  07 07');
    await open(`/tx/${samples.text.id}`, '# A title <script>alert(1)</script>');
    await tab.go(`/tx/${samples.pdf.id}`);
    const pdf = await shown(page.locator('iframe'));
    assert.match((await pdf.getAttribute('src')) ?? '', /^http:\/\/[a-z2-7]{52}\.localhost:/);
    await tab.go(`/tx/${samples.manifest.id}`);
    const path = await shown(page.getByRole('link', { name: 'sun.png' }));
    assert.match(
      (await path.getAttribute('href')) ?? '',
      new RegExp(`localhost:\\d+/${samples.manifest.id}/img/sun\\.png$`),
    );
    await tab.assertAccessible();
    tab.assertQuiet();
  });

  test('lets nothing hostile out: pictures do not run, pages stay in their frame, tags are text', async () => {
    await tab.go(`/tx/${samples.svg.id}`);
    await page.locator('img.explorer-media').waitFor();
    await page.getByText('"><script>top.document.title="stolen"</script>').waitFor();
    await page.getByText('javascript:alert(document.domain)').waitFor();
    assert.equal(await page.locator('main a[href^="javascript:" i]').count(), 0);
    const name = page.locator('bdi', { hasText: 'harmless' }).first();
    assert.equal(await name.evaluate((element) => getComputedStyle(element).unicodeBidi), 'isolate');
    assert.equal(await page.evaluate('document.documentElement.scrollWidth <= innerWidth'), true);
    await tab.assertAccessible();
    await page.locator('a', { hasText: 'Find same' }).nth(2).click();
    await page.waitForURL(/\/tag\//);
    await row(samples.svg.id).waitFor();
    tab.assertQuiet();

    await tab.go(`/tx/${samples.page.id}`);
    assert.equal(await page.locator('iframe').count(), 0);
    await page.getByRole('button', { name: 'Show the page' }).click();
    const frame = page.locator('iframe');
    assert.equal(await frame.getAttribute('sandbox'), 'allow-scripts');
    const inside = page.frameLocator('iframe');
    await inside.locator('body[data-storage="none"]').waitFor();
    assert.match(page.url(), /\/tx\//);
    assert.doesNotMatch(await page.title(), /stolen/);
    tab.forgive(/Unsafe attempt to initiate navigation/);
    tab.assertQuiet();
  });

  test('checks receipts in the browser', async () => {
    await tab.go('/explorer/receipt');
    await page.getByLabel('Receipt').fill(JSON.stringify(receipt));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('genuine', { exact: true }).waitFor();
    await page.getByText('the upload service of this console').waitFor();
    await page.getByText(/^kept: in block/).waitFor();
    await tab.assertAccessible();
    await page.getByLabel('Receipt').fill(JSON.stringify({ ...receipt, deadlineHeight: 999_999 }));
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('not genuine').waitFor();
    await page.getByLabel('Receipt').fill('{}');
    await page.getByRole('button', { name: 'Check', exact: true }).click();
    await page.getByText('This is no receipt').waitFor();
    tab.assertQuiet();
  });

  test('shows owners in every form, and blocks beside each other', async () => {
    const normalized = createHash('sha256').update(ethereum.owner).digest('base64url');
    await tab.go(`/address/${normalized}`);
    await row(samples.json.id).waitFor();
    await page.getByText('Ethereum', { exact: true }).first().waitFor();
    await page
      .getByText(/^0x[0-9a-fA-F]{40}$/)
      .first()
      .waitFor();
    await tab.assertAccessible();
    await tab.go(`/tx/${samples.json.id}`);
    await page.locator('a[href^="/address/0x"]').click();
    await row(samples.json.id).waitFor();
    await open('/block/1', 'Block 1');
    await page.getByRole('link', { name: 'Next', exact: true }).click();
    await page.waitForURL('**/block/2');
    await page.getByText('Block 2').first().waitFor();
    await tab.assertAccessible();
    await open('/block/999999999', 'There is no such block yet');
    await open(`/tx/${'A'.repeat(43)}`, 'Nobody here knows this id');
    // There it is looked for again and again.
    await tab.go('/explorer');
    tab.forgive(absent);
    tab.forgive(/\/block\/height\/999999999/);
    tab.assertQuiet();
  });

  test('fits a phone', async () => {
    const phone = await underTest.open('/explorer', { width: 390, height: 844 });
    for (const path of ['/explorer', `/tx/${samples.svg.id}`, '/block/1', '/explorer/graphql']) {
      await phone.go(path);
      await phone.page.locator('.card').first().waitFor();
      assert.equal(
        await phone.page.evaluate('document.documentElement.scrollWidth <= innerWidth'),
        true,
        path,
      );
      if (path.startsWith('/tx/')) await phone.assertAccessible();
    }
    phone.assertQuiet();
    await phone.page.close();
  });

  test('says so where the operator blocked the content', async () => {
    const { id } = samples.bytes;
    const key = (await page.evaluate(`fetch('/api/session', {
      method: 'POST',
      headers: { 'x-turnpike-console': '1', 'content-type': 'application/json' },
      body: '{"own":true}',
    }).then(() => fetch('/api/operator/gateway/block-data', {
      method: 'PUT',
      headers: { 'x-turnpike-console': '1', 'content-type': 'application/json' },
      body: '{"id":"${id}","notes":"test"}',
    })).then((answer) => answer.status)`)) as number;
    assert.equal(key, 200);
    await open(`/tx/${id}`, 'blocked this content');
    assert.equal(await page.locator('.explorer-frame, .explorer-media').count(), 0);
    await page.evaluate(
      `fetch('/api/session', { method: 'DELETE', headers: { 'x-turnpike-console': '1' } })`,
    );
    tab.forgive(/451/);
    tab.assertQuiet();
  });

  test('tells operators why an item is not permanent yet, on its page', async () => {
    await underTest.stack.control.mining({ mode: 'none' });
    const waiting = await makeItem('text/plain', 'waits for a block');
    await uploadSample(urls.upload ?? '', waiting);
    await open(`/tx/${waiting.id}`, 'Do you run this service?');
    await page.evaluate(`fetch('/api/session', {
      method: 'POST',
      headers: { 'x-turnpike-console': '1', 'content-type': 'application/json' },
      body: '{"own":true}',
    })`);
    await open(`/tx/${waiting.id}`, 'Why it is not permanent yet:');
    assert.match(await page.locator('.explorer-why bdi').innerText(), /\w+ \w+/);
    await underTest.stack.control
      .mining({ mode: 'auto' })
      .catch(() => underTest.stack.control.mining({ mode: 'interval' } as never));
    await page.getByText('Nothing can take it away any more').waitFor();
    tab.assertQuiet();
  });
});

describe('a hundred thousand entries', { skip: noChromium }, () => {
  /** Of a view, in script alone. */
  const maxScriptMs = 100;
  const rows = 100_000;

  test('stay smooth: first view, scrolling, and the last row', async (context) => {
    const network = await startLocalStack({ overrides: { START_WRITERS: 'false', CONSOLE_PORT: '0' } });
    context.after(() => network.stop());
    const { index, config } = network.inside;
    await fillIndex(index.sql, { records: rows, heights: 1_000 });
    await index.refresh();
    const services = () => ({ gateway: network.gateway.url });
    const surface = createConsoleSurface(config, {
      log: silentLog,
      version: 'test',
      services,
      reach: { services, routerAdmin: () => undefined, ownKeys: undefined },
      state: new ConsoleState(),
    });
    await surface.start();
    context.after(() => surface.stop());
    const browser = await openChromium(network.dataDir);
    context.after(() => browser.close());
    const page = await browser.context.newPage();
    await page.setViewportSize({ width: 1440, height: 900 });
    await page.emulateMedia({ reducedMotion: 'reduce' });
    const session = await browser.context.newCDPSession(page);
    // The page's own time, whatever else the machine does.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    let before = 0;
    const scriptMs = async (): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics');
      const now = 1_000 * (metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0);
      const spent = now - before;
      before = now;
      return spent;
    };
    const figures: Record<string, number> = {};
    const measured = async (name: string, act: () => Promise<unknown>): Promise<void> => {
      await act();
      figures[name] = Math.min(figures[name] ?? Number.POSITIVE_INFINITY, await scriptMs());
    };
    const table = page.locator('.virtual');
    const rowIsThere = (number: number) =>
      page
        .locator(`tr[aria-rowindex="${number + 1}"] a`)
        .first()
        .waitFor({ timeout: 90_000 });
    // What shares the core with it makes it slower, never quicker: the best of three.
    for (let view = 0; view < 3; view += 1) {
      before = 0;
      await measured('first view', async () => {
        await page.goto(`${surface.url}/explorer`);
        await rowIsThere(1);
        await page.getByText('100,000 in all').waitFor();
      });
    }
    assert.equal(await table.locator('table').getAttribute('aria-rowcount'), String(rows + 1));
    await measured('a screen further', async () => {
      await table.evaluate((element) => element.scrollTo(0, 40 * 40));
      await rowIsThere(45);
    });
    await table.evaluate((element) => element.scrollTo(0, element.scrollHeight));
    await rowIsThere(rows);
    await scriptMs();
    await measured('to the middle', async () => {
      await table.evaluate((element) => element.scrollTo(0, 50_000 * 40));
      await rowIsThere(50_005);
    });
    assert.ok((await page.locator('.virtual tr').count()) < 100);
    await table.evaluate((element) => element.scrollTo(0, 0));
    await rowIsThere(1);
    await measured('by the keyboard', async () => {
      await page.locator('tr[aria-rowindex="2"]').focus();
      await page.keyboard.press('ArrowDown');
      await page.locator('tr[aria-rowindex="3"]:focus').waitFor();
      await page.keyboard.press('End');
      await page.locator(`tr[aria-rowindex="${rows + 1}"]:focus`).waitFor();
    });
    context.diagnostic(JSON.stringify(figures));
    for (const [name, ms] of Object.entries(figures))
      assert.ok(ms <= maxScriptMs, `${name}: ${ms} ms of script`);
  });
});
