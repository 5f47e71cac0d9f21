/** Queueing by an operator, from the call to what readers then find. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import {
  type AdminGateway,
  adminKey,
  makeItem,
  postBundle,
  startAdminGateway,
} from '../../../../test/support/admin-gateway.ts';
import { makeTransaction, send, text, until } from '../../../../test/support/local-gateway.ts';
import type { QueuedBundle } from '../../../formats/gateway-admin-answers.ts';

const unknown = 'A'.repeat(43);
const never = { overrides: { ANS104_UNBUNDLE_FILTER: '{"never":true}' } };

let gateway: AdminGateway;
before(async () => {
  gateway = await startAdminGateway(never);
});
after(() => gateway.stop());

const find = async (id: string, fields = 'id tags { name value } data { size } bundledIn { id }') =>
  JSON.parse(
    await send(`${gateway.url}/graphql`, {
      query: `{ transaction(id: "${id}") { ${fields} } }`,
    }),
  ).data.transaction;

describe('the admin key', () => {
  const paths = ['debug', 'queue-tx', 'bundle-status/x', 'export-parquet/status', 'no-such-route', ''];
  const ask = async (path: string, headers: Record<string, string> = {}, prefix = 'gw') => {
    const answer = await fetch(`${gateway.url}/${prefix}/admin/${path}`, { headers });
    return { status: answer.status, body: await answer.text(), headers: answer.headers };
  };

  it('is asked for on every path, known or not, before anything else', async () => {
    for (const path of paths) {
      for (const prefix of ['gw', 'ar-io']) {
        const answer = await ask(path, {}, prefix);
        assert.deepEqual([path, answer.status, answer.body], [path, 401, '"Unauthorized"']);
        assert.equal(answer.headers.get('cache-control'), 'no-store');
        assert.equal(answer.headers.get('www-authenticate'), 'Bearer');
        assert.match(answer.headers.get('content-type') ?? '', /^application\/json/);
        assert.equal(answer.headers.get('access-control-allow-origin'), null);
      }
    }
  });

  it('is refused when wrong, in the query, in another scheme or in another letter case', async () => {
    const wrong = [
      { authorization: `Bearer ${adminKey}x` },
      { authorization: `Bearer ${adminKey.slice(0, -1)}` },
      { authorization: `Bearer ${adminKey.toUpperCase()}` },
      { authorization: `bearer ${adminKey}` },
      { authorization: adminKey },
      { authorization: `Basic ${Buffer.from(`:${adminKey}`).toString('base64')}` },
      { authorization: 'Bearer ' },
      { 'x-api-key': adminKey },
    ];
    for (const headers of wrong) assert.equal((await ask('bundle-status/x', headers)).status, 401);
    assert.equal((await ask(`bundle-status/x?key=${adminKey}&ADMIN_API_KEY=${adminKey}`)).status, 401);
    const body = await fetch(`${gateway.url}/gw/admin/queue-tx`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: '{broken',
    });
    assert.equal(body.status, 401);
  });

  it('opens the routes, also below the alias, and unknown ones are then not found', async () => {
    const headers = { authorization: `Bearer ${adminKey}` };
    assert.equal((await ask(`bundle-status/${unknown}`, headers, 'ar-io')).body, '"Bundle not found"');
    const answer = await ask('no-such-route', headers);
    assert.deepEqual([answer.status, answer.body], [404, '"Not Found"']);
    assert.equal(answer.headers.get('cache-control'), 'no-store');
  });
});

describe('queue-data-item', () => {
  it('makes items searchable at once, without bundle, and takes them twice', async () => {
    const item = await makeItem({ data: Buffer.from('soon'), tags: [{ name: 'App', value: 'Köln' }] });
    assert.equal(await find(item.id), null);
    for (let time = 0; time < 2; time += 1) {
      const answer = await gateway.call('POST', 'queue-data-item', [item.header, item.header]);
      assert.deepEqual([answer.status, answer.body], [200, { message: 'Data item(s) queued' }]);
      assert.deepEqual(await find(item.id), {
        id: item.id,
        tags: [{ name: 'App', value: 'Köln' }],
        data: { size: '4' },
        bundledIn: null,
      });
    }
  });

  it('refuses what is no array of headers, and then takes none of it', async () => {
    const item = await makeItem({ data: Buffer.from('never') });
    const { signature: _signature, ...unsigned } = item.header;
    const bad: unknown[] = [
      {},
      null,
      'text',
      item.header,
      [item.header, null],
      [item.header, unsigned],
      [item.header, { ...item.header, data_size: '4' }],
      [item.header, { ...item.header, data_size: -1 }],
      [item.header, { ...item.header, data_size: 1.5 }],
      [item.header, { ...item.header, id: 'x'.repeat(43) }],
      [item.header, { ...item.header, id: `${item.id}/..` }],
      [item.header, { ...item.header, owner_address: 1 }],
      [item.header, { ...item.header, owner: '' }],
      [item.header, { ...item.header, tags: [{ name: '*', value: '' }] }],
    ];
    for (const body of bad) {
      const answer = await gateway.call('POST', 'queue-data-item', body);
      assert.deepEqual([answer.status, answer.body], [400, 'Must provide array of data item headers']);
    }
    assert.equal(await find(item.id), null);
  });

  it('shows the address of the key, and no signature that is not of the id', async () => {
    const item = await makeItem({ data: Buffer.from('elsewhere') });
    const { owner, owner_address } = item.header;
    const id = `${'A'.repeat(42)}E`;
    const answer = await gateway.call('POST', 'queue-data-item', [
      { ...item.header, id, owner_address: unknown },
    ]);
    assert.equal(answer.status, 200);
    assert.deepEqual(await find(id, 'id signature owner { key address }'), {
      id,
      signature: '<not-found>',
      owner: { key: owner, address: owner_address },
    });
  });

  it('never overwrites what was read from the bundle', async () => {
    const item = await makeItem({ data: Buffer.from('placed') });
    const bundle = await postBundle(gateway.stack, [item]);
    await gateway.call('POST', 'queue-bundle', { id: bundle });
    await until('the item is placed', async () => (await find(item.id))?.bundledIn?.id === bundle);
    await gateway.call('POST', 'queue-data-item', [{ ...item.header, data_size: 999 }]);
    const found = await find(item.id);
    assert.deepEqual([found.bundledIn.id, found.data.size], [bundle, '6']);
  });
});

describe('queue-bundle and bundle-status', () => {
  it('unbundles past the filter, and the status tells what happened', async () => {
    const items = await Promise.all(['one', 'two'].map((name) => makeItem({ data: Buffer.from(name) })));
    const bundle = await postBundle(gateway.stack, items);
    const skipped = await until('the importer met the bundle', async () => {
      const answer = await gateway.call('GET', `bundle-status/${bundle}`);
      return answer.status === 200 && (answer.body as Record<string, unknown>);
    });
    assert.equal(typeof skipped.firstSkippedAt, 'number');
    assert.deepEqual([skipped.firstQueuedAt, skipped.dataItemCount], [null, null]);

    const answer = await gateway.call('POST', 'queue-bundle', { id: bundle });
    assert.deepEqual([answer.status, answer.body], [200, { message: 'TX queued' }]);
    const status = await until('the bundle is read', async () => {
      const { body } = await gateway.call('GET', `bundle-status/${bundle}`);
      const found = body as Record<string, unknown>;
      return found.lastUnbundledAt !== null && found;
    });
    assert.deepEqual(
      {
        id: status.id,
        root: status.rootTransactionId,
        format: status.formatId,
        counts: [status.dataItemCount, status.matchedDataItemCount, status.duplicatedDataItemCount],
        attempts: [status.importAttemptCount, status.retryAttemptCount],
      },
      { id: bundle, root: bundle, format: 1, counts: [2, 2, 0], attempts: [2, 0] },
    );
    for (const field of ['firstQueuedAt', 'lastQueuedAt', 'firstUnbundledAt', 'firstFullyIndexedAt']) {
      assert.equal(typeof status[field], 'number', field);
    }
    for (const field of ['unbundleFilterId', 'indexFilterId']) assert.equal(typeof status[field], 'number');
    for (const item of items) assert.equal((await find(item.id)).bundledIn.id, bundle);
  });

  it('lists what waits and why, and refuses a state that there is none of', async () => {
    await gateway.call('POST', 'queue-bundle', { id: unknown });
    const waiting = await until('the bundle that no node has was tried', async () => {
      const { body } = await gateway.call('GET', 'bundles?state=queued');
      const { bundles } = body as { bundles: QueuedBundle[] };
      return bundles.find(({ id, lastError }) => id === unknown && lastError !== null);
    });
    assert.deepEqual(
      [waiting.rootTransactionId, waiting.depth, waiting.state, waiting.retryAttemptCount > 0],
      [unknown, 0, 'queued', true],
    );
    assert.ok(waiting.nextTryAt >= (waiting.lastQueuedAt ?? 0));
    assert.deepEqual((await gateway.call('GET', 'bundles?state=failed')).body, { bundles: [] });
    for (const query of ['', '?state=unbundled', '?state=']) {
      const answer = await gateway.call('GET', `bundles${query}`);
      assert.deepEqual(
        [answer.status, answer.body],
        [400, "Invalid 'state' - must be failed, queued or running"],
      );
    }
  });

  it('keeps the filter when asked to', async () => {
    const item = await makeItem({ data: Buffer.from('filtered') });
    const bundle = await postBundle(gateway.stack, [item]);
    await gateway.call('POST', 'queue-bundle', { id: bundle, bypassFilter: false });
    const status = await until('the bundle is met', async () => {
      const answer = await gateway.call('GET', `bundle-status/${bundle}`);
      return answer.status === 200 && (answer.body as Record<string, unknown>);
    });
    assert.deepEqual([status.state, status.lastUnbundledAt], ['skipped', null]);
    assert.equal(await find(item.id), null);
  });

  it('refuses what is no id, and queues nothing', async () => {
    const waiting = await gateway.inside.queue.waiting();
    const bad: [unknown, string][] = [
      [{}, "Must provide 'id'"],
      [[], "Must provide 'id'"],
      [null, "Must provide 'id'"],
      [{ id: 7 }, "Must provide 'id'"],
      [{ id: 'short' }, "Must provide 'id'"],
      [{ id: `${'A'.repeat(42)}B` }, "Must provide 'id'"],
      [{ id: unknown, bypassFilter: 'false' }, "'bypassFilter' must be a boolean"],
    ];
    for (const [body, words] of bad) {
      const answer = await gateway.call('POST', 'queue-bundle', body);
      assert.deepEqual([answer.status, answer.body], [400, words]);
    }
    for (const id of ['short', `${unknown}x`, `${'A'.repeat(42)}B`, `${unknown}%2F..`]) {
      const answer = await gateway.call('GET', `bundle-status/${id}`);
      assert.deepEqual([answer.status, answer.body], [400, 'Must provide a valid bundle id']);
    }
    assert.equal(await gateway.inside.queue.waiting(), waiting);
  });
});

describe('queue-tx', () => {
  it('keeps the wish until the chain has the transaction', async () => {
    const { transaction, post } = await makeTransaction(gateway.stack.node.url, Buffer.from('later'));
    const id = transaction.id.toString('base64url');
    const answer = await gateway.call('POST', 'queue-tx', { id });
    assert.deepEqual([answer.status, answer.body], [200, { message: 'TX queued' }]);
    const asked = () => gateway.inside.index.sql.all('SELECT id FROM asked_transactions');
    assert.equal((await asked()).length, 1);
    await post();
    await text(`${gateway.stack.node.url}/mine`);
    await until('the transaction is known', async () => (await find(id)) !== null);
    await until('the wish is gone', async () => (await asked()).length === 0);
  });

  it('refuses what is no id and what is no JSON', async () => {
    const answer = await gateway.call('POST', 'queue-tx', { id: 'short' });
    assert.deepEqual([answer.status, answer.body], [400, "Must provide 'id'"]);
    const broken = await fetch(`${gateway.url}/gw/admin/queue-tx`, {
      method: 'POST',
      headers: { authorization: `Bearer ${adminKey}`, 'content-type': 'application/json' },
      body: '{"id":',
    });
    assert.deepEqual([broken.status, await broken.json()], [400, 'Invalid JSON body']);
  });
});

describe('a full queue', () => {
  it('refuses more bundles with 429', async () => {
    const full = await startAdminGateway({ overrides: { BUNDLE_QUEUE_MAX: '1', START_WRITERS: 'false' } });
    try {
      assert.equal((await full.call('POST', 'queue-bundle', { id: unknown })).status, 200);
      const answer = await full.call('POST', 'queue-bundle', { id: `${'A'.repeat(42)}E` });
      assert.deepEqual([answer.status, answer.body], [429, 'Bundle importer queue is full']);
      assert.equal(await full.inside.queue.waiting(), 1);
    } finally {
      await full.stop();
    }
  });
});

describe('a database that is away', () => {
  it('is told as such, so that whoever asked comes again', async () => {
    const other = await startAdminGateway(never);
    try {
      await other.inside.index.sql.close();
      const calls = [
        ['POST', 'queue-bundle', { id: unknown }],
        ['GET', `bundle-status/${unknown}`, undefined],
        ['PUT', 'block-data', { id: unknown }],
        ['GET', 'prune-stable-data-items/status', undefined],
      ] as const;
      for (const [method, path, body] of calls) {
        const answer = await other.call(method, path, body);
        assert.equal(answer.status, 503, path);
        assert.equal(answer.headers.get('retry-after'), '5', path);
      }
    } finally {
      await other.stop();
    }
  });
});
