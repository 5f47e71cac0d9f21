import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { describe, it } from 'node:test';
import { collected } from '../../kernel/collected.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { endRestore, noteRestore } from '../bundler/after-restore.ts';
import { testMigrations } from '../testing.ts';
import { unknownBundles } from './unknown-bundles.ts';

describe('bundles that a restored ledger did not know', () => {
  forEachEngine((_engine, open) => {
    it('are taken in where all their items waited here, else left to a person with the reason', async (t) => {
      const sql = await open(testMigrations);
      const server = createServer((_request, response) => {
        const edges = ['made here', 'all here', 'some here', 'none here'].map((id) => ({
          ...{ cursor: id, node: { id, data: { size: '9' }, block: { timestamp: 50 } } },
        }));
        const transactions = { pageInfo: { hasNextPage: false }, edges };
        response.end(JSON.stringify({ data: { transactions } }));
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      t.after(() => {
        server.closeAllConnections();
        server.close();
      });
      for (const [id, others] of [
        ['made here', null],
        ['all here', 0],
        ['some here', 3],
      ] as const) {
        await sql.run(
          `INSERT INTO upload_bundles (plan, state, item_count, others, size, tx_id, seedings, attempts, due_at, created_at, changed_at)
           VALUES (?, 'seeded', 2, ?, 9, ?, 0, 0, 0, 0, 0)`,
          id,
          others,
          id,
        );
      }
      const gatewayUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      const told = async () => {
        const records = await collected(unknownBundles({ sql, gatewayUrl, wallets: [] }).unknown(0));
        return records.map(({ id, takenInBecause, openBecause }) => [
          id,
          takenInBecause && `taken in: ${takenInBecause}`,
          openBecause,
        ]);
      };
      const known = [
        ['all here', 'taken in: its items, 2, waited here and are not bundled again', undefined],
        [
          'some here',
          undefined,
          '2 of its items waited here and are not bundled again; 3 came after the backup: their receipts and what they cost are not here',
        ],
      ];
      await sql.transaction((tx) => noteRestore(tx, { since: 0, restoredAt: 1 }));
      assert.deepEqual(await told(), [
        ...known,
        [
          'none here',
          undefined,
          'the upload service still looks which of its items wait here: run it again later',
        ],
      ]);
      await sql.transaction(endRestore);
      assert.deepEqual(await told(), [
        ...known,
        [
          'none here',
          undefined,
          'its items came after the backup: they are on the chain; their receipts and what they cost are not here',
        ],
      ]);
    });
  });
});
