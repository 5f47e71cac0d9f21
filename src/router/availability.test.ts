/** Whether content is there, as the router says it: what gateways leave open is never an absence that caches keep. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { behave, benchOf, inTurn, small } from './testing/faulty-gateways.ts';
import { testItem } from './testing/stub-gateway.ts';

const kept = 'public, max-age=60, must-revalidate';
const methods = ['GET', 'HEAD'] as const;
const idOf = (text: string): string => createHash('sha256').update(text).digest('base64url');
const unsettled = { status: 404, headers: { 'cache-control': 'no-store' } };

for (const verification of ['true', 'false']) {
  test(`absence is what all gateways say, and only that may be kept (verification ${verification})`, async (t) => {
    const environment = { ...inTurn, VERIFICATION_ENABLED: verification };
    const bench = await benchOf(t, { environment });
    const says = async (what: string, status: number, cacheControl: string) => {
      for (const method of methods) {
        const got = await bench.get(`/${idOf(what)}`, { method });
        assert.deepEqual(
          [got.status, got.headers['cache-control']],
          [status, cacheControl],
          `${method} ${what}`,
        );
      }
    };
    await says('nobody has it', 404, kept);
    behave(bench, {}, unsettled);
    await says('one did not look everywhere', 404, 'no-store');
    behave(bench, {}, { status: 500 });
    await says('one failed', 502, 'no-store');
    behave(bench, {}, {});
    await bench.restart({ RETRY_ATTEMPTS: '2' });
    await says('one was not asked', 404, 'no-store');
  });
}

test('a name that gateways did not ask everybody for is not one that nobody has', async (t) => {
  const bench = await benchOf(t, { environment: { BASE_DOMAIN: 'rt.test' } });
  const ask = async (label: string) => (await bench.get('/', { host: `${label}.rt.test` })).status;
  assert.equal(await ask('nobody'), 404);
  behave(bench, unsettled, unsettled, unsettled);
  assert.equal(await ask('somebody'), 503);
});

test('content that was uploaded a moment ago is waited for, by GET and HEAD', async (t) => {
  const arriving = { proofless: true, headers: { 'x-ar-io-stable': 'false', 'x-ar-io-hops': '1' } };
  for (const method of methods) {
    const bench = await benchOf(t, { count: 1 });
    const [gateway] = bench.gateways;
    assert.ok(gateway !== undefined);
    const item = await testItem(`uploaded for ${method}`);
    gateway.items.set(item.id, item);
    behave(bench, arriving);
    // The announcement comes once a proof was asked for in vain.
    void gateway.served(/^POST \/graphql$/).then(() => behave(bench, { ...arriving, proofless: false }));
    const got = await bench.get(`/${item.id}`, { method });
    assert.equal(got.status, 200, method);
    if (method === 'GET') assert.ok(got.body.equals(item.data));
  }
});

test('what nobody can prove is not waited for, and is not promised to HEAD', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  const [gateway] = bench.gateways;
  const states = [
    {},
    { 'x-ar-io-stable': 'true', 'x-ar-io-hops': '1' },
    { 'x-ar-io-stable': 'false', 'x-ar-io-hops': '2' },
    { 'x-ar-io-stable': 'false', 'x-ar-io-hops': '1', 'x-arweave-owner-address': idOf('owner') },
  ];
  for (const headers of states) {
    behave(bench, { proofless: true, headers });
    for (const method of methods) {
      const before = gateway?.count(/graphql/) ?? 0;
      const got = await bench.get(`/${small.id}`, { method });
      assert.deepEqual(
        [got.status, got.headers['cache-control']],
        [502, 'no-store'],
        JSON.stringify(headers),
      );
      assert.equal(gateway?.count(/graphql/), before + 1, 'it is asked for once');
    }
  }
});
