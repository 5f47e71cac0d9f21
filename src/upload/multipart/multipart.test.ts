import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { pricePerByte, startTestUpload, type TestUpload } from '../testing.ts';

const settings = { MULTIPART_MAX_OPEN_PER_IP: '30', BUNDLE_POLL_MS: '20', BUNDLE_MAX_WAIT_MS: '9999999' };
const folder = mkdtempSync(join(tmpdir(), 'turnpike-multipart-'));
let upload: TestUpload = await startTestUpload(settings, {}, { folder });
after(async () => {
  await upload.close();
  rmSync(folder, { recursive: true, force: true });
});

const signer = solanaSigner(ed25519TestKey('multipart'));
const { address } = itemOwner(4, signer.owner).wallet;
await upload.give(address, 'solana', 10n ** 15n);
const random = seededRandom(61);
const chunkSize = 5 * 1024 * 1024;
const block = random.bytes(chunkSize);

/** 12 MiB and a bit: three parts, the last one short. */
const makeItem = (label: string, tags: { name: string; value: string }[] = []) =>
  signItem(
    { data: Buffer.concat([block, Buffer.from(label), block, random.bytes(2_000_000)]), tags },
    signer,
  );

async function create(query = `chunkSize=${chunkSize}`): Promise<string> {
  const { status, body } = await upload.get(`/v1/chunks/solana/-1/-1?${query}`);
  assert.equal(status, 200);
  return String(body.id);
}

const put = (id: string, offset: number, bytes: Buffer) =>
  upload.post(`/v1/chunks/solana/${id}/${offset}`, bytes);
const finalize = (id: string, headers = {}) =>
  upload.post(`/v1/chunks/solana/${id}/-1`, Buffer.alloc(0), headers);
const offsetsOf = (item: Buffer) => [0, chunkSize, 2 * chunkSize].filter((offset) => offset < item.length);

async function putAll(id: string, item: Buffer, order = offsetsOf(item)): Promise<void> {
  for (const offset of order) {
    assert.equal((await put(id, offset, item.subarray(offset, offset + chunkSize))).status, 200);
  }
}

describe('an upload in parts', () => {
  test('is created with the bounds that clients need', async () => {
    const { body } = await upload.get(`/v1/chunks/arweave/-1/-1?chunkSize=${chunkSize}`);
    assert.equal(body.min, 5_242_880);
    assert.equal(body.max, 524_288_000);
    assert.equal(body.chunkSize, chunkSize);
    for (const wrong of ['1', 'abc', '-5242880', '5242879', '524288001', '1e7', '0x500000']) {
      const answer = await upload.get(`/v1/chunks/arweave/-1/-1?chunkSize=${wrong}`);
      assert.equal(answer.status, 400, wrong);
      assert.deepEqual(answer.body, { error: 'Invalid chunk size', min: 5_242_880, max: 524_288_000 });
    }
  });

  test('takes its parts in any order and again, is charged once, and is read back byte for byte', async () => {
    const item = await makeItem('any order');
    const id = await create();
    await put(id, chunkSize, random.bytes(1_000));
    await putAll(id, item, [2 * chunkSize, 0, chunkSize, 0]);
    const progress = await upload.get(`/v1/chunks/solana/${id}/-1`);
    assert.deepEqual(progress.body.chunks, [
      [0, chunkSize],
      [chunkSize, chunkSize],
      [2 * chunkSize, item.length - 2 * chunkSize],
    ]);
    const before = await upload.balance(address);
    const done = await finalize(id);
    assert.equal(done.status, 200);
    const cost = BigInt(item.length) * pricePerByte;
    assert.equal(done.body.winc, String(cost));
    assert.equal(await upload.balance(address), before - cost);
    const whole = await upload.get(`/v1/data-item/${done.body.id}`);
    assert.ok(whole.bytes.equals(item));
    const middle = await upload.get(`/v1/data-item/${done.body.id}`, {
      range: `bytes=${chunkSize - 7}-${chunkSize + 6}`,
    });
    assert.ok(
      middle.bytes.equals(item.subarray(chunkSize - 7, chunkSize + 7)),
      'across the border of two parts',
    );
    assert.deepEqual((await finalize(id)).body, done.body, 'again answers the same');
    const status = await upload.get(`/v1/chunks/solana/${id}/status`);
    assert.equal(status.body.status, 'FINALIZED');
    assert.deepEqual(status.body.receipt, done.body);
    assert.equal(await upload.balance(address), before - cost);
    const left = await upload.sql.get<{ n: number }>('SELECT COUNT(*) AS n FROM upload_parts');
    assert.equal(left?.n, 0);
    const unused = await upload.sql.all('SELECT digest FROM upload_blobs WHERE uses <> 1');
    assert.deepEqual(unused, [], 'the part that was sent twice is there once');
  });

  test('is read from the store where a part came before its turn, and else not at all', async (t) => {
    const opened = t.mock.method(upload.blobs, 'open');
    const inOrder = await create();
    await putAll(inOrder, await makeItem('in order'));
    assert.equal((await finalize(inOrder)).status, 200);
    assert.equal(opened.mock.callCount(), 0);
    const outOfOrder = await create();
    await putAll(outOfOrder, await makeItem('out of order'), [chunkSize, 2 * chunkSize, 0]);
    assert.equal((await finalize(outOfOrder)).status, 200);
    const digests = opened.mock.calls.map(({ arguments: [digest] }) => digest);
    assert.equal(digests.length, 2);
    assert.equal(new Set(digests).size, 2);
  });

  test('is found again by the name that the client gave it', async () => {
    const path = `/v1/chunks/solana/-1/-1?chunkSize=${chunkSize}`;
    const first = await upload.get(path, { 'idempotency-key': 'my-upload' });
    assert.equal((await upload.get(path, { 'idempotency-key': 'my-upload' })).body.id, first.body.id);
    assert.notEqual((await upload.get(path, { 'idempotency-key': 'other' })).body.id, first.body.id);
    assert.equal((await upload.get(path, { 'idempotency-key': 'no spaces' })).status, 400);
  });

  test('can be finalized in the background and asked about', async () => {
    const item = await makeItem('background');
    const id = await create();
    await putAll(id, item);
    assert.equal((await upload.get(`/v1/chunks/solana/${id}/status`)).body.status, 'ASSEMBLING');
    assert.equal((await upload.post(`/v1/chunks/solana/${id}/finalize`, Buffer.alloc(0))).status, 202);
    let status = await upload.get(`/v1/chunks/solana/${id}/status`);
    while (status.body.status === 'VALIDATING') {
      await sleep(10);
      status = await upload.get(`/v1/chunks/solana/${id}/status`);
    }
    assert.equal(status.body.status, 'FINALIZED');
    assert.equal(typeof status.at('receipt.signature'), 'string');
  });

  test('goes on after a restart, and one that was being finalized is finished', async () => {
    const item = await makeItem('restart');
    const id = await create();
    await putAll(id, item, [0, chunkSize]);
    await upload.close();
    upload = await startTestUpload(settings, {}, { folder });
    await putAll(id, item, [2 * chunkSize]);
    // As a process that died while it finalized leaves it.
    await upload.sql.run(`UPDATE upload_sessions SET state = 'finalizing' WHERE id = ?`, id);
    let status = await upload.get(`/v1/chunks/solana/${id}/status`);
    for (let waited = 0; status.body.status !== 'FINALIZED' && waited < 20_000; waited += 50) {
      await sleep(50);
      status = await upload.get(`/v1/chunks/solana/${id}/status`);
    }
    assert.equal(status.body.status, 'FINALIZED');
  });

  test('creates loans like any other upload', async () => {
    const other = itemOwner(4, solanaSigner(ed25519TestKey('borrower')).owner).wallet.address;
    const item = await makeItem('loan', [
      { name: 'x-approve-payment', value: other },
      { name: 'x-amount', value: '1000' },
    ]);
    const id = await create();
    await putAll(id, item);
    const done = await finalize(id);
    assert.equal(done.at('createdApproval.approvedWincAmount'), '1000');
    assert.deepEqual(
      (await upload.get(`/v1/chunks/solana/${id}/status`)).at('receipt.createdApproval'),
      done.body.createdApproval,
    );
  });

  test('of an item that is here already costs nothing and gives the first receipt', async () => {
    const item = await makeItem('twice');
    const first = await upload.post('/v1/tx', item);
    const balance = await upload.balance(address);
    const id = await create();
    await putAll(id, item);
    const done = await finalize(id);
    assert.equal(done.status, 200);
    assert.deepEqual(done.body, first.body);
    assert.equal(await upload.balance(address), balance);
  });
});

describe('what an upload in parts refuses', () => {
  test('parts that do not lie on the declared size, are too large, empty, or of no number', async () => {
    const id = await create();
    for (const [offset, bytes, message] of [
      ['7', 10, /^Invalid chunk\. Its offset is no multiple/],
      ['-5242880', 10, /^Invalid chunk\. Its offset is no number/],
      ['1e3', 10, /^Invalid chunk/],
      ['0', chunkSize + 1, /larger than the declared/],
      [String(10_000 * chunkSize), 10, /more than 10000 chunks|too large/],
    ] as const) {
      const answer = await upload.post(`/v1/chunks/solana/${id}/${offset}`, Buffer.alloc(bytes));
      assert.equal(answer.status >= 400 && answer.status < 500, true, `${offset}: ${answer.status}`);
      assert.match(String(answer.body), message);
    }
    assert.match(String((await put(id, 0, Buffer.alloc(0))).body), /^Content-Length header is required/);
    assert.deepEqual((await upload.get(`/v1/chunks/solana/${id}/-1`)).body.chunks, []);
  });

  test('sessions that are not there', async () => {
    for (const answer of [
      await put('nowhere', 0, Buffer.alloc(5)),
      await finalize('nowhere'),
      await upload.get('/v1/chunks/solana/nowhere/status'),
      await upload.get('/v1/chunks/solana/nowhere/-1'),
    ]) {
      assert.equal(answer.status, 404);
      assert.deepEqual(answer.body, 'Multi-part upload with ID nowhere not found!');
    }
  });

  test('gaps, nothing at all, and bytes that are no signed item', async () => {
    const item = await makeItem('gap');
    const gap = await create();
    await putAll(gap, item, [0, 2 * chunkSize]);
    const counts = await upload.counts();
    const answer = await finalize(gap);
    assert.equal(answer.status, 400);
    assert.match(String(answer.body), /^Invalid Data Item! The bytes from 5242880 to 10485760 are missing/);
    assert.equal((await upload.get(`/v1/chunks/solana/${gap}/status`)).body.status, 'INVALID');
    assert.match(String((await finalize(await create())).body), /no chunks/);
    const forged = Buffer.from(item);
    forged[forged.length - 1]! ^= 1;
    const wrong = await create();
    await putAll(wrong, forged);
    assert.deepEqual((await finalize(wrong)).body, 'Invalid Data Item!');
    assert.deepEqual((await finalize(wrong)).body, 'Invalid Data Item!', 'and stays refused');
    assert.equal((await put(wrong, 0, Buffer.alloc(5))).status, 400, 'no parts after the end');
    assert.equal((await upload.counts()).upload_items, counts.upload_items);
  });

  test('what cannot be paid, until it can', async () => {
    const poor = solanaSigner(ed25519TestKey('poor'));
    const wallet = itemOwner(4, poor.owner).wallet.address;
    const item = await signItem({ data: Buffer.concat([block, random.bytes(100)]) }, poor);
    const id = await create();
    await putAll(id, item, [0, chunkSize]);
    assert.match(
      String((await finalize(id)).body),
      /^Insufficient balance: it costs (\d+) winc, the wallet has 0, \1 are missing$/,
    );
    assert.equal((await upload.get(`/v1/chunks/solana/${id}/status`)).body.status, 'UNDERFUNDED');
    await upload.give(wallet, 'solana', 10n ** 9n);
    assert.equal((await finalize(id)).status, 200);
  });

  test('more open uploads from one address than are allowed', async () => {
    const small = await startTestUpload({ MULTIPART_MAX_OPEN_PER_IP: '2' });
    try {
      for (const expected of [200, 200, 429]) {
        assert.equal((await small.get('/v1/chunks/solana/-1/-1')).status, expected);
      }
    } finally {
      await small.close();
    }
  });

  test('abandoned uploads, whose parts are let go', async () => {
    const id = await create();
    await put(id, 0, random.bytes(100_000));
    const row = await upload.sql.get<{ digest: string }>(
      'SELECT digest FROM upload_parts WHERE session = ?',
      id,
    );
    upload.clock += 86_400_000;
    const status = async () => (await upload.get(`/v1/chunks/solana/${id}/status`)).status;
    await eventually('the upload to be gone', async () => (await status()) === 404);
    const digest = row?.digest ?? '';
    await eventually('its bytes to be gone', async () => (await upload.blobs.size(digest)) === undefined);
    await eventually('nothing to be known of them', async () => {
      return (await upload.sql.get('SELECT uses FROM upload_blobs WHERE digest = ?', digest)) === undefined;
    });
  });
});
