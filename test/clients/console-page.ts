/**
 * The console in Chromium over a local network in this process. Whatever a browser complains about (errors in its
 * console, uncaught ones, refusals of the page's policy) is collected and fails the test that looks.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import type { BrowserContext, Page } from 'playwright-core';
import { type ControlledStack, startControlledStack } from '../support/controlled-stack.ts';
import { type Browser, openChromium } from './chromium.ts';

const axeSource = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
/** On a machine whose cores others use too. */
const timeoutMs = 20_000;

export interface ConsoleUnderTest extends AsyncDisposable {
  readonly stack: ControlledStack;
  readonly context: BrowserContext;
  /** Opens a path of the console in a tab of its own. */
  open(path?: string, options?: OpenOptions): Promise<ConsoleTab>;
}

export interface OpenOptions {
  readonly width?: number;
  readonly height?: number;
  readonly scheme?: 'light' | 'dark';
}

export interface ConsoleTab {
  readonly page: Page;
  /** What the browser complained about so far. */
  readonly complaints: readonly string[];
  /** Forgets complaints that the test provoked; they must match. */
  forgive(expected: RegExp): void;
  go(path: string): Promise<void>;
  /** In light and dark. */
  assertAccessible(): Promise<void>;
  /** Fails with what the browser complained about. */
  assertQuiet(): void;
}

/** `environment` as for the stack; mining by itself unless it says otherwise. */
export async function openConsole(
  environment: Readonly<Record<string, string>> = {},
): Promise<ConsoleUnderTest> {
  const stack = await startControlledStack({
    environment: { LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '50', BUNDLE_MAX_WAIT_MS: '200', ...environment },
  });
  let browser: Browser;
  try {
    browser = await openChromium(stack.dataDir);
  } catch (error) {
    await stack.stop();
    throw error;
  }
  const { context } = browser;
  context.setDefaultTimeout(timeoutMs);
  return {
    stack,
    context,
    open: (path = '/', options) => openTab(context, stack.urls.console ?? '', path, options),
    async [Symbol.asyncDispose]() {
      await browser.close();
      await stack.stop();
    },
  };
}

async function openTab(
  context: BrowserContext,
  base: string,
  path: string,
  { width = 1440, height = 900, scheme = 'light' }: OpenOptions = {},
): Promise<ConsoleTab> {
  const page = await context.newPage();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
  const complaints: string[] = [];
  page.on('console', (message) => {
    if (message.type() !== 'error') return;
    complaints.push(`console: ${message.text()} (${message.location().url})`);
  });
  page.on('pageerror', (error) => complaints.push(`uncaught: ${error.message}`));
  const go = async (to: string): Promise<void> => {
    await page.goto(new URL(to, base).href);
    await page.locator('h1').first().waitFor();
  };
  await go(path);
  return {
    page,
    complaints,
    go,
    forgive(expected) {
      const left = complaints.filter((complaint) => !expected.test(complaint));
      complaints.splice(0, complaints.length, ...left);
    },
    async assertAccessible() {
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme, reducedMotion: 'reduce' });
        const found = await seriousFindings(page, colorScheme === scheme ? allRules : rulesOfColours);
        assert.deepEqual(found, [], `${page.url()} in ${colorScheme}`);
      }
      await page.emulateMedia({ colorScheme: scheme, reducedMotion: 'reduce' });
    },
    assertQuiet() {
      assert.deepEqual(complaints, []);
    },
  };
}

/**
 * Presses keys in one turn of the page, faster than it draws and than the browser tells of what happened; `Control+k` is
 * one of them. Ends when the page has drawn twice.
 */
export const pressInOneTurn = (page: Page, keys: readonly string[]): Promise<void> =>
  page.evaluate(async (all) => {
    for (const name of all) {
      const ctrlKey = name.startsWith('Control+');
      const key = ctrlKey ? name.slice('Control+'.length) : name;
      const at = document.activeElement;
      const isFree = at?.dispatchEvent(
        new KeyboardEvent('keydown', { key, ctrlKey, bubbles: true, cancelable: true }),
      );
      const isField = at instanceof HTMLInputElement || at instanceof HTMLTextAreaElement;
      if (isFree && isField && !ctrlKey && key.length === 1) {
        at.value += key;
        at.dispatchEvent(new InputEvent('input', { data: key, bubbles: true }));
      }
      for (let step = 0; step < 10; step += 1) await Promise.resolve();
    }
    for (let drawn = 0; drawn < 2; drawn += 1)
      await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve)));
  }, keys);

const allRules = ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'wcag22aa', 'best-practice'];
/** Those that may find something else in dark than in light. */
const rulesOfColours = ['color-contrast', 'link-in-text-block'];

export async function seriousFindings(page: Page, rules = allRules): Promise<string[]> {
  if (!(await page.evaluate(`'axe' in window`))) await page.evaluate(axeSource);
  const found: Finding[] = await page.evaluate(
    `axe.run(document, { runOnly: ${JSON.stringify(rules)}, iframes: false }).then(({ violations }) =>
      violations.map(({ id, impact, help, nodes }) => ({ id, impact, help, nodes: nodes.map(({ html, any }) => html + ' ' + any.map((one) => one.message).join(' ')) })))`,
  );
  return found
    .filter(({ impact }) => impact === 'serious' || impact === 'critical')
    .map(({ id, help, nodes }) => `${id}: ${help}\n  ${nodes.slice(0, 5).join('\n  ')}`);
}

interface Finding {
  readonly id: string;
  readonly impact: string | null;
  readonly help: string;
  readonly nodes: readonly string[];
}
