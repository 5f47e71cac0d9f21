/**
 * Takes the pictures of docs/images that README and docs/console.md show: `npm run pictures`. A local network is lived in
 * first (credits bought, a folder stored and named, something blocked), then each main view is looked at on a wide screen and
 * on a phone.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { Page } from 'playwright-core';
import { payByCard } from './card-page.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const images = resolve(import.meta.dirname, '../../docs/images');
const name = 'open-road';
const sizes = [
  { width: 1440, height: 900 },
  { width: 390, height: 844 },
] as const;
/** What moves stands still: a view is complete when nothing is loading and the fonts are there. */
const settled = async (page: Page): Promise<void> => {
  await page.locator('h1').first().waitFor();
  await page.waitForFunction(() => document.querySelector('[aria-busy="true"], .skeleton') === null);
};

const folder = mkdtempSync(join(tmpdir(), 'turnpike-pictures-'));
const site = join(folder, 'open-road');
mkdirSync(join(site, 'pictures'), { recursive: true });
writeFileSync(
  join(site, 'index.html'),
  '<!doctype html><title>Open road</title><style>body{font:2rem system-ui;margin:4rem;background:#0f2542;color:#ffd166}</style><h1>Open road</h1>',
);
writeFileSync(join(site, 'about.txt'), 'Stored for good.');
writeFileSync(
  join(site, 'pictures', 'gate.svg'),
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#1f5fd0"/></svg>',
);

await using underTest = await openConsole();
try {
  const id = await live(underTest);
  const views: readonly (readonly [string, string])[] = [
    ['home', '/'],
    ['explorer', '/explorer'],
    ['entry', `/tx/${id}`],
    ['wallet', '/wallet'],
    ['top-up', '/wallet/top-up'],
    ['upload', '/upload/history'],
    ['names', `/names?q=another-road`],
    ['name', `/name/${name}`],
    ['operator', '/operator'],
    ['bundler', '/operator/bundler'],
    ['local', '/local'],
  ];
  for (const { width, height } of sizes) {
    for (const [view, path] of views) await take(view, path, width, height, 'light');
    await take('home-dark', '/', width, height, 'dark');
  }
} finally {
  rmSync(folder, { recursive: true, force: true });
}

async function take(view: string, path: string, width: number, height: number, scheme: 'light' | 'dark') {
  const { page } = await underTest.open(path, { width, height, scheme });
  await settled(page);
  const file = join(images, `console-${view}-${width}.png`);
  await page.screenshot({ path: file });
  await page.close();
  console.log(`${file.slice(images.length + 1)}  ${Math.round(statSync(file).size / 1024)} KiB`);
}

/** Answers the id of what was stored. */
async function live({ open }: ConsoleUnderTest): Promise<string> {
  const tab: ConsoleTab = await open('/');
  const { page } = tab;
  const button = (text: string | RegExp) => page.getByRole('button', { name: text }).first();
  const dialog = page.getByRole('dialog');
  const agree = async (): Promise<void> => {
    await dialog.getByText('Credits left').waitFor();
    await button(/^Sign and pay/).click();
  };
  await button('Take a play wallet').click();
  for (let time = 0; time < 2; time += 1) {
    await tab.go('/wallet/top-up');
    await button(/^Pay \$25\.00 by card/).click();
    await payByCard(page);
    await page.getByText('your credits are there').waitFor();
  }
  await tab.go('/upload');
  const [chooser] = await Promise.all([page.waitForEvent('filechooser'), button('Choose a folder').click()]);
  await chooser.setFiles(site);
  await button('Upload 3 files').click();
  await page.getByRole('heading', { name: 'Stored', exact: true }).waitFor();
  const href = await page.locator('.upload-outcome .fact a').first().getAttribute('href');
  const id = (href ?? '').replace('/tx/', '');
  await tab.go(`/names?q=${name}`);
  await button('Buy with credits').click();
  await agree();
  await button('Sign the transaction').click();
  await dialog.getByText('Done', { exact: true }).waitFor();
  await tab.go(`/name/${name}?target=${id}`);
  await button('Save').click();
  await agree();
  await dialog.getByText('Done', { exact: true }).waitFor();
  await tab.go('/operator');
  await button('Use the keys of this installation').click();
  await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
  await page.close();
  return id;
}
