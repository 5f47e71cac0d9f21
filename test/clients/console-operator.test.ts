/** The operator's section: signed in once, every page shows what the services say, and what is done there is done. */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { makeItem } from '../support/admin-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const hostile = '<img src=x onerror=alert(1)>‮evil';
const key = 'the-key-of-the-operator-of-this-test';

describe('the operator', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  before(async () => {
    underTest = await openConsole({ FREE_UPLOAD_LIMIT: '100000', ADMIN_API_KEY: key });
    tab = await underTest.open('/operator');
  });
  after(() => underTest?.[Symbol.asyncDispose]());

  const url = (name: string): string => underTest.stack.urls[name] ?? '';
  const show = async (name: string): Promise<void> => {
    await tab.page
      .getByRole('navigation', { name: 'Operator pages' })
      .getByRole('link', { name, exact: true })
      .click();
    await tab.page.getByRole('heading', { level: 1, name, exact: true }).waitFor();
  };
  const upload = async (text: string): Promise<string> => {
    const tags = [{ name: 'Content-Type', value: `text/plain; x="${hostile}"` }];
    const { id, bytes } = await makeItem({ data: Buffer.from(text), tags });
    const headers = { 'content-type': 'application/octet-stream' };
    const answer = await fetch(`${url('upload')}/v1/tx`, { method: 'POST', headers, body: bytes });
    assert.equal(answer.status, 200, await answer.text());
    return id;
  };

  test('signs in with a key or with those of the installation, and a reload asks nothing', async () => {
    const { page } = tab;
    await tab.assertAccessible();
    await page.getByLabel('Key', { exact: true }).fill('wrong');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('alert').waitFor();
    tab.forgive(/401|403/);
    await page.getByLabel('Key', { exact: true }).fill(key);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByRole('heading', { level: 1, name: 'Overview' }).waitFor();
    const kept = await page.evaluate(() => JSON.stringify({ ...localStorage, ...sessionStorage }));
    assert.ok(!kept.includes(key) && !(await page.content()).includes(key), 'the page does not keep the key');
    await show('Router');
    await page.getByText('Your keys do not open Router').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByRole('button', { name: 'Use the keys of this installation' }).click();
    await page.getByText(/of \d+ healthy/).waitFor();
    await page.reload();
    await page.getByText(/of \d+ healthy/).waitFor();
    tab.assertQuiet();
  });

  test('each page shows what its service says, and is accessible', async () => {
    const { page } = tab;
    await upload('for the figures');
    const shown: readonly (readonly [string, string])[] = [
      ['Overview', 'No problems.'],
      ['Traffic', 'Requests per second'],
      ['Process', 'Event loop delay'],
      ['Import', 'Heights looked at'],
      ['Bundler', 'Why is an upload not permanent yet?'],
      ['Ledger', 'Is the ledger right?'],
      ['Names', 'No name action is open'],
      ['Moderation', 'Blocked by the gateway'],
      ['Router', 'First byte'],
      ['Exports', 'Start an export'],
      ['Indexes', 'Nothing is published'],
      ['Logs', 'live'],
    ];
    for (const [name, text] of shown) {
      await show(name);
      await page
        .getByText(text, { exact: typeof text === 'string' })
        .first()
        .waitFor();
      await tab.assertAccessible();
    }
    await show('Ledger');
    await page.getByRole('button', { name: 'Check now' }).click();
    await page.getByText('right', { exact: true }).waitFor();
    await show('Settings');
    await page.getByLabel('Find a setting').fill('no setting has these words');
    await page.getByText('No such setting').waitFor();
    await page.getByLabel('Find a setting').fill('ADMIN_API_KEY');
    await page.getByText('(hidden)').first().waitFor();
    await tab.assertAccessible();
    assert.ok(!(await page.content()).includes(key), 'secrets are hidden');
    tab.assertQuiet();
  });

  test('blocks an item everywhere, with a reason that does no harm, and serves it again', async () => {
    const { page } = tab;
    const id = await upload('not for everybody');
    const statusAt = async (name: string) => (await fetch(`${url(name)}/raw/${id}`)).status;
    await eventually(
      'it is served',
      async () => (await statusAt('gateway')) === 200 && (await statusAt('router')) === 200,
    );
    await show('Moderation');
    await page.getByLabel('Id', { exact: true }).fill(id);
    await page.getByLabel('Who asked for it').fill('a court');
    await page.getByLabel('Notes', { exact: true }).fill(hostile);
    await page.getByRole('button', { name: 'Block', exact: true }).click();
    await page.getByRole('cell', { name: id }).first().waitFor();
    await eventually('gateway and router refuse it', async () => {
      const [gateway, router] = [await statusAt('gateway'), await statusAt('router')];
      return gateway === 451 && router === 403;
    });
    await tab.assertAccessible();
    await page.getByRole('button', { name: 'Unblock' }).first().click();
    await page.getByRole('dialog').getByRole('button', { name: 'Unblock' }).click();
    await page.getByText('The gateway blocks nothing.').waitFor();
    await eventually('it is served again', async () => (await statusAt('gateway')) === 200);
    await page.getByRole('cell', { name: 'unblock' }).first().waitFor();
    tab.assertQuiet();
  });

  test('finds in three clicks why an upload is not permanent', async () => {
    const { page } = tab;
    const headers = { 'content-type': 'application/json' };
    const fault = { status: 503, path: '/tx' };
    const faults = (method: string, body?: string) =>
      fetch(`${url('arweave')}/faults`, { method, ...(body !== undefined && { headers, body }) });
    assert.equal((await faults('POST', JSON.stringify(fault))).status, 200);
    const id = await upload('waits for the node');
    await tab.go('/operator');
    await show('Bundler');
    const row = page.getByRole('row', { name: /503/ }).first();
    await row.getByRole('link').click();
    await page.getByRole('link', { name: `${id.slice(0, 8)}…${id.slice(-6)}` }).click();
    const way = page.getByRole('region', { name: 'Its way to permanence' });
    await way.getByText('Bundle posted to a node').waitFor();
    await page.getByRole('region', { name: 'An upload' }).getByText(/503/).waitFor();
    await tab.assertAccessible();
    await faults('DELETE');
    await page.getByRole('link', { name: 'Open in the explorer' }).waitFor();
    tab.assertQuiet();
  });

  test('says so when the session has ended', async () => {
    const { page } = tab;
    await show('Overview');
    await page.evaluate(() =>
      fetch('/api/session', { method: 'DELETE', headers: { 'x-turnpike-console': '1' } }),
    );
    await page.getByText('Your session has ended. Sign in again to go on.').waitFor();
    tab.forgive(/401/);
    tab.assertQuiet();
  });
});
