/** What a gateway writes and signs, read by others: Parquet by DuckDB, signatures by an independent library. */
import assert from 'node:assert/strict';
import { createPublicKey, verify } from 'node:crypto';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { DuckDBInstance } from '@duckdb/node-api';
import { httpbis } from 'http-message-signatures';
import { type AdminGateway, makeItem, postBundle, startAdminGateway } from '../support/admin-gateway.ts';
import { text, until } from '../support/local-gateway.ts';

let gateway: AdminGateway;
let ids: string[];
before(async () => {
  gateway = await startAdminGateway({ overrides: { HTTPSIG_ENABLED: 'true' } });
  const items = await Promise.all(
    Array.from({ length: 500 }, (_, at) =>
      makeItem({ data: Buffer.from(`item ${at}`), tags: [{ name: 'Number', value: String(at) }] }),
    ),
  );
  ids = items.map(({ id }) => id);
  await postBundle(gateway.stack, items);
  await text(`${gateway.stack.node.url}/mine/60`);
  await until('all is stable and read', async () => {
    const last = await gateway.inside.index.locate(ids[499] ?? '');
    return gateway.inside.index.stableHeight >= 40 && last?.stable;
  });
});
after(() => gateway.stop());

test('DuckDB reads an export: types, counts, joins', async () => {
  await gateway.call('POST', 'export-parquet', {
    outputDir: 'duck',
    startHeight: 0,
    endHeight: 40,
    maxFileRows: 120,
    heightPartitionSize: 7,
  });
  const status = await until('the export ended', async () => {
    const { body } = await gateway.call('GET', 'export-parquet/status');
    const found = body as { status: string; error?: string };
    return found.status !== 'running' && found;
  });
  assert.deepEqual([status.status, status.error], ['completed', undefined]);
  const folder = join(gateway.stack.dataDir, 'parquet', 'duck');
  const connection = await (await DuckDBInstance.create(':memory:')).connect();
  const ask = async (statement: string) => (await connection.runAndReadAll(statement)).getRowsJson();
  const table = (name: string) => `read_parquet('${folder}/${name}/**/*.parquet', hive_partitioning = false)`;
  const types = async (name: string) =>
    Object.fromEntries(
      (await ask(`DESCRIBE SELECT * FROM ${table(name)}`)).map(([column, type]) => [column, type]),
    );
  assert.deepEqual(await types('blocks'), {
    indep_hash: 'BLOB',
    height: 'UBIGINT',
    previous_block: 'BLOB',
    nonce: 'BLOB',
    hash: 'BLOB',
    block_timestamp: 'BIGINT',
    tx_count: 'BIGINT',
    block_size: 'UBIGINT',
  });
  const transactions = await types('transactions');
  assert.deepEqual(
    ['quantity', 'block_transaction_index', 'format', 'owner_size', 'root_parent_offset', 'content_type'].map(
      (column) => transactions[column],
    ),
    ['DECIMAL(20,0)', 'USMALLINT', 'UTINYINT', 'UINTEGER', 'UBIGINT', 'VARCHAR'],
  );
  assert.deepEqual(await ask(`SELECT count(*)::INT, max(height)::INT FROM ${table('blocks')}`), [[41, 40]]);
  assert.deepEqual(
    await ask(
      `SELECT count(*)::INT, count(DISTINCT id)::INT FROM ${table('transactions')} WHERE is_data_item`,
    ),
    [[500, 500]],
  );
  const joined = await ask(
    `SELECT to_base64(t.id), decode(g.tag_value), (t.data_size)::INT FROM ${table('transactions')} t
     JOIN ${table('tags')} g ON g.id = t.id WHERE decode(g.tag_name) = 'Number'`,
  );
  assert.equal(joined.length, 500);
  for (const [id, number, size] of joined) {
    assert.equal(Buffer.from(String(id), 'base64').toString('base64url'), ids[Number(number)]);
    assert.equal(size, `item ${String(number)}`.length);
  }
});

test('an independent library verifies the signature of an answer', async () => {
  const path = `/raw/${ids[0]}`;
  const answer = await gateway.get(path);
  assert.equal(answer.status, 200);
  const headers = Object.fromEntries(answer.headers);
  const request = { method: 'GET', url: `${gateway.url}${path}`, headers: {} };
  const verifying = (body: { status: number; headers: Record<string, string> }) =>
    httpbis.verifyMessage(
      {
        keyLookup: async ({ keyid }) => {
          const x = String(keyid).replace(/^ed25519:/, '');
          const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
          return {
            id: String(keyid),
            algs: ['ed25519'],
            verify: async (data, signature) => verify(null, data, key, signature),
          };
        },
      },
      body,
      request,
    );
  assert.equal(await verifying({ status: 200, headers }), true);
  const forged = { ...headers, 'x-ar-io-data-id': ids[1] ?? '' };
  assert.equal(await verifying({ status: 200, headers: forged }), false);
});
