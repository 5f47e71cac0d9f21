/** The operator looks at the router in a real browser. */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { Browser, Page } from 'playwright-core';
import { addAttempt, emptyHour } from '../../src/router/telemetry/hour.ts';
import { telemetryMigrations } from '../../src/router/telemetry/migrations.ts';
import { TelemetryStore } from '../../src/router/telemetry/store.ts';
import { bucketOf } from '../../src/router/telemetry/telemetry.ts';
import { type RouterBench, startRouterBench } from '../../src/router/testing/router-bench.ts';
import { type TestItem, testItem } from '../../src/router/testing/stub-gateway.ts';
import { openSqliteFile } from '../../src/storage/sql/open.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { launchChromium, noChromium } from './chromium.ts';

/** Set to a folder to keep pictures of the pages. */
const screenshots = process.env.SCREENSHOTS;
const token = 'the-token-of-the-operator';

let browser: Browser;
let bench: RouterBench;
let items: TestItem[];

before(async () => {
  if (noChromium !== false) return;
  items = await Promise.all(Array.from({ length: 12 }, (_, index) => testItem(`page ${index} `.repeat(500))));
  bench = await startRouterBench({
    items,
    environment: { ADMIN_TOKEN: token, ROUTING_STRATEGY: 'round-robin' },
  });
  const [, slow, dead] = bench.gateways;
  if (slow !== undefined) slow.behaviour = { delayMs: 12 };
  for (const item of items) await bench.get(`/${item.id}`);
  if (dead !== undefined) dead.behaviour = { status: 500 };
  for (const item of await Promise.all([1, 2, 3, 4, 5, 6].map((n) => testItem(`new ${n}`)))) {
    for (const gateway of bench.gateways) gateway.items.set(item.id, item);
    await bench.get(`/${item.id}`);
  }
  for (let round = 0; round < 3; round += 1) for (const item of items) await bench.get(`/${item.id}`);
  await pastDay();
  browser = await launchChromium();
});

/** Figures of the hours before, as a router that has run for a day has them. */
async function pastDay(): Promise<void> {
  const random = seededRandom(24);
  const store = new TelemetryStore(
    await openSqliteFile(join(bench.dataDir, 'telemetry.db'), telemetryMigrations),
  );
  const hours = ['cache', ...bench.gateways.map(({ url }) => url)].flatMap((gateway, index) =>
    Array.from({ length: 23 }, (_, back) => {
      const figures = emptyHour();
      const busy = 60 - index * 9 + Math.round(40 * Math.sin(back / 4)) + random.below(12);
      const failing = index === 3 && back > 8 && back < 13;
      for (let request = 0; request < Math.max(4, busy); request += 1) {
        const latencyMs = gateway === 'cache' ? 1 : 10 * index + random.below(12);
        addAttempt(figures, failing && random.below(3) === 0 ? 'timeout' : 'success', latencyMs);
        figures.bytesServed += 4_096;
      }
      figures.verificationAttempts = figures.verificationSuccess = gateway === 'cache' ? 0 : busy >> 1;
      return { gateway, hourBucket: bucketOf(new Date(Date.now() - (back + 1) * 3_600_000)), figures };
    }),
  );
  await store.add(hours, []);
  await store.close();
}

after(async () => {
  await browser?.close();
  await bench?.stop();
});

const look = async (page: Page, name: string) => {
  if (screenshots !== undefined)
    await page.screenshot({ path: `${screenshots}/${name}.png`, fullPage: true });
};

test('signs in, sees gateways and charts, blocks content, and leaves nothing behind', {
  skip: noChromium,
}, async () => {
  const page = await browser.newPage({ viewport: { width: 1180, height: 760 } });
  page.setDefaultTimeout(60_000);
  const complaints: string[] = [];
  page.on('console', (message) => {
    // A refused sign-in is reported by the browser as a failed load.
    if (message.type() === 'error' && !message.text().includes('403')) complaints.push(message.text());
  });
  page.on('pageerror', (error) => complaints.push(error.message));
  await page.goto(bench.router.adminUrl ?? '');
  await page.getByLabel('Token').fill('wrong');
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Invalid authorization token').waitFor();
  await page.getByLabel('Token').fill(token);
  await page.getByRole('button', { name: 'Sign in' }).click();
  await page.getByText('Cache hits').waitFor();
  await look(page, 'router-admin-status');

  await page.getByRole('link', { name: 'Gateways', exact: true }).click();
  await page.getByRole('cell', { name: bench.gateways[0]?.url ?? '' }).waitFor();
  await look(page, 'router-admin-gateways');

  await page.getByRole('link', { name: 'Telemetry' }).click();
  await page.getByRole('img', { name: 'Requests per hour' }).locator('canvas').waitFor();
  assert.equal(
    await page.getByRole('img', { name: /Requests per hour|Time to first byte|Errors/ }).count(),
    3,
  );
  await look(page, 'router-admin');

  await page.getByRole('link', { name: 'Moderation' }).click();
  await page.getByLabel('What', { exact: true }).selectOption('txid');
  await page.getByLabel('Value', { exact: true }).fill(items[0]?.id ?? '');
  await page.getByLabel('Reason', { exact: true }).fill('<img src=x onerror=alert(1)>');
  await page.getByRole('button', { name: 'Block', exact: true }).click();
  await page.getByRole('cell', { name: '<img src=x onerror=alert(1)>' }).first().waitFor();
  assert.equal((await bench.get(`/${items[0]?.id}`)).status, 403);
  await look(page, 'router-admin-moderation');

  await page.getByRole('link', { name: 'Settings' }).click();
  await page.getByText('ROUTING_STRATEGY').waitFor();
  assert.ok(!(await page.content()).includes(token));
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.getByLabel('Token').waitFor();
  const left = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
  assert.ok(!left.includes(token), 'the token was kept in memory alone');
  assert.deepEqual(complaints, [], 'the page obeys its own content security policy');
  await page.close();
});

test('a page of another origin can neither read nor change anything', { skip: noChromium }, async () => {
  const page = await browser.newPage();
  // Hosted content is such a page: it comes from the router's own port.
  await page.goto(`${bench.router.url}/${items[1]?.id}`);
  const results = await page.evaluate(
    async ([url, secret]) => {
      const attempt = (path: string, init?: RequestInit) =>
        fetch(`${url}${path}`, init).then(
          (answer) => `answered ${answer.status}`,
          () => 'refused',
        );
      return [
        await attempt('/api/status', { headers: { authorization: `Bearer ${secret}` } }),
        await attempt('/api/moderation/unblock', {
          method: 'POST',
          body: '{}',
          headers: { 'content-type': 'text/plain' },
        }),
        await attempt('/'),
      ];
    },
    [bench.router.adminUrl, token],
  );
  assert.deepEqual(results, ['refused', 'refused', 'refused']);
  await page.close();
});
