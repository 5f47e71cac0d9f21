/** Every part of the kit in Chromium, under the policy of the console's page. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { basename, resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { build } from 'esbuild';
import type { Browser, Page } from 'playwright-core';
import { contentSecurityPolicy } from '../../src/console/policy.ts';
import { eventually } from '../support/eventually.ts';
import { launchChromium, noChromium } from './chromium.ts';
import { seriousFindings } from './console-page.ts';

const document = `<!doctype html><html lang="en"><meta charset="utf-8"><title>Kit</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="stylesheet" href="/testing-gallery.css"><div id="app"></div><script type="module" src="/testing-gallery.js"></script>`;

describe("the console's kit", { skip: noChromium }, () => {
  const complaints: string[] = [];
  let close = (): void => {};
  let browser: Browser;
  let page: Page;

  before(async () => {
    const { outputFiles } = await build({
      entryPoints: [resolve(import.meta.dirname, '../../src/page/kit/testing-gallery.tsx')],
      outdir: '/',
      bundle: true,
      splitting: true,
      write: false,
      format: 'esm',
      platform: 'browser',
      jsx: 'automatic',
      jsxImportSource: 'preact',
      logLevel: 'silent',
    });
    const files = new Map(outputFiles.map(({ path, contents }) => [`/${basename(path)}`, contents]));
    const policy = contentSecurityPolicy({
      version: '0',
      world: 'local',
      services: {},
      sandbox: undefined,
      controlsLocalNetwork: false,
    });
    const server = createServer((request, response) => {
      const file = files.get(request.url ?? '');
      response.setHeader('content-security-policy', policy);
      const type = request.url?.endsWith('.css') ? 'text/css' : 'text/javascript';
      if (file !== undefined) response.setHeader('content-type', type).end(file);
      else response.setHeader('content-type', 'text/html').end(document);
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
    close = () => {
      server.closeAllConnections();
      server.close();
    };
    browser = await launchChromium();
    page = await browser.newPage({ viewport: { width: 1280, height: 900 }, reducedMotion: 'reduce' });
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
    await page.goto(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
    await page.locator('.u-over').first().waitFor();
  });
  after(async () => {
    await browser?.close();
    close();
  });

  test('every part is accessible in light and dark, on a wide screen and on a phone', async () => {
    for (const width of [1280, 390]) {
      await page.setViewportSize({ width, height: 900 });
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        assert.deepEqual(await seriousFindings(page), [], `${width} pixels, ${colorScheme}`);
      }
      assert.ok((await page.evaluate<number>('document.documentElement.scrollWidth')) <= width);
    }
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  test('text of strangers is shown as it is written, and runs nothing', async () => {
    const shown = await page.locator('bdi.foreign').first().textContent();
    assert.equal(shown, '<img src=x onerror=alert(1)> \uFFFDgnp.exe');
    assert.equal(await page.locator('img').count(), 0);
  });

  test('a table of a hundred thousand rows stays quick and small, and is walked with the keyboard', async () => {
    const table = page.getByRole('table', { name: 'All items' });
    assert.equal(await table.getAttribute('aria-rowcount'), '100001');
    const session = await page.context().newCDPSession(page);
    // The time of the processor, not of the clock: others may be at work on this machine.
    await session.send('Performance.enable', { timeDomain: 'threadTicks' });
    const scriptSeconds = async (): Promise<number> => {
      const { metrics } = await session.send('Performance.getMetrics');
      return metrics.find(({ name }) => name === 'ScriptDuration')?.value ?? 0;
    };
    const region = page.locator('.virtual');
    const before = await scriptSeconds();
    const steps = 40;
    for (let step = 1; step <= steps; step += 1) {
      await region.evaluate((element, top) => element.scrollTo(0, top), step * 90_000);
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
    }
    const each = ((await scriptSeconds()) - before) / steps;
    assert.ok(each < 0.05, `${(each * 1000).toFixed(1)} ms of script for each step`);
    await table.getByRole('link', { name: '90000', exact: true }).waitFor();
    assert.ok((await table.locator('tbody tr').count()) < 60);
    await session.detach();

    await region.evaluate((element) => element.scrollTo(0, 0));
    await table.locator('tr[aria-rowindex="2"]').focus();
    await page.keyboard.press('End');
    await eventually(
      '100001',
      async () => (await page.evaluate('document.activeElement.getAttribute("aria-rowindex")')) === '100001',
    );
    await page.keyboard.press('PageUp');
    await page.keyboard.press('Home');
    await page.keyboard.press('ArrowDown');
    await eventually(
      '3',
      async () => (await page.evaluate('document.activeElement.getAttribute("aria-rowindex")')) === '3',
    );
    // The row in use stays in the document when it is scrolled away.
    await region.evaluate((element) => element.scrollTo(0, 2_000_000));
    await table.getByRole('link', { name: '50000', exact: true }).waitFor();
    assert.equal(await page.evaluate('document.activeElement.getAttribute("aria-rowindex")'), '3');
  });

  test('questions are answered by their buttons, and by Escape with no, and give the focus back', async () => {
    const answer = page.locator('#answer');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page
      .getByRole('dialog', { name: 'Reset the network?' })
      .getByRole('button', { name: 'Reset' })
      .click();
    await eventually('yes', async () => (await answer.textContent()) === 'yes');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Ask');
    await page.getByRole('button', { name: 'Ask' }).click();
    await page.getByRole('dialog').waitFor();
    await page.keyboard.press('Escape');
    await eventually('no', async () => (await answer.textContent()) === 'no');
    assert.equal(await page.evaluate('document.activeElement.textContent'), 'Ask');
  });

  test('messages are told, lead somewhere and can be closed, also above a dialog', async () => {
    await page.getByRole('button', { name: 'Notify' }).click();
    const messages = page.getByRole('status', { name: 'Messages' });
    await messages.getByText('Uploaded 3 files').waitFor();
    assert.equal(await messages.getByRole('link', { name: 'Show' }).getAttribute('href'), '/upload');
    assert.deepEqual(await seriousFindings(page), []);
    await messages.getByRole('button', { name: 'Close' }).click();
    await messages.getByText('Uploaded 3 files').waitFor({ state: 'detached' });
  });

  test('a chart is drawn, described, and shown as a table on request', async () => {
    const chart = page.locator('figure').filter({ hasText: 'Requests' });
    assert.match(
      (await chart.locator('p').textContent()) ?? '',
      /gateway: now .* lowest .* highest .*upload/,
    );
    await chart.getByRole('button', { name: 'Show as table' }).click();
    assert.equal(await chart.getByRole('table', { name: 'Requests' }).locator('tbody tr').count(), 120);
    await chart.getByRole('button', { name: 'Show as chart' }).click();
    await chart.locator('.u-over').waitFor();
  });

  test('what failed to load says why, and is there after it was repaired', async () => {
    await page.getByRole('alert').filter({ hasText: 'did not answer' }).waitFor();
    await page.getByRole('button', { name: 'Repair' }).click();
    await page.getByText('It is there').waitFor();
    assert.equal(await page.getByRole('alert').filter({ hasText: 'did not answer' }).count(), 0);
  });

  test('the browser complained of nothing', () => {
    assert.deepEqual(complaints, []);
  });
});
