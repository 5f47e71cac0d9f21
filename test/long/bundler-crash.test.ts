/**
 * Two processes bundle from one database while each is killed, or stopped for longer than its leases and woken again, at any
 * moment: every item is on the chain once, and every bundle was paid for once.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { openBlobStore } from '../../src/storage/blobs/open.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { itOnEngine } from '../../src/storage/sql/testing.ts';
import { storeItems } from '../../src/upload/bundler/testing.ts';
import { testMigrations } from '../../src/upload/testing.ts';
import { testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { type NodeClient, startLocalArweave } from '../support/local-arweave.ts';
import { seededRandom } from '../support/seeded-random.ts';

const itemsOfBlow = 20;
const blows = ['kill', 'sleep', 'sleep', 'kill', 'sleep'] as const;
/** Longer than the leases of the processes. */
const sleepMs = 450;
const minted = 10n ** 18n;
const script = resolve(import.meta.dirname, '../support/bundler-process.ts');

async function startChild(args: readonly string[]): Promise<ChildProcess> {
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  await new Promise<void>((ready, failed) => {
    child.stdout?.once('data', () => ready());
    child.once('exit', () => failed(new Error('the bundler did not start')));
  });
  return child;
}

async function kill(child: ChildProcess): Promise<void> {
  assert.deepEqual([child.exitCode, child.signalCode], [null, null], 'it did not end by itself');
  const ended = new Promise((done) => child.once('exit', done));
  child.kill('SIGKILL');
  await ended;
}

/** Every item that the chain has, as often as it has it, and what the bundles cost. */
async function onChain(client: NodeClient): Promise<{ ids: string[]; bundles: string[]; cost: bigint }> {
  const ids: string[] = [];
  const bundles: string[] = [];
  let cost = 0n;
  const height = await client.height();
  for (let at = 0; at <= height; at += 1) {
    const { txs } = await client.json<{ txs: string[] }>(`/block/height/${at}`);
    for (const id of txs) {
      cost += BigInt((await client.json<{ reward: string }>(`/tx/${id}`)).reward);
      bundles.push(id);
      const header = parseBundleHeader(Buffer.from(await client.text(`/tx/${id}/data`), 'base64url'));
      assert.ok(typeof header !== 'string', String(header));
      for (let index = 0; index < header.count; index += 1) ids.push(header.id(index));
    }
  }
  return { ids, bundles, cost };
}

async function survives(databaseUrl: string | undefined, folder: string, name: string): Promise<void> {
  const random = seededRandom(171);
  const blobFolder = mkdtempSync(join(tmpdir(), 'turnpike-bundler-crash-'));
  const node = await startLocalArweave({ blockIntervalMs: 25, confirmBlocks: 3 });
  const sql = await openDatabase({ databaseUrl, dataDir: folder, name, migrations: testMigrations });
  const blobs = await openBlobStore({ blobStoreUrl: undefined, dataDir: blobFolder });
  const children: ChildProcess[] = [];
  try {
    await node.client.text(`/mint/${testArweaveKey.address}/${minted}`);
    const stored: string[] = [];
    const store = async () => {
      const sizes = Array.from({ length: itemsOfBlow }, (_, index) => (index % 5 === 0 ? 40_000 : 300));
      const payloads = sizes.map((size) => random.bytes(size));
      stored.push(...(await storeItems({ sql, blobs }, payloads, Date.now)).map(({ id }) => id));
    };
    const start = () => startChild([databaseUrl ?? '-', folder, name, blobFolder, node.client.url]);
    children.push(...(await Promise.all([start(), start()])));
    for (const blow of blows) {
      await store();
      await sleep(random.below(150));
      const index = random.below(2);
      const child = children[index];
      assert.ok(child);
      if (blow === 'kill') {
        await kill(child);
        children[index] = await start();
      } else {
        child.kill('SIGSTOP');
        await sleep(sleepMs);
        child.kill('SIGCONT');
      }
    }
    await eventually('all items to be permanent', async () => {
      const row = await sql.get<{ n: number }>(
        "SELECT COUNT(*) AS n FROM upload_items WHERE state <> 'permanent'",
      );
      return row?.n === 0;
    });
    const { ids, bundles, cost } = await onChain(node.client);
    assert.deepEqual(ids.toSorted(), stored.toSorted(), 'each item is there once');
    const rows = await sql.all<{ txId: string; state: string }>(
      'SELECT tx_id AS "txId", state FROM upload_bundles',
    );
    assert.deepEqual(
      bundles.toSorted(),
      rows.map(({ txId }) => txId).toSorted(),
      'each bundle was posted once',
    );
    assert.ok(rows.every(({ state }) => state === 'permanent'));
    assert.equal(await node.client.balance(testArweaveKey.address), minted - cost);
  } finally {
    await Promise.all(children.map(kill));
    await blobs.close();
    await sql.close();
    await node.stop();
    rmSync(blobFolder, { recursive: true, force: true });
  }
}

itOnEngine('bundles that killed and sleeping processes share are made once', survives);
