/** Bytes that fail their check are not always the gateway's fault: anybody can publish what nobody can serve rightly. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { dataRootOf } from '../formats/arweave/data-root.ts';
import { newTransaction } from '../formats/arweave/transaction.ts';
import { transactionToJson } from '../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../formats/arweave/transaction-signature.ts';
import { testArweaveKey } from '../wallets/testing/keys.ts';
import { behave, benchOf, download, large, small, wrongBytes } from './testing/faulty-gateways.ts';
import { startRouterBench } from './testing/router-bench.ts';
import { testItem } from './testing/stub-gateway.ts';

const countsOf = async (bench: { get(path: string): Promise<{ json(): Record<string, unknown> }> }) =>
  (await bench.get('/router/ready')).json().gateways as Record<string, number>;

/** A transaction over another root than that of its bytes, as every cut of them into odd chunks gives one. */
async function oddGateway(t: TestContext, bytes: number) {
  const data = Buffer.alloc(bytes, 'odd ');
  const transaction = await signTransactionAsync(
    newTransaction({ reward: 1n, dataSize: bytes, dataRoot: dataRootOf(Buffer.alloc(bytes, 'even')) }),
    testArweaveKey.privateKey,
  );
  const id = transaction.id.toString('base64url');
  const server = createServer((request, response) => {
    if (request.url === `/tx/${id}`) response.end(JSON.stringify(transactionToJson(transaction, 'header')));
    else if (request.url === `/raw/${id}`) {
      response.writeHead(200, { 'content-length': bytes }).end(request.method === 'HEAD' ? '' : data);
    } else response.writeHead(404).end();
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return { id, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

for (const bytes of [10_000, 1_000_000]) {
  test(`content of ${bytes} bytes that no check can fit takes no gateway out of service`, async (t) => {
    const { id, url } = await oddGateway(t, bytes);
    const bench = await startRouterBench({ count: 0, others: [url] });
    t.after(() => bench.stop());
    for (let round = 0; round < 5; round += 1) {
      const got = await bench.get(`/${id}`).catch(() => undefined);
      assert.ok(got === undefined || got.status === 502, 'nobody gets it for proven');
    }
    const { healthy, circuitOpen } = await countsOf(bench);
    assert.deepEqual({ healthy, circuitOpen }, { healthy: 1, circuitOpen: 0 });
  });
}

test('who sent other bytes than those that were then proven is in quarantine', async (t) => {
  for (const item of [small, large]) {
    const bench = await benchOf(t, { count: 2 });
    behave(bench, { ...wrongBytes, digest: () => undefined }, { digest: () => undefined });
    const [, honest] = bench.gateways;
    honest?.items.delete(item.id);
    const first = await download(bench, item);
    assert.ok(first === undefined || first.status === 502, 'nobody has what is right');
    assert.equal((await countsOf(bench)).circuitOpen, 0, 'and nobody is to blame yet');
    honest?.items.set(item.id, item);
    assert.ok((await download(bench, item))?.body.equals(item.data), 'who was wrong is asked last');
    assert.equal((await countsOf(bench)).circuitOpen, 1);
    const other = await testItem('something else');
    honest?.items.set(other.id, other);
    assert.equal((await bench.get(`/${other.id}`)).status, 200, 'the other one is not');
  }
});

test('a body that ended early without having promised more is no lie', async (t) => {
  const bench = await benchOf(t, { count: 2 });
  behave(bench, { truncateTo: 1_000_000, digest: () => undefined }, { digest: () => undefined });
  const [, honest] = bench.gateways;
  honest?.items.delete(large.id);
  const first = await download(bench, large);
  assert.ok(first === undefined || first.status === 502, 'what is cut off does not look whole');
  honest?.items.set(large.id, large);
  assert.ok((await download(bench, large))?.body.equals(large.data));
  assert.equal((await countsOf(bench)).circuitOpen, 0);
});
