/**
 * `kill -9` at any moment: nothing acknowledged is lost, nothing is charged twice, everything reaches the chain, and every
 * gateway, however often it fails, is told of it.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { request } from 'undici';
import { winc } from '../../src/credits/credits.ts';
import { createCredits } from '../../src/credits/ledger/ledger.ts';
import { toldWallets } from '../../src/events/testing-wallets.ts';
import { startTestS3 } from '../../src/storage/blobs/s3/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { startTestUpload, testMigrations } from '../../src/upload/testing.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey, testArweaveKey } from '../../src/wallets/testing/keys.ts';
import { startLocalArweave } from '../support/local-arweave.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { startToldGateways, told } from '../support/told-gateways.ts';

const signer = solanaSigner(ed25519TestKey('crash'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(4242);
const given = 10n ** 12n;
const kills = 6;

function openLedger(folder: string) {
  return openDatabase({
    databaseUrl: undefined,
    dataDir: folder,
    name: 'ledger',
    migrations: testMigrations,
  });
}

async function startChild(...args: readonly string[]): Promise<{ child: ChildProcess; url: string }> {
  const script = resolve(import.meta.dirname, '../support/upload-process.ts');
  const child = spawn(process.execPath, [script, ...args], { stdio: ['ignore', 'pipe', 'inherit'] });
  const url = await new Promise<string>((done, failed) => {
    child.stdout?.once('data', (text: Buffer) => done(text.toString().trim()));
    child.once('exit', () => failed(new Error('the upload surface did not start')));
  });
  return { child, url };
}

for (const store of ['files', 'a bucket'] as const) {
  test(`a surface over ${store} that is killed again and again loses nothing and charges nothing twice`, async () => {
    const s3 = store === 'a bucket' ? await startTestS3() : undefined;
    try {
      await killAgainAndAgain(s3?.url);
    } finally {
      await s3?.close();
    }
  });
}

async function killAgainAndAgain(blobStoreUrl: string | undefined): Promise<void> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-crash-'));
  const node = await startLocalArweave({ blockIntervalMs: 20, confirmBlocks: 4 });
  await node.client.text(`/mint/${testArweaveKey.address}/1000000000000000`);
  const ledger = await openLedger(folder);
  await createCredits({ sql: ledger }).credit({
    address,
    addressType: 'solana',
    amount: winc(given),
    reason: 'payment',
    id: 'start',
  });
  await ledger.close();

  const gateways = await startToldGateways(2, (gateway) => gateway === 1 && random.below(2) === 0);
  const acknowledged = new Map<string, { item: Buffer; winc: bigint; signature: string }>();
  for (let round = 0; round < kills; round++) {
    const { child, url } = await startChild(
      folder,
      node.client.url,
      gateways.urls.join(),
      ...(blobStoreUrl === undefined ? [] : [blobStoreUrl]),
    );
    let alive = true;
    const client = async () => {
      while (alive) {
        const size = random.below(4) === 0 ? 20_000 + random.below(200_000) : random.below(3_000);
        const item = await signItem({ data: random.bytes(size) }, signer);
        try {
          const answer = await request(`${url}/v1/tx`, { method: 'POST', body: item });
          const body = JSON.parse(await answer.body.text());
          assert.equal(answer.statusCode, 200);
          acknowledged.set(body.id, { item, winc: BigInt(body.winc), signature: body.signature });
        } catch (error) {
          if (error instanceof assert.AssertionError) throw error;
          return;
        }
      }
    };
    const clients = [client(), client()];
    for (const before = acknowledged.size; acknowledged.size < before + 2; ) await sleep(5);
    await sleep(random.below(250));
    child.kill('SIGKILL');
    await new Promise((done) => child.once('exit', done));
    alive = false;
    await Promise.all(clients);
  }
  assert.ok(acknowledged.size > kills, `${acknowledged.size} items were acknowledged`);

  const upload = await startTestUpload(
    {
      BUNDLE_MAX_WAIT_MS: '0',
      BUNDLE_POLL_MS: '15',
      BUNDLE_CONFIRMATIONS: '2',
      ...(blobStoreUrl !== undefined && { BLOB_STORE_URL: blobStoreUrl }),
    },
    { arweaveNodeUrls: [node.client.url], now: Date.now, ...told(gateways.urls) },
    { folder },
  );
  gateways.behave();
  try {
    const hosts = gateways.urls.map((url) => new URL(url).host);
    for (let left = -1; left !== 0; await sleep(100)) {
      const rows = await upload.sql.get<{ n: number }>(
        `SELECT COUNT(*) AS n FROM upload_items WHERE state <> 'permanent' OR announce_at IS NOT NULL
           OR id IN (SELECT id FROM upload_announcements)`,
      );
      left = rows?.n ?? 0;
    }
    for (const [id, { item, signature }] of acknowledged) {
      const answer = await upload.get(`/v1/data-item/${id}`);
      assert.ok(answer.bytes.equals(item), `${id} is there byte for byte`);
      const again = await upload.post('/v1/tx', item);
      assert.equal(again.status, 202);
      assert.equal(again.body.signature, signature, 'the receipt is the same one');
      const status = (await upload.get(`/v1/tx/${id}/status`)).body;
      assert.equal(status.status, 'FINALIZED');
      assert.ok(gateways.taken.every((ids) => ids.has(id)));
      assert.deepEqual(status.fastFinalityIndexes, hosts, 'what a gateway took is known');
    }
    const items = await upload.sql.all<{ id: string; winc: string }>('SELECT id, winc FROM upload_items');
    const charged = items.reduce((sum, item) => sum + BigInt(item.winc), 0n);
    assert.equal(await upload.balance(address), given - charged, 'each stored item was charged once');
    assert.ok(items.length >= acknowledged.size);
    const spendings = await upload.sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM credits_spendings');
    assert.equal(spendings?.n, items.length);
    assert.deepEqual((await upload.credits.selfCheck()).problems, []);
    const told = (await toldWallets(upload.sql, address)).filter(({ type }) => type.startsWith('upload.'));
    const bundles = new Set(told.map(({ type, data }) => `${type} ${data.id} ${data.bundle}`));
    assert.equal(bundles.size, told.length, 'nothing is told twice');
    for (const { id } of items) {
      const types = told.filter(({ data }) => data.id === id).map(({ type }) => type);
      assert.deepEqual(
        [...new Set(types)],
        ['upload.receipt', 'upload.bundled', 'upload.permanent'],
        `${id} was told in order`,
      );
    }
  } finally {
    await upload.close();
    await node.stop();
    gateways.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}
