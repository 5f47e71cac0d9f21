/** Transactions whose signature is good but binds nothing (version 1, ECDSA): no gateway can prove them by itself. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import { dataRootOf } from '../formats/arweave/data-root.ts';
import { newTransaction, type Transaction } from '../formats/arweave/transaction.ts';
import { transactionToJson } from '../formats/arweave/transaction-json.ts';
import { signTransactionAsync, signTransactionEcdsa } from '../formats/arweave/transaction-signature.ts';
import { testArweaveKey, testEthereumKey } from '../wallets/testing/keys.ts';
import { type RouterBench, startRouterBench } from './testing/router-bench.ts';
import { StubGateway } from './testing/stub-gateway.ts';

const random = seededRandom(78);
const tags = [{ name: 'Content-Type', value: 'text/markdown' }];
const versionOne = (data: Buffer) =>
  signTransactionAsync(
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

const held = async (
  make: (data: Buffer) => Transaction | Promise<Transaction>,
  bytes: number,
): Promise<Held> => {
  const data = random.bytes(bytes);
  const transaction = await make(data);
  return { transaction, data, path: `/${transaction.id.toString('base64url')}` };
};
const all = await Promise.all([
  held(versionOne, 5_000),
  held(versionOne, 900_000),
  held(byEcdsa, 5_000),
  held(byEcdsa, 900_000),
]);

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
async function gatewayOf(t: TestContext) {
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
      const { data } = one;
      response.writeHead(200, { 'content-length': data.length }).end(request.method === 'HEAD' ? '' : data);
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

test('one gateway is not enough for them, and it is not to blame', async (t) => {
  const bench = await benchOf(t, [await gatewayOf(t)]);
  for (let round = 0; round < 2; round += 1) {
    for (const { path } of all) {
      const got = await bench.get(path);
      assert.deepEqual([got.status, got.json().error], [502, 'VERIFICATION_FAILED']);
    }
  }
  const { gateways } = (await bench.get('/router/ready')).json();
  assert.deepEqual(gateways, { total: 1, healthy: 1, unhealthy: 0, circuitOpen: 0, maxGateways: 1_000 });
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
