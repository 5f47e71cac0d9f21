/** The operator's section: signed in once, every page shows what the services say, and what is done there is done. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { EventSource } from 'eventsource';
import { Webhook } from 'standardwebhooks';
import { makeItem } from '../support/admin-gateway.ts';
import { eventually } from '../support/eventually.ts';
import { startToldGateways, type ToldGateways } from '../support/told-gateways.ts';
import { noChromium } from './chromium.ts';
import { type ConsoleTab, type ConsoleUnderTest, openConsole } from './console-page.ts';

const hostile = '<img src=x onerror=alert(1)>‮evil';
const key = 'the-key-of-the-operator-of-this-test';

describe('the operator', { skip: noChromium }, () => {
  let underTest: ConsoleUnderTest;
  let tab: ConsoleTab;
  let elsewhere: ToldGateways;
  before(async () => {
    elsewhere = await startToldGateways(1, () => false);
    underTest = await openConsole({
      FREE_UPLOAD_LIMIT: '100000',
      ADMIN_API_KEY: key,
      ANNOUNCE_GATEWAYS: JSON.stringify(
        elsewhere.urls.map((one) => ({ url: one, host: 'far.example', key })),
      ),
    });
    tab = await underTest.open('/operator');
  });
  after(async () => {
    await underTest?.[Symbol.asyncDispose]();
    elsewhere?.stop();
  });

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
      ['Webhooks', 'No webhooks yet'],
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
    // The number alone may be the height of an earlier bundle's block.
    const row = page.getByRole('row', { name: /last error ".*503/ }).first();
    await row.getByRole('link').click();
    await page.getByRole('link', { name: `${id.slice(0, 8)}…${id.slice(-6)}` }).click();
    const way = page.getByRole('region', { name: 'Its way to permanence' });
    await way.getByText('Bundle posted to a node').waitFor();
    await page
      .getByRole('region', { name: 'An upload' })
      .getByText(/last error ".*503/)
      .waitFor();
    await tab.assertAccessible();
    await faults('DELETE');
    await page.getByRole('link', { name: 'Open in the explorer' }).waitFor();
    tab.assertQuiet();
  });

  test('a webhook gets signed messages that a published library verifies, beside a published event stream', async () => {
    const { page } = tab;
    const messages: { readonly headers: Record<string, string>; readonly body: string }[] = [];
    const receiver = createServer(async (request, response) => {
      let body = '';
      for await (const piece of request.setEncoding('utf8')) body += piece;
      messages.push({ headers: request.headers as Record<string, string>, body });
      response.writeHead(messages.length === 1 ? 500 : 204).end();
    });
    await new Promise<void>((listening) => receiver.listen(0, '127.0.0.1', listening));
    const stream = new EventSource(`${url('gateway')}/gw/events?types=item.new,item.mined`);
    try {
      const told: string[] = [];
      for (const type of ['item.new', 'item.mined']) {
        stream.addEventListener(type, ({ data }) => told.push(`${type} ${JSON.parse(data).data.id}`));
      }
      await eventually('the stream to be open', async () => stream.readyState === EventSource.OPEN);
      await show('Webhooks');
      await page.getByLabel('Address', { exact: true }).fill('no address');
      await page.getByRole('button', { name: 'Add webhook' }).click();
      await page.getByText('Invalid hook - url is none').waitFor();
      tab.forgive(/400/);
      const { port } = receiver.address() as AddressInfo;
      await page.getByLabel('Address', { exact: true }).fill(`http://127.0.0.1:${port}/hook`);
      await page.getByLabel('Name', { exact: true }).fill(hostile);
      for (const type of ['item.new', 'item.mined']) await page.getByLabel(type, { exact: true }).check();
      await page.getByRole('button', { name: 'Add webhook' }).click();
      const dialog = page.getByRole('dialog');
      const secret = (await dialog.locator('code').textContent()) ?? '';
      await tab.assertAccessible();
      await dialog.getByRole('button', { name: 'I have kept it' }).click();
      await page.getByText('it answered 500').waitFor();
      const id = await upload('for the webhook');
      const events = () =>
        messages.flatMap(({ headers, body }) => {
          const message = new Webhook(secret).verify(body, headers);
          const { events: found } = message as { events: { type: string; data: { id?: string } }[] };
          return found.map(({ type, data }) => `${type} ${data.id}`);
        });
      const expected = [`item.new ${id}`, `item.mined ${id}`];
      await eventually('both to be told', async () =>
        [told, events()].every((list) => expected.every((event) => list.includes(event))),
      );
      assert.throws(() => new Webhook(secret).verify(`${messages[0]?.body} `, messages[0]?.headers ?? {}));
      assert.equal(new Set(events()).size, events().length, 'nothing is told twice');
      await page.getByText('it answered 500').waitFor({ state: 'detached' });
      await tab.assertAccessible();
      await tab.go('/explorer/events');
      await page.getByText('following').waitFor();
      const seen = await upload('while the list is open');
      const row = page
        .getByRole('row', { name: /item\.mined/ })
        .filter({ has: page.locator(`[href="/tx/${seen}"]`) });
      await row.waitFor();
      await tab.assertAccessible();
      await tab.go('/operator/webhooks');
      await page.getByRole('button', { name: 'Pause', exact: true }).click();
      await page.getByText('paused', { exact: true }).waitFor();
      await page.getByRole('button', { name: 'Remove', exact: true }).click();
      await page.getByRole('dialog').getByRole('button', { name: 'Remove' }).click();
      await page.getByText('No webhooks yet').waitFor();
      tab.assertQuiet();
    } finally {
      stream.close();
      receiver.closeAllConnections();
      receiver.close();
    }
  });

  test('each gateway that is told of uploads is shown, and one that is away with what waits for it', async () => {
    const { page } = tab;
    await page.goto(`${url('console')}/operator/bundler/announcements`);
    const row = page.getByRole('row').filter({ hasText: 'far.example' });
    await row.getByText('listens', { exact: true }).waitFor();
    elsewhere.stop();
    const id = await upload('for a gateway that is away');
    await row.getByText('does not listen', { exact: true }).waitFor();
    const waiting = page.getByRole('row').filter({ hasText: id.slice(0, 6) });
    await waiting.getByText('far.example').waitFor();
    await page.goto(`${url('console')}/operator/bundler/item/${id}`);
    await page.getByText('not yet: far.example').waitFor();
    await tab.assertAccessible();
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
