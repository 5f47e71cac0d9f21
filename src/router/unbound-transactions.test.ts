/**
 * Transactions whose signature is good but binds nothing (version 1, ECDSA): with one gateway they are served on its
 * word and not as verified; with others beside it, those have to agree.
 */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { dataRootOf } from '../formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../formats/arweave/transaction.ts';
import { transactionToJson } from '../formats/arweave/transaction-json.ts';
import { signTransaction, signTransactionEcdsa } from '../formats/arweave/transaction-signature.ts';
import { seededRandom } from '../formats/testing/seeded-random.ts';
import { testArweaveKey, testEthereumKey } from '../wallets/testing/keys.ts';
import { type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { StubGateway } from './testing/stub-gateway.ts';

const random = seededRandom(78);
const tags = [{ name: 'Content-Type', value: 'text/markdown' }];
const versionOne = (data: Buffer) =>
  signTransaction(
    { ...newTransaction({ reward: 1_234n, tags }), format: 1, data, dataSize: data.length },
    testArweaveKey.privateKey,
  );
const byEcdsa = (data: Buffer) =>
  signTransactionEcdsa(
    newTransaction({ reward: 1_234n, tags, dataSize: data.length, dataRoot: dataRootOf(data) }),
    testEthereumKey,
  );

interface Held {
  readonly transaction: Transaction;
  readonly data: Buffer;
  readonly path: string;
}

const held = (make: (data: Buffer) => Transaction, bytes: number): Held => {
  const data = random.bytes(bytes);
  const transaction = make(data);
  return { transaction, data, path: `/${transaction.id.toString('base64url')}` };
};
const all = [
  held(versionOne, 5_000),
  held(versionOne, 900_000),
  held(byEcdsa, 5_000),
  held(byEcdsa, 900_000),
];

/** What an index says of a transaction, as of everything that is signed. */
function indexed(asked: string): string {
  const { transaction } = all.find(({ path }) => asked.includes(path.slice(1))) ?? {};
  if (transaction === undefined) return '{"data":{"transaction":null}}';
  const { signature, owner } = transaction;
  const node = {
    signature: signature.toString('base64url'),
    owner: { key: owner.toString('base64url') },
    tags,
  };
  return JSON.stringify({ data: { transaction: node } });
}

/** A gateway that has them, and knows no hash of them. */
async function gatewayOf(t: TestContext, change: (data: Buffer) => Buffer = (data) => data) {
  const server = createServer((request, response) => {
    const url = request.url ?? '';
    if (url === '/graphql') {
      let asked = '';
      request.on('data', (piece) => {
        asked += piece;
      });
      request.on('end', () => response.end(indexed(asked)));
      return;
    }
    const one = all.find(({ path }) => url.includes(path));
    if (one === undefined) response.writeHead(404).end();
    else if (url.startsWith('/tx/')) {
      response.end(JSON.stringify(transactionToJson(one.transaction, 'with data')));
    } else {
      const body = change(one.data);
      response.writeHead(200, { 'content-length': body.length }).end(request.method === 'HEAD' ? '' : body);
    }
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

async function benchOf(t: TestContext, others: readonly string[]): Promise<RouterBench> {
  const bench = await startRouterBench({ count: 0, others });
  t.after(() => bench.stop());
  return bench;
}

test('one gateway is taken at its word, and what it says is not called verified', async (t) => {
  const bench = await benchOf(t, [await gatewayOf(t)]);
  for (const { path, data } of all) {
    for (const time of ['first', 'second']) {
      const head = await bench.get(path, { method: 'HEAD' });
      assert.equal(head.headers['content-length'], String(data.length));
      const got = await bench.get(path);
      assert.equal(got.status, 200, `${time}: ${got.body.toString('utf8', 0, 200)}`);
      assert.ok(got.body.equals(data));
      assert.equal(got.headers['content-type'], 'text/markdown');
      assert.equal(got.headers['x-router-verified'], 'false');
      assert.equal(got.headers['cache-control'], 'no-store');
      assert.equal(got.headers['x-cache'], 'MISS', 'only what is proven is kept');
    }
    const part = await bench.get(path, { headers: { range: 'bytes=100-199' } });
    assert.equal(part.status, 206);
    assert.ok(part.body.equals(data.subarray(100, 200)));
    const many = await Promise.all(Array.from({ length: 5 }, () => bench.get(path)));
    assert.ok(many.every(({ body }) => body.equals(data)));
  }
});

test('bytes that are not those of the transaction are served by nobody', async (t) => {
  const bench = await benchOf(t, [await gatewayOf(t, (data) => Buffer.from(data).fill('x', 1_000, 1_010))]);
  for (const { path, data } of all) {
    const got = await bench.get(path).catch(() => undefined);
    assert.ok(got === undefined || got.status === 502 || got.body.length < data.length);
  }
});

test('where there are others, one gateway is not enough, and it is not to blame', async (t) => {
  const other = await new StubGateway().start();
  t.after(() => other.stop());
  const bench = await benchOf(t, [await gatewayOf(t), other.url]);
  for (let round = 0; round < 2; round += 1) {
    for (const { path } of all) {
      const got = await bench.get(path);
      assert.deepEqual([got.status, got.json().error], [502, 'VERIFICATION_FAILED']);
    }
  }
  const { gateways } = (await bench.get('/router/ready')).json();
  assert.deepEqual(gateways, { total: 2, healthy: 2, unhealthy: 0, circuitOpen: 0, maxGateways: 1_000 });
  const agreeing = await benchOf(t, [await gatewayOf(t), await gatewayOf(t)]);
  assert.equal((await agreeing.get(all[0]?.path ?? '')).status, 502, 'neither tells a hash');
});
