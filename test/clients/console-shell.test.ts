/** Every section opens at its own address, by a link and again after a reload. */
import { after, before, describe, test } from 'node:test';
import { noChromium } from './chromium.ts';
import { type ConsoleUnderTest, openConsole } from './console-page.ts';

const sections = ['/', '/explorer', '/wallet', '/upload', '/names', '/operator', '/local'];

describe('the console', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  before(async () => {
    underTest = await openConsole();
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  test('each section can be opened, is accessible, and makes the browser complain of nothing', async () => {
    const tab = await underTest.open('/');
    for (const path of sections) {
      await tab.go(path);
      await tab.page.reload();
      await tab.page.locator('h1').first().waitFor();
      await tab.assertAccessible();
    }
    tab.assertQuiet();
  });
});
