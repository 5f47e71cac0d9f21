import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import type { IndexesState } from '../../src/formats/gateway-admin-answers.ts';
import { buildBands } from '../../src/gateway/published-indexes/bands/build.ts';
import { indexFolders } from '../../src/gateway/published-indexes/folders.ts';
import { readObserver } from '../../src/gateway/published-indexes/publication/observer.ts';
import { publisherOf } from '../../src/gateway/published-indexes/publication/publisher.ts';
import { adminKey, makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { startLocalStack, until } from '../support/local-gateway.ts';

test('a gateway serves items that it knows only from the index of another, and follows its changes', async (t) => {
  const a = await startAdminGateway();
  t.after(() => a.stop());
  const observer = await readObserver(a.inside.config);
  const publisher = publisherOf(a.inside.config, observer);
  let bundle = '';
  const mine = async (text: string) => {
    const item = await makeItem({
      data: Buffer.from(text),
      tags: [{ name: 'Content-Type', value: 'text/plain' }],
    });
    bundle = await postBundle(a.stack, [await makeItem({ data: Buffer.alloc(300_000, text) }), item]);
    await until('A indexes the item', async () => {
      const found = await a.inside.index.locate(item.id);
      return found?.placement !== undefined && found.height !== undefined;
    });
    await buildBands({
      sql: a.inside.index.sql,
      published: indexFolders(a.inside.config.DATA_DIR).published,
      bandHeights: 1000,
      publisher: observer.address,
    });
    await publisher.publish();
    return item.id;
  };
  const first = await mine('known from afar');

  const b = await startLocalStack({
    nodeUrls: () => [a.stack.node.url],
    overrides: {
      ANS104_UNBUNDLE_FILTER: '{"never":true}',
      INDEX_POLL_INTERVAL_SECONDS: '1',
      INDEX_SUBSCRIBE: JSON.stringify([{ publisher: observer.address, url: a.url }]),
    },
  });
  t.after(() => b.stop());
  const read = async (id: string, range?: string) => {
    const answer = await fetch(`${b.gateway.url}/raw/${id}`, {
      headers: range === undefined ? {} : { range },
    });
    return { status: answer.status, type: answer.headers.get('content-type'), body: await answer.text() };
  };
  await until('B serves the first item', async () => (await read(first)).status === 200);
  assert.equal(await b.inside.index.locate(first), undefined, 'B never unbundled it');
  const asked = await fetch(`${b.gateway.url}/gw/admin/indexes`, {
    headers: { authorization: `Bearer ${adminKey}` },
  });
  const state = (await asked.json()) as IndexesState;
  const [followed] = state.subscriptions;
  assert.deepEqual([followed?.publisher, followed?.url, followed?.reason], [observer.address, a.url, null]);
  assert.match(followed?.outcome ?? '', /^(installed|unchanged)$/);
  assert.ok(state.bandsInUse > 0 && typeof followed?.lastLookAt === 'number');
  assert.deepEqual(await read(first), {
    status: 200,
    type: 'text/plain; charset=utf-8',
    body: 'known from afar',
  });

  const second = await mine('published later');
  await until('B follows', async () => (await read(second)).status === 200);
  assert.deepEqual(await read(second, 'bytes=0-8'), {
    status: 206,
    type: 'text/plain; charset=utf-8',
    body: 'published',
  });
  assert.equal((await read(second)).body, 'published later');

  // What is known from an index only is blocked like everything else.
  const admin = async (route: string, body: object) =>
    await fetch(`${b.gateway.url}/gw/admin/${route}`, {
      method: 'PUT',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
  for (const what of [{ id: second }, { hash: hash('sha256', 'published later', 'hex') }]) {
    assert.equal((await admin('block-data', what)).status, 200);
    assert.equal((await read(second)).status, 451);
    assert.equal((await read(second, 'bytes=0-8')).status, 451);
    assert.equal((await read(first)).status, 200);
    // By its id its place is known, so that it is not given away as a part of its bundle either.
    if ('id' in what) assert.equal((await read(bundle)).status, 451);
    assert.equal((await admin('unblock-data', what)).status, 200);
    assert.equal((await read(second)).body, 'published later');
  }
});
