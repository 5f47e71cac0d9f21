/** What an operator is told about a gateway that sends wrong bytes. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestContentType } from '../formats/manifest/manifest.ts';
import {
  behave,
  benchOf,
  download,
  inTurn,
  large,
  lying,
  small,
  wrongBytes,
} from './testing/faulty-gateways.ts';
import type { RouterBench } from './testing/router-bench.ts';
import { type Behaviour, testItem } from './testing/stub-gateway.ts';

/** The values of a metric by their labels. */
async function metricOf(bench: RouterBench, name: string): Promise<Map<string, number>> {
  const lines = (await bench.get('/router/metrics')).body.toString().split('\n');
  const values = lines.filter((line) => line.startsWith(`${name}{`));
  return new Map(
    values.map((line) => {
      const [, labels = '', value] = /^\w+\{(.*)\} (\S+)$/.exec(line) ?? [];
      return [labels, Number(value)];
    }),
  );
}

async function statsOf(bench: RouterBench, origin: string): Promise<Record<string, unknown> | undefined> {
  const { gateways } = (await bench.get('/router/stats/gateways')).json();
  return (gateways as Record<string, unknown>[]).find(({ gateway }) => gateway === origin);
}

for (const item of [small, large]) {
  test(`a liar is named, and its ${item.data.length} wrong bytes are no success`, async (t) => {
    const bench = await benchOf(t, { environment: inTurn });
    behave(bench, lying);
    const [liar, honest] = bench.gateways;
    assert.ok(liar !== undefined && honest !== undefined);
    const quarantined = (): Promise<Map<string, number>> => metricOf(bench, 'router_gateway_quarantined');
    assert.deepEqual([...(await quarantined()).values()], [0, 0, 0]);
    await download(bench, item);
    assert.equal((await quarantined()).get(`gateway="${liar.url}",reason="wrong-bytes"`), 1);
    assert.equal((await quarantined()).get(`gateway="${honest.url}",reason="none"`), 0);
    assert.deepEqual(
      [...(await metricOf(bench, 'router_gateway_lies_total'))],
      [[`gateway="${liar.url}"`, 1]],
    );
    const attempts = await metricOf(bench, 'router_upstream_attempts_total');
    const content = `gateway="${liar.url}",role="content"`;
    assert.equal(attempts.get(`${content},outcome="wrong"`), 1);
    assert.equal(attempts.get(`${content},outcome="success"`), undefined);
    const stats = await statsOf(bench, liar.url);
    assert.ok(Number(stats?.successRate) < 1 && Number(stats?.errorRate) > 0);
    assert.ok((await download(bench, item))?.body.equals(item.data));
    assert.equal((await statsOf(bench, honest.url))?.errorRate, 0);
    const { body } = await bench.get(`/router/stats/gateways/${encodeURIComponent(liar.url)}`);
    const { hourlyStats } = JSON.parse(body.toString()) as { hourlyStats: Record<string, unknown>[] };
    assert.deepEqual([hourlyStats[0]?.verificationFailed, hourlyStats[0]?.serverErrors], [1, 1]);
  });
}

test('bytes of which it is not certain who is wrong are neither a success nor a failure', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  behave(bench, wrongBytes);
  const [gateway] = bench.gateways;
  assert.ok(gateway !== undefined);
  assert.equal((await bench.get(`/${small.id}`)).status, 502);
  const attempts = await metricOf(bench, 'router_upstream_attempts_total');
  assert.equal(attempts.get(`gateway="${gateway.url}",role="content",outcome="unproven"`), 1);
  assert.equal((await metricOf(bench, 'router_gateway_lies_total')).size, 0);
  const stats = await statsOf(bench, gateway.url);
  assert.ok(Number(stats?.successRate) < 1);
  assert.equal(stats?.errorRate, 0);
  assert.equal((await bench.get(`/${small.id}`)).status, 502);
  const picks = await metricOf(bench, 'router_first_picks_total');
  assert.deepEqual(
    [...picks.values()],
    [2],
    'who is asked last for an id is asked first where nobody else is',
  );
});

test('a body that breaks off is one attempt that failed', async (t) => {
  for (const verification of ['true', 'false']) {
    const bench = await benchOf(t, {
      count: 2,
      environment: { ...inTurn, VERIFICATION_ENABLED: verification },
    });
    behave(bench, { resetAfter: 3 });
    const [broken] = bench.gateways;
    assert.ok(broken !== undefined);
    await download(bench, small);
    const attempts = await metricOf(bench, 'router_upstream_attempts_total');
    const content = [...attempts].filter(([labels]) =>
      labels.startsWith(`gateway="${broken.url}",role="content"`),
    );
    assert.deepEqual(content, [[`gateway="${broken.url}",role="content",outcome="connection_error"`, 1]]);
  }
});

test('who was asked first is told by strategy', async (t) => {
  const bench = await benchOf(t, { count: 2, environment: { ...inTurn, VERIFICATION_ENABLED: 'false' } });
  behave(bench, { status: 500 });
  for (let round = 0; round < 4; round += 1) assert.equal((await bench.get(`/${small.id}`)).status, 200);
  assert.deepEqual(
    [...(await metricOf(bench, 'router_first_picks_total'))],
    bench.gateways.map(({ url }) => [`strategy="round-robin",gateway="${url}"`, 2]),
  );
});

for (const item of [small, large]) {
  test(`HEAD tells no length of ${item.data.length} bytes that one gateway made up`, async (t) => {
    const bench = await benchOf(t, { environment: inTurn });
    // No hashes: a signature is what proves the content, and it says nothing of the length.
    const silent: Behaviour = { digest: () => undefined };
    behave(bench, { ...silent, bytes: () => Buffer.from('too busy') }, silent, silent);
    const head = await bench.get(`/${item.id}`, { method: 'HEAD' });
    assert.equal(head.status, 200);
    const told = head.headers['content-length'];
    assert.ok(told === undefined || told === String(item.data.length), `told ${told}`);
    if (item === small) assert.equal(head.headers['x-router-verified'], 'true');
  });
}

test('HEAD of large content that only a signature proves tells no length', async (t) => {
  const bench = await benchOf(t, { count: 1 });
  behave(bench, { bytes: ({ data }) => Buffer.concat([data, data]) });
  const head = await bench.get(`/${large.id}`, { method: 'HEAD' });
  assert.equal(head.status, 200);
  assert.equal(head.headers['content-length'], undefined);
  assert.equal(head.headers['x-router-verified'], 'false');
  assert.equal(bench.gateways[0]?.count(/GET \/raw/), 0);
});

for (const item of [small, large]) {
  test(`HEAD tells no hash of ${item.data.length} bytes that the gateway which has them denies`, async (t) => {
    const bench = await benchOf(t, { environment: inTurn });
    const [, , without] = bench.gateways;
    without?.items.clear();
    // Nobody has signed fields, and one of two voices is a liar's.
    behave(bench, { proofless: true }, { ...lying, bytes: ({ data }) => data, proofless: true });
    for (const _turn of bench.gateways) {
      const { status, headers } = await bench.get(`/${item.id}`, { method: 'HEAD' });
      assert.equal(status, 200);
      const told = headers['x-ar-io-digest'];
      assert.ok(told === undefined || told === item.digest, `told ${told}`);
      assert.doesNotMatch(String(headers['content-type']), /html/);
    }
  });
}

test('a type that one gateway made up is not that of content which its word alone proves', async (t) => {
  const bench = await benchOf(t, { environment: inTurn });
  const [, , without] = bench.gateways;
  without?.items.clear();
  behave(bench, { proofless: true }, { proofless: true, contentType: 'text/html' });
  const { status, headers } = await bench.get(`/${small.id}`);
  assert.equal(status, 200);
  assert.equal(headers['x-router-verification-method'], 'single');
  assert.equal(headers['content-type'], 'application/octet-stream');
});

for (const having of [2, 3]) {
  test(`content is neither page nor manifest where ${having} gateways have it and differ about that`, async (t) => {
    const page = await testItem('<p>the page</p>', 'text/html');
    const paths = { a: { id: page.id } };
    const manifest = await testItem(
      JSON.stringify({ manifest: 'arweave/paths', version: '0.2.0', index: { path: 'a' }, paths }),
      manifestContentType,
    );
    const bench = await benchOf(t, { items: [manifest, page], environment: inTurn });
    for (const gateway of bench.gateways.slice(having)) gateway.items.clear();
    behave(bench, { proofless: true }, { proofless: true, contentType: 'text/plain' }, { proofless: true });
    for (const method of ['GET', 'HEAD'] as const) {
      for (const _turn of bench.gateways) {
        const { status, headers } = await bench.get(`/${manifest.id}/`, { method });
        // Two of three may agree.
        const isPage = having === 3 && status === 200 && headers['x-ar-io-data-id'] === page.id;
        assert.ok(status === 502 || isPage, `${method}: ${status}, ${headers['content-type']}`);
      }
    }
    behave(bench, {}, {}, {});
    assert.ok((await bench.get(`/${manifest.id}/`)).body.equals(page.data));
  });
}

test('the gateway that has the content is asked for what its owner signed, however many have not', async (t) => {
  const bench = await benchOf(t, { count: 5, environment: { ...inTurn, RETRY_ATTEMPTS: '5' } });
  for (const gateway of bench.gateways.slice(0, -1)) gateway.items.clear();
  const { status, headers, body } = await bench.get(`/${small.id}`);
  assert.equal(status, 200);
  assert.equal(headers['x-router-verification-method'], 'signature');
  assert.ok(body.equals(small.data));
});
