import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { seededRandom } from '../../formats/testing/seeded-random.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { startTestUpload, type TestUpload } from '../testing.ts';

const signer = solanaSigner(ed25519TestKey('bundler faults'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(211);
const none = Buffer.alloc(0);

/** A node whose word on transactions a test can choose. */
interface Script {
  /** Transactions that were posted. */
  readonly posted: Set<string>;
  refuses: boolean;
  /** Confirmations it tells of what was posted. */
  confirmations: number;
}

/** Time stands still but for `pass`, by an hour: what the bundler tries again it tries once for each. */
async function withNode(
  work: (node: Script, upload: TestUpload, pass: () => void) => Promise<void>,
  maxWaitMs = 0,
): Promise<void> {
  const node: Script = { posted: new Set(), refuses: false, confirmations: 0 };
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const [status, body] = answerOf(node, `${request.method} ${request.url}`, Buffer.concat(parts));
      response.statusCode = status;
      response.end(body);
    });
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const place = server.address();
  assert.ok(place !== null && typeof place === 'object');
  let now = Date.now();
  const upload = await startTestUpload(
    { BUNDLE_MAX_WAIT_MS: String(maxWaitMs), BUNDLE_POLL_MS: '10', BUNDLE_CONFIRMATIONS: '3' },
    { arweaveNodeUrls: [`http://127.0.0.1:${place.port}`], now: () => now },
  );
  try {
    await upload.give(address, 'solana', 10n ** 12n);
    await work(node, upload, () => {
      now += 3_600_000;
    });
  } finally {
    await upload.close();
    server.closeAllConnections();
    server.close();
  }
}

function answerOf(node: Script, asked: string, body: Buffer): [number, string] {
  if (asked === 'GET /height') return [200, '1500000'];
  if (asked === 'GET /tx_anchor') return [200, Buffer.alloc(48, 7).toString('base64url')];
  if (asked.startsWith('GET /price/')) return [200, '1000'];
  if (asked.includes('/balance')) return [200, '1000000000000'];
  if (asked === 'POST /chunk') return [200, 'OK'];
  if (asked === 'POST /tx') {
    if (node.refuses) return [400, 'Transaction verification failed.'];
    node.posted.add(String(JSON.parse(body.toString()).id));
    return [200, 'OK'];
  }
  const id = /^GET \/tx\/([\w-]{43})\/status$/.exec(asked)?.[1];
  if (id === undefined || !node.posted.has(id)) return [404, 'Not Found'];
  return [200, JSON.stringify({ block_height: 9, number_of_confirmations: node.confirmations })];
}

async function until(what: string, check: () => Promise<boolean> | boolean): Promise<void> {
  for (const end = Date.now() + 30_000; Date.now() < end; await sleep(10)) if (await check()) return;
  assert.fail(`waited too long for ${what}`);
}

const attemptsOf = async (upload: TestUpload) =>
  (await upload.sql.get<{ n: number }>('SELECT MAX(attempts) AS n FROM upload_bundles'))?.n ?? 0;

test('a node that refuses bundles for a while costs no item its place', async () => {
  await withNode(async (node, upload, pass) => {
    node.refuses = true;
    const item = await signItem({ data: random.bytes(500) }, signer);
    const id = String((await upload.post('/v1/tx', item)).body.id);
    const paid = await upload.balance(address);
    for (let refusals = 1; refusals <= 15; refusals += 1) {
      await until(`refusal ${refusals}`, async () => (await attemptsOf(upload)) >= refusals);
      pass();
    }
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
    node.refuses = false;
    await until('the bundle to be posted', () => {
      pass();
      return node.posted.size > 0;
    });
    assert.equal(await upload.balance(address), paid);
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
  });
});

test('items of a mined bundle that nobody can read go into another', async () => {
  await withNode(async (node, upload, pass) => {
    const item = await signItem({ data: random.bytes(500) }, signer);
    const id = String((await upload.post('/v1/tx', item)).body.id);
    await until('the bundle to be posted', () => node.posted.size === 1);
    // It was seeded many times over, and its chunks are still not there.
    await upload.sql.run('UPDATE upload_bundles SET seedings = 21');
    node.confirmations = 50;
    await until('another bundle', () => {
      pass();
      return node.posted.size > 1;
    });
    assert.equal((await upload.get(`/v1/tx/${id}/status`)).body.status, 'CONFIRMED');
  });
});

/** An item large enough to have a blob of its own, and one that has none. */
async function postTwo(upload: TestUpload): Promise<{ large: string; small: string; digest: string }> {
  const [large, small] = [
    await signItem({ data: random.bytes(50_000) }, signer),
    await signItem({ data: none }, signer),
  ];
  const ids = [(await upload.post('/v1/tx', large)).body.id, (await upload.post('/v1/tx', small)).body.id];
  const row = await upload.sql.get<{ digest: string }>('SELECT digest FROM upload_blobs');
  return { large: String(ids[0]), small: String(ids[1]), digest: String(row?.digest) };
}

test('bytes that are away for a while are waited for', async () => {
  await withNode(async (node, upload, pass) => {
    const { large, digest } = await postTwo(upload);
    const reader = await upload.blobs.open(digest);
    assert.ok(reader);
    const kept: Buffer[] = [];
    for await (const piece of reader.stream()) kept.push(Buffer.from(piece));
    await reader.close();
    await upload.blobs.delete(digest);
    for (let misses = 1; misses <= 3; misses += 1) {
      const tried = await attemptsOf(upload);
      pass();
      await until('another try', async () => (await attemptsOf(upload)) > tried);
    }
    assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED');
    await upload.blobs.put(Buffer.concat(kept));
    await until('the bundle to be posted', () => {
      pass();
      return node.posted.size > 0;
    });
    assert.equal((await upload.get(`/v1/tx/${large}/status`)).body.status, 'CONFIRMED');
  }, 60_000);
});

test('an item whose bytes are lost is paid back, and the others go on without it', async () => {
  await withNode(async (node, upload, pass) => {
    const before = await upload.balance(address);
    const { large, small, digest } = await postTwo(upload);
    await upload.blobs.delete(digest);
    await until('the bundle of the other', () => {
      pass();
      return node.posted.size > 0;
    });
    const lost = (await upload.get(`/v1/tx/${large}/status`)).body;
    assert.deepEqual([lost.status, lost.reason], ['FAILED', 'missing_from_object_store']);
    const kept = (await upload.get(`/v1/tx/${small}/status`)).body;
    assert.equal(kept.status, 'CONFIRMED');
    assert.equal(await upload.balance(address), before - BigInt(String(kept.winc)));
  }, 60_000);
});
