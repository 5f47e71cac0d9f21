/** The work of a gateway as a collector sees it. */
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeItem, postBundle, startAdminGateway } from '../../test/support/admin-gateway.ts';
import { makeTransaction, text, until } from '../../test/support/local-gateway.ts';
import { PlainCounter } from '../kernel/metrics.ts';
import { silentLog } from '../kernel/testing.ts';
import { type CollectedSpan, startCollector } from '../kernel/tracing/testing.ts';
import { startTracing } from '../kernel/tracing/tracing.ts';

test('fetching, unbundling and the operator’s jobs are spans inside what asked for them', async (t) => {
  const collector = await startCollector();
  t.after(() => collector.stop());
  const counters = { exported: new PlainCounter(), dropped: new PlainCounter() };
  const tracing = await startTracing({
    endpoint: collector.url,
    serviceName: 'gateway',
    serviceVersion: '1',
    ratio: 1,
    log: silentLog,
    counters,
    delayMs: 50,
  });
  t.after(() => tracing.stop());
  const gateway = await startAdminGateway();
  t.after(() => gateway.stop());
  const bundle = await postBundle(gateway.stack, [await makeItem({ data: Buffer.from('in a bundle') })]);
  const made = await makeTransaction(gateway.stack.node.url, Buffer.from('to be fetched'));
  await made.post();
  await text(`${gateway.stack.node.url}/mine/60`);
  const id = made.transaction.id.toString('base64url');
  await until('it is stable', async () => (await gateway.inside.index.locate(id))?.stable);
  assert.equal((await gateway.get(`/raw/${id}`)).body, 'to be fetched');
  await gateway.call('GET', 'debug');
  await gateway.call('POST', 'prune-stable-data-items', { indexedAtThreshold: 0 });
  await gateway.call('POST', 'export-parquet', {
    ...{ outputDir: 'traced', startHeight: 0, endHeight: 3, maxFileRows: 0 },
  });
  await until('the export ended', async () => {
    const { body } = await gateway.call('GET', 'export-parquet/status');
    return (body as { status: string }).status === 'completed';
  });

  // Work ends after its answer is out, or in the background: its span comes when it does.
  const one = (what: string, isIt: (span: CollectedSpan) => boolean) =>
    until(`there is a span: ${what}`, async () => collector.spans.find(isIt));
  const named = (name: string) => one(name, (span) => span.name === name);
  const parentOf = async ({ name, parentSpanId }: CollectedSpan) =>
    (await one(`the parent of ${name}`, ({ spanId }) => spanId === parentSpanId)).name;

  const fetched = await one(
    'fetch content',
    ({ name, attributes }) =>
      name === 'fetch content' &&
      attributes['turnpike.data.id'] === id &&
      attributes['turnpike.found'] === true,
  );
  assert.equal(await parentOf(fetched), 'GET /raw/:id');
  assert.equal(fetched.attributes['turnpike.data.size'], 13n);
  const asked = await one('asking', (span) => span.kind === 3 && span.parentSpanId === fetched.spanId);
  assert.match(String(asked.attributes['url.full']), new RegExp(`^${gateway.stack.node.url}/`));

  const unbundled = await one(
    'unbundle',
    ({ name, attributes }) => name === 'unbundle' && attributes['turnpike.bundle.id'] === bundle,
  );
  assert.deepEqual(
    [unbundled.attributes['turnpike.bundle.items'], unbundled.parentSpanId, unbundled.error],
    [1n, undefined, undefined],
  );
  assert.equal(await parentOf(await named('count for debug')), 'GET /gw/admin/debug');
  const pruned = await named('prune stable data items');
  assert.equal(await parentOf(pruned), 'POST /gw/admin/prune-stable-data-items');
  assert.equal(await parentOf(await named('export parquet')), 'POST /gw/admin/export-parquet');
  assert.deepEqual(collector.faults, []);
  assert.equal(counters.dropped.value, 0);
  await tracing.stop();
});
