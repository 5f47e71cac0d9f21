/**
 * An app that follows one tag is told of each of a thousand items once per state, in order, by all three ways: over
 * `kill -9` of the gateway, a restart of the receivers, a fork, and a receiver that is down for a while.
 */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { bundleTags } from '../../src/formats/ans104/bundle-header.ts';
import { bundleOf, type MadeItem, makeItem } from '../support/admin-gateway.ts';
import { type Watcher, watchHook, watchStream, watchSubscription } from '../support/chain-watchers.ts';
import { freePort } from '../support/free-port.ts';
import { startLocalArweave } from '../support/local-arweave.ts';
import { createDatabase, makeTransaction, send, text, until } from '../support/local-gateway.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const count = 1_000;
const bundles = 4;
const tag = { name: 'App', value: 'watched' };
const adminKey = 'the-operator-of-this-gateway';
const server = process.env.TEST_DATABASE_URL;

async function makeItems(tagged: typeof tag, length: number): Promise<MadeItem[]> {
  return Promise.all(
    Array.from({ length }, (_, at) =>
      makeItem({ tags: [tagged], data: Buffer.from(`${tagged.value} ${at}`) }),
    ),
  );
}

test('a thousand items are told once per state, in order, whatever happens to either side', async () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-chain-events-'));
  const database = server === undefined ? undefined : await createDatabase(server);
  const node = await startLocalArweave();
  const nodeUrl = node.client.url;
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  let running: RunningStack | undefined;
  const watchers: Watcher[] = [];
  after(async () => {
    for (const watcher of watchers) await watcher.stop();
    await running?.end('SIGKILL');
    await node.stop();
    await database?.drop();
    rmSync(dataDir, { recursive: true, force: true });
  });
  const start = async () => {
    running = await startStack({
      dataDir,
      only: ['gateway'],
      environment: {
        ARWEAVE_NODE_URLS: nodeUrl,
        GATEWAY_PORT: String(port),
        GATEWAY_POLL_INTERVAL_MS: '20',
        ADMIN_API_KEY: adminKey,
        LOG_LEVEL: 'fatal',
        WORKER_THREADS: '1',
        ...(database !== undefined && { DATABASE_URL: database.url }),
      },
    });
  };
  const admin = (path: string, body: unknown) =>
    fetch(`${url}/gw/admin/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    }).then(async (answer) => {
      assert.ok(answer.ok, `${path}: ${answer.status}`);
      return JSON.parse(await answer.text());
    });
  const items = await makeItems(tag, count);
  const others = await makeItems({ name: 'App', value: 'another' }, 40);

  await start();
  const filter = { tags: [tag] };
  const stream = await watchStream(() => url, filter);
  const subscription = await watchSubscription(() => url, tag);
  const hook = await watchHook(
    (receiver) => admin('hooks', { url: receiver, query: { filter, types: ['item.*'] } }),
    await freePort(),
  );
  watchers.push(stream, subscription, hook);
  await until('all three follow', async () => {
    const metrics = await text(`${url}/gw/__gateway_metrics`);
    return hook.messages > 0 && /^graphql_sockets 1$/m.test(metrics);
  });

  /** All three were told this of every item, and nothing else. */
  async function told(...states: string[]): Promise<void> {
    for (const watcher of watchers) {
      const isTold = ({ id }: MadeItem) => watcher.told.get(id)?.length === states.length;
      await until(`${watcher.name} is told of ${states.at(-1)}`, () => items.every(isTold)).catch(
        (error: Error) => {
          const counts = items.map(({ id }) => String(watcher.told.get(id)));
          throw new Error(
            `${error.message}: ${JSON.stringify(
              Object.groupBy(counts, (one) => one),
              (_key, value) => (Array.isArray(value) ? value.length : value),
            )}`,
          );
        },
      );
      for (const { id } of items) assert.deepEqual(watcher.told.get(id), states, watcher.name);
      assert.equal(watcher.told.size, items.length, `${watcher.name} is told of others`);
      assert.deepEqual(watcher.wrong, [], watcher.name);
    }
  }

  // Announced by the uploader, before there is any bundle. The receiver of webhooks is down meanwhile.
  await hook.stop();
  await admin(
    'queue-data-item',
    [...items, ...others].map(({ header }) => header),
  );
  await until('the webhook was tried in vain', async () =>
    /^webhooks_failing 1$/m.test(await text(`${url}/gw/__gateway_metrics`)),
  );
  await hook.start();
  await told('new');

  // In bundles, of different blocks; the gateway is killed while it reads them.
  for (let at = 0; at < bundles; at += 1) {
    const part = items.slice((at * count) / bundles, ((at + 1) * count) / bundles);
    const { post } = await makeTransaction(
      nodeUrl,
      bundleOf([...part, ...others.slice(at * 10, at * 10 + 10)]),
      [...bundleTags],
    );
    await post();
    await text(`${nodeUrl}/mine`);
  }
  await until('some are mined', () => items.some(({ id }) => stream.told.get(id)?.includes('mined')));
  await running?.end('SIGKILL');
  await start();
  await told('new', 'mined');

  // A fork takes all of them back; the receivers restart while it is told.
  await send(`${nodeUrl}/fork`, { depth: bundles });
  await Promise.all([stream.stop(), subscription.stop()]);
  await Promise.all([stream.start(), subscription.start()]);
  await told('new', 'mined', 'reverted');
  await text(`${nodeUrl}/mine/2`);
  await told('new', 'mined', 'reverted', 'mined');

  await text(`${nodeUrl}/mine/20`);
  await told('new', 'mined', 'reverted', 'mined', 'final');
  assert.ok(hook.refused > 0, 'no answer of the receiver was lost');
});
