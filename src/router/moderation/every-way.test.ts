/**
 * Every way to blocked bytes through the router, one by one: each serves them before the block, none while it holds, each
 * again when it is lifted. Blocked at the router by id and name, and at a gateway that it follows by id, hash and name;
 * with verification and without.
 */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { BlockSet, type Place } from '../../delivery/moderation/block-set.ts';
import { encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { type GetOptions, type RouterBench, startRouterBench } from '../testing/router-bench.ts';
import { type StubGateway, type TestItem, testItem } from '../testing/stub-gateway.ts';

const token = 'moderation-token-of-the-test';
const manifestType = 'application/x.arweave-manifest+json';

class FollowedSet extends BlockSet {
  problems(): readonly string[] {
    return [];
  }
}

function bundleOf(items: readonly TestItem[]): { bytes: Buffer; offsets: number[] } {
  const header = encodeBundleHeader(
    items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
  );
  let at = header.length;
  const offsets = items.map(({ bytes }) => {
    at += bytes.length;
    return at - bytes.length;
  });
  return { bytes: Buffer.concat([header, ...items.map(({ bytes }) => bytes)]), offsets };
}

const placementAt = (root: string, offset: number, item: TestItem): Record<string, string> => ({
  'x-ar-io-root-transaction-id': root,
  'x-ar-io-root-item-offset': String(offset),
  'x-ar-io-root-data-offset': String(offset + item.header.length),
  'x-ar-io-root-item-size': String(item.bytes.length),
});

interface World {
  readonly guilty: TestItem;
  readonly innocent: TestItem;
  readonly bundle: TestItem;
  /** Where the guilty item's bytes lie in the bundle. */
  readonly place: Place;
  /** An item that is a bundle, with the guilty one in it, in another transaction. */
  readonly nested: TestItem;
  readonly outer: TestItem;
  readonly nestedPlace: Place;
  readonly site: TestItem;
  furnish(gateway: StubGateway): void;
}

async function makeWorld(): Promise<World> {
  const guilty = await testItem('guilty bytes '.repeat(20));
  const innocent = await testItem('innocent bytes '.repeat(20));
  const { bytes, offsets } = bundleOf([innocent, guilty]);
  const bundle = await testItem(bytes, 'application/octet-stream');
  const [, offset = 0] = offsets;
  const start = offset + guilty.header.length;
  const place = { id: guilty.id, root: bundle.id, start, end: start + guilty.data.length };
  const inner = bundleOf([guilty]);
  const nested = await testItem(inner.bytes, 'application/octet-stream');
  const around = bundleOf([innocent, nested]);
  const outer = await testItem(around.bytes, 'application/octet-stream');
  const [, nestedOffset = 0] = around.offsets;
  const deep = nestedOffset + nested.header.length + (inner.offsets[0] ?? 0) + guilty.header.length;
  const nestedPlace = { id: guilty.id, root: outer.id, start: deep, end: deep + guilty.data.length };
  const pages = { a: { id: guilty.id }, b: { id: innocent.id } };
  const site = await testItem(
    JSON.stringify({ manifest: 'arweave/paths', version: '0.2.0', index: { path: 'a' }, paths: pages }),
    manifestType,
  );
  const chunk = (id: string, from: number, size: number) => ({
    headers: {
      'x-arweave-chunk-tx-id': id,
      'x-arweave-chunk-relative-start-offset': String(from),
      'content-type': 'application/octet-stream',
    },
    body: 'c'.repeat(size),
  });
  return {
    guilty,
    innocent,
    bundle,
    place,
    nested,
    outer,
    nestedPlace,
    site,
    furnish(gateway) {
      for (const item of [guilty, innocent, bundle, nested, outer, site]) gateway.items.set(item.id, item);
      gateway.placements.set(guilty.id, placementAt(bundle.id, offset, guilty));
      gateway.placements.set(innocent.id, placementAt(bundle.id, offsets[0] ?? 0, innocent));
      gateway.placements.set(nested.id, placementAt(outer.id, nestedOffset, nested));
      gateway.names.set('thing', { id: guilty.id, ttlSeconds: 60 });
      gateway.names.set('under_thing', { id: guilty.id, ttlSeconds: 60 });
      gateway.names.set('pages', { id: site.id, ttlSeconds: 60 });
      for (const id of [guilty.id, bundle.id]) {
        gateway.others.set(`/tx/${id}`, { body: JSON.stringify({ id, data: 'Z3VpbHR5' }) });
        gateway.others.set(`/tx/${id}/data`, { body: 'Z3VpbHR5' });
        gateway.others.set(`/tx/${id}/status`, { body: '{}' });
      }
      gateway.others.set('/chunk/1000/data', chunk(bundle.id, 0, bundle.data.length));
      gateway.others.set('/chunk/1000', { body: '{"chunk":""}' });
      gateway.others.set('/chunk/2000/data', chunk(guilty.id, 0, guilty.data.length));
      gateway.others.set('/chunk/2000', { body: '{"chunk":""}' });
      gateway.others.set('/chunk/3000/data', chunk(bundle.id, bundle.data.length, 10));
      gateway.others.set('/chunk/3000', { body: '{"chunk":""}' });
      gateway.others.set('/chunk/4000', { body: '{"chunk":""}' });
    },
  };
}

type Ways = Record<string, readonly [string, GetOptions?]>;

/** To the bytes of the guilty item itself. */
function waysTo({ guilty, site }: World): Ways {
  const head = { method: 'HEAD' } as const;
  return {
    'the id': [`/${guilty.id}`],
    'the raw id': [`/raw/${guilty.id}`],
    'HEAD of the id': [`/${guilty.id}`, head],
    'HEAD of the raw id': [`/raw/${guilty.id}`, head],
    'a range': [`/raw/${guilty.id}`, { headers: { range: 'bytes=2-5' } }],
    'a redirect': [`/raw/${guilty.id}?mode=route`],
    'a manifest’s child': [`/${site.id}/a`],
    'HEAD of a manifest’s child': [`/${site.id}/a`, head],
    'a manifest’s index': [`/${site.id}/`],
    'a redirect to a manifest’s child': [`/${site.id}/a?mode=route`],
    'a redirect to a manifest’s index': [`/${site.id}/?mode=route`],
    'a name': ['/', { host: 'thing.localhost' }],
    'an undername': ['/', { host: 'under_thing.localhost' }],
    'a redirect of a name': ['/?mode=route', { host: 'thing.localhost' }],
    'a manifest below a name': ['/a', { host: 'pages.localhost' }],
    'a redirect to the index below a name': ['/?mode=route', { host: 'pages.localhost' }],
    'the data of the transaction': [`/tx/${guilty.id}/data`],
    'the transaction, whose JSON has its data': [`/tx/${guilty.id}`],
    'a chunk of it': ['/chunk/2000'],
    'HEAD of a chunk of it': ['/chunk/2000', head],
    'the bytes of a chunk of it': ['/chunk/2000/data'],
  };
}

/** To the same bytes as a part of bundles. */
function waysByBundle({ bundle, place, nested, outer, nestedPlace }: World): Ways {
  const within = { headers: { range: `bytes=${place.start + 3}-${place.start + 9}` } };
  const several = { headers: { range: `bytes=0-3,${place.end - 1}-${place.end - 1}` } };
  const deep = { headers: { range: `bytes=${nestedPlace.start}-${nestedPlace.start + 4}` } };
  return {
    'the bundle': [`/${bundle.id}`],
    'the raw bundle': [`/raw/${bundle.id}`],
    'HEAD of the bundle': [`/raw/${bundle.id}`, { method: 'HEAD' }],
    'a range into the bundle': [`/raw/${bundle.id}`, within],
    'a range into the bundle at its address': [`/${bundle.id}`, within],
    'several ranges, one of them into it': [`/raw/${bundle.id}`, several],
    'a redirect to the bundle': [`/raw/${bundle.id}?mode=route`],
    'the data of the bundle': [`/tx/${bundle.id}/data`],
    'the bundle’s transaction, whose JSON has its data': [`/tx/${bundle.id}`],
    'a chunk of the bundle': ['/chunk/1000'],
    'the bytes of a chunk of the bundle': ['/chunk/1000/data'],
    'a bundle in a bundle': [`/raw/${nested.id}`],
    'the bundle around the bundle': [`/raw/${outer.id}`],
    'a range into the bundle around the bundle': [`/raw/${outer.id}`, deep],
  };
}

/** What is open all the time. */
function waysElsewhere({ innocent, bundle, place, site }: World): Ways {
  return {
    'another item of the bundle': [`/raw/${innocent.id}`],
    'the bytes before the item': [`/raw/${bundle.id}`, { headers: { range: `bytes=0-${place.start - 1}` } }],
    'another page of the site': [`/${site.id}/b`],
    'a redirect to another page': [`/${site.id}/b?mode=route`],
    'the status of the bundle': [`/tx/${bundle.id}/status`],
    'another chunk of the bundle': ['/chunk/3000'],
  };
}

for (const verification of ['true', 'false'])
  describe(`blocked bytes ${verification === 'true' ? 'with' : 'without'} verification`, () => {
    const followed = new FollowedSet();
    let world: World;
    let bench: RouterBench;
    before(async () => {
      world = await makeWorld();
      bench = await startRouterBench({
        followed,
        environment: { MODERATION_ADMIN_TOKEN: token, VERIFICATION_ENABLED: verification },
      });
      for (const gateway of bench.gateways) world.furnish(gateway);
    });
    after(() => bench.stop());

    async function assertAll(ways: Ways, isRight: (status: number) => boolean, words: string): Promise<void> {
      for (const [way, [path, options]] of Object.entries(ways)) {
        const { status, body } = await bench.get(path, options);
        assert.ok(isRight(status), `${way} ${words}: ${status}`);
        if (status >= 400) assert.ok(!body.includes('guilty'), `${way} gives nothing away`);
      }
    }
    const assertOpen = (ways: Ways) =>
      assertAll(ways, (status) => [200, 206, 302].includes(status), 'is open');
    const assertClosed = (ways: Ways) => assertAll(ways, (status) => status === 403, 'is closed');
    const byBundle = (): Ways => {
      const { 'several ranges, one of them into it': several, ...ways } = waysByBundle(world);
      // Passed on as they are asked for, and these gateways answer the first range alone.
      return verification === 'false' || several === undefined ? ways : { ...ways, several };
    };
    const all = () => ({ ...waysTo(world), ...byBundle() });
    /** Several times: the last answers may come from memory. */
    async function assertAllOpen(): Promise<void> {
      for (let round = 0; round < 3; round += 1) await assertOpen({ ...all(), ...waysElsewhere(world) });
    }
    const moderate = async (method: 'POST' | 'DELETE', path: string, json?: object) => {
      const got = await bench.get(`/router/moderation${path}`, {
        method,
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        ...(json !== undefined && { body: JSON.stringify(json) }),
      });
      assert.equal(got.status, 200, got.body.toString());
    };

    test('an id blocked at the router is closed on every way, and stays so through a restart', async () => {
      await assertAllOpen();
      const { guilty, bundle, place } = world;
      await moderate('POST', '/block', { type: 'txid', value: guilty.id, reason: 'test' });
      // A gateway tells one place of an item: the other bundle is not known to hold it.
      const known = Object.fromEntries(
        Object.entries(byBundle()).filter(([way]) => !/in a bundle|around/.test(way)),
      );
      for (let round = 0; round < 2; round += 1) {
        await assertClosed({ ...waysTo(world), ...known });
        await assertOpen(waysElsewhere(world));
        const [entry] = JSON.parse(readFileSync(join(bench.dataDir, 'blocklist.json'), 'utf8')).entries;
        assert.deepEqual(entry.place, { root: bundle.id, start: place.start, end: place.end });
        // The gateways need not tell it again.
        for (const gateway of bench.gateways) gateway.placements.delete(guilty.id);
        await bench.restart();
      }
      for (const gateway of bench.gateways) world.furnish(gateway);
      await moderate('DELETE', `/block/txid/${guilty.id}`);
      await assertAllOpen();
    });

    test('what a followed gateway blocks by id is closed from the next request on, and open when it lifts it', async () => {
      const { guilty, place, nestedPlace } = world;
      await assertAllOpen();
      followed.replace({ ids: [guilty.id], hashes: [], names: [] });
      followed.places.replace([place, nestedPlace]);
      await assertClosed(all());
      await assertOpen(waysElsewhere(world));
      followed.replace({ ids: [], hashes: [], names: [] });
      followed.places.replace([]);
      await assertAllOpen();
    });

    test('what it blocks by hash is closed under every id, with the bundles it lies in', async () => {
      const { guilty, place, nestedPlace } = world;
      followed.replace({ ids: [], hashes: [guilty.digest], names: [] });
      followed.places.replace([place, nestedPlace]);
      await assertClosed(all());
      await assertOpen(waysElsewhere(world));
      followed.replace({ ids: [], hashes: [world.site.digest], names: [] });
      followed.places.replace([]);
      await assertClosed({ 'a page of the manifest': [`/${world.site.id}/b`] });
      followed.replace({ ids: [], hashes: [], names: [] });
      await assertAllOpen();
    });

    test('content whose hash nobody tells is read to its end before its first byte leaves', async () => {
      const large = await testItem(Buffer.alloc(700_000, 'large and guilty '), 'text/plain');
      const fine = await testItem(Buffer.alloc(700_000, 'large and fine '), 'text/plain');
      for (const gateway of bench.gateways) {
        for (const item of [large, fine]) gateway.items.set(item.id, item);
        gateway.behaviour = { digest: () => undefined };
      }
      followed.replace({ ids: [], hashes: [large.digest], names: [] });
      await assertClosed({
        'the large one': [`/raw/${large.id}`],
        'HEAD of the large one': [`/raw/${large.id}`, { method: 'HEAD' }],
        'a range of it': [`/raw/${large.id}`, { headers: { range: 'bytes=0-9' } }],
      });
      assert.deepEqual((await bench.get(`/raw/${fine.id}`)).body, fine.data);
      followed.replace({ ids: [], hashes: [], names: [] });
      for (const gateway of bench.gateways) gateway.behaviour = {};
      assert.deepEqual((await bench.get(`/raw/${large.id}`)).body, large.data);
    });

    test('what it blocks by name is closed with its undernames', async () => {
      followed.replace({ ids: [], hashes: [], names: ['thing'] });
      const { 'a name': name, 'an undername': under, 'a redirect of a name': sent } = waysTo(world);
      assert.ok(name && under && sent);
      await assertClosed({ name, under, sent });
      const check = (await bench.get('/router/moderation/check/arns/thing')).json();
      assert.equal(check.blocked, true);
      const lifted = await bench.get('/router/moderation/block/arns/thing', {
        method: 'DELETE',
        headers: { authorization: `Bearer ${token}` },
      });
      assert.equal(lifted.status, 409, 'it is lifted where it was blocked');
      followed.replace({ ids: [], hashes: [], names: [] });
      await assertOpen({ name, under, sent });
    });

    test('a chunk of which no gateway tells the transaction is not passed on while anything is blocked', async () => {
      assert.equal((await bench.get('/chunk/4000')).status, 200);
      followed.replace({ ids: [world.guilty.id], hashes: [], names: [] });
      assert.equal((await bench.get('/chunk/4000')).status, 404);
      for (const gateway of bench.gateways) gateway.others.set('/chunk/4000/data', { body: 'c' });
      assert.equal((await bench.get('/chunk/4000')).status, 502);
      followed.replace({ ids: [], hashes: [], names: [] });
      assert.equal((await bench.get('/chunk/4000')).status, 200);
    });
  });

describe('where a blocked item lies', () => {
  test('is asked for again until a gateway knows it, and not believed where the item is not', async (t) => {
    const world = await makeWorld();
    const { guilty, bundle, place, innocent } = world;
    const bench = await startRouterBench({ environment: { MODERATION_ADMIN_TOKEN: token }, count: 2 });
    t.after(() => bench.stop());
    for (const gateway of bench.gateways) {
      world.furnish(gateway);
      // Of something else: the bundle's other item lies there.
      gateway.placements.set(guilty.id, placementAt(bundle.id, 32 + 2 * 64, innocent));
    }
    const block = { type: 'txid', value: guilty.id, reason: 'test' };
    await bench.get('/router/moderation/block', {
      method: 'POST',
      headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
      body: JSON.stringify(block),
    });
    assert.equal((await bench.get(`/raw/${guilty.id}`)).status, 403);
    assert.equal((await bench.get(`/raw/${innocent.id}`)).status, 200);
    assert.equal((await bench.get(`/raw/${bundle.id}`)).status, 200, 'no gateway knows that it is in there');
    for (const gateway of bench.gateways) world.furnish(gateway);
    await eventually(
      'the bundle is closed',
      async () => (await bench.get(`/raw/${bundle.id}`)).status === 403,
    );
    const range = `bytes=${place.end}-`;
    assert.equal((await bench.get(`/raw/${bundle.id}`, { headers: { range } })).status, 416);
  });
});

describe('content that gateways refuse', () => {
  test('is 451 when nobody serves it, and asked of others where a stranger refuses', async (t) => {
    const item = await testItem('refused somewhere');
    const bench = await startRouterBench({ items: [item], environment: { ROUTING_STRATEGY: 'round-robin' } });
    t.after(() => bench.stop());
    const [first, second, third] = bench.gateways;
    assert.ok(first && second && third);
    first.behaviour = { status: 451 };
    assert.equal((await bench.get(`/raw/${item.id}`)).status, 200);
    const other = await testItem('refused everywhere');
    for (const gateway of [second, third]) gateway.behaviour = { status: 451 };
    for (const [path, options] of [
      [`/raw/${other.id}`, {}],
      [`/raw/${other.id}`, { method: 'HEAD' }],
      [`/tx/${other.id}/data`, {}],
      ['/chunk/7', {}],
      ['/', { host: 'refused.localhost' }],
    ] as const) {
      const got = await bench.get(path, options);
      assert.equal(got.status, 451, path);
      assert.equal(got.headers['cache-control'], 'no-store');
    }
    second.behaviour = {};
    third.behaviour = { status: 500 };
    second.items.set(other.id, other);
    assert.equal((await bench.get(`/raw/${other.id}`)).status, 200, 'one of them serves it');
  });

  test('is not asked of strangers where the operator’s own gateway refuses it', async (t) => {
    const item = await testItem('refused at home');
    const bench = await startRouterBench({ items: [item], count: 2 });
    t.after(() => bench.stop());
    const [own, stranger] = bench.gateways;
    assert.ok(own && stranger);
    own.behaviour = { status: 451 };
    await bench.restart({ MODERATION_FOLLOW_URL: own.url, ROUTING_STRATEGY: 'round-robin' });
    assert.equal((await bench.get(`/raw/${item.id}`)).status, 451);
    assert.equal(stranger.count(/^GET \/raw/), 0);
  });
});
