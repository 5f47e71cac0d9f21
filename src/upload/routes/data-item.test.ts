import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import type { ServerResponse } from 'node:http';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../../test/support/damage.ts';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { BlockSet } from '../../delivery/moderation/block-set.ts';
import { createHttpServer } from '../../kernel/http/server.ts';
import { createLogger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { DiskBlobStore } from '../../storage/blobs/disk/store.ts';
import { rottingFiles } from '../../storage/blobs/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { BlockedItems } from '../items/refuse-blocked.ts';
import { startTestUpload } from '../testing.ts';
import { dataItemRoutes } from './data-item.ts';

test('a reader of an item in parts who takes nothing is cut off', { timeout: 60_000 }, async () => {
  const upload = await startTestUpload({ FREE_UPLOAD_LIMIT: '100000000', BUNDLE_POLL_MS: '3600000' });
  const server = createHttpServer({
    name: 'upload',
    title: 'Items',
    host: '127.0.0.1',
    port: 0,
    portVariable: 'UPLOAD_PORT',
    log: createLogger({ level: 'silent', format: 'json', name: 'items' }),
    metrics: new Metrics(),
  });
  let answering: (raw: ServerResponse) => void = () => {};
  const answered = new Promise<ServerResponse>((resolve) => {
    answering = resolve;
  });
  server.mount(
    (app) => {
      app.addHook('onRequest', (_request, reply, done) => {
        answering(reply.raw);
        done();
      });
      const { sql, blobs } = upload;
      const blocked = new BlockedItems(new BlockSet(), blobs);
      dataItemRoutes(app, { sql, blobs, blocked, stallTimeoutMs: 300 });
    },
    [''],
  );
  await server.listen();
  try {
    const signer = solanaSigner(ed25519TestKey('stalled'));
    const item = await signItem({ data: seededRandom(5).bytes(24_000_000) }, signer);
    const id = (await upload.get('/v1/chunks/solana/-1/-1')).body.id;
    const half = 12_000_000;
    for (const offset of [0, half]) {
      await upload.post(
        `/v1/chunks/solana/${id}/${offset}`,
        item.subarray(offset, offset ? undefined : half),
      );
    }
    const done = await upload.post(`/v1/chunks/solana/${id}/-1`, Buffer.alloc(0));
    const { hostname, port } = new URL(server.url);
    const socket = connect(Number(port), hostname).pause();
    socket.on('error', () => {});
    await once(socket, 'connect');
    socket.write(`GET /data-item/${done.body.id} HTTP/1.1\r\nHost: x\r\n\r\n`);
    const raw = await answered;
    if (!raw.destroyed) await once(raw, 'close');
    assert.equal(raw.writableFinished, false);
    socket.destroy();
  } finally {
    await server.close();
    await upload.close();
  }
});

test('an item whose bytes are not there is answered so, and is whole when they are back', async (t) => {
  const upload = await startTestUpload({ FREE_UPLOAD_LIMIT: '100000000', BUNDLE_POLL_MS: '3600000' });
  t.after(() => upload.close());
  const data = seededRandom(6).bytes(40_000);
  const item = await signItem({ data }, solanaSigner(ed25519TestKey('lost')));
  const { id } = (await upload.post('/v1/tx', item)).body;
  const url = `${upload.url}/v1/data-item/${id}`;
  const read = (range?: string) => fetch(url, { headers: range === undefined ? {} : { range } });
  const payload = `bytes=${item.length - data.length}-`;
  assert.ok(item.equals(Buffer.from(await (await read()).arrayBuffer())));
  const digest = createHash('sha256').update(data).digest('hex');
  assert.ok(await upload.blobs.delete(digest));
  for (const range of [undefined, payload, 'bytes=1-']) {
    const answer = await read(range);
    assert.equal(answer.status, 503, range);
    assert.match(await answer.text(), /Object Store is unreachable/);
  }
  assert.equal((await read('bytes=0-1')).status, 206, 'the head is in the database');
  await upload.blobs.put(data);
  assert.ok(data.equals(Buffer.from(await (await read(payload)).arrayBuffer())));
});

test('bytes that rot though no stamp tells are never given as a whole item, nor as a part of a small one', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-rot-'));
  const blobs = await DiskBlobStore.open({ folder: join(folder, 'rotting'), files: rottingFiles() });
  const settings = { FREE_UPLOAD_LIMIT: '100000000', BUNDLE_POLL_MS: '3600000' };
  const upload = await startTestUpload(settings, { blobs }, { folder });
  t.after(async () => {
    await upload.close();
    await blobs.close();
    rmSync(folder, { recursive: true, force: true });
  });
  for (const [size, asked] of [[40_000], [3_000_000], [3_000_001, 'payload']] as const) {
    const data = seededRandom(size).bytes(size);
    const item = await signItem({ data }, solanaSigner(ed25519TestKey('rot')));
    const { id } = (await upload.post('/v1/tx', item)).body;
    const read = async (range?: string) => {
      const headers = range === undefined ? {} : { range };
      const answer = await fetch(`${upload.url}/v1/data-item/${id}`, { headers });
      return { status: answer.status, bytes: Buffer.from(await answer.arrayBuffer()) };
    };
    assert.ok(item.equals((await read()).bytes));
    flipByte(blobs.path(createHash('sha256').update(data).digest('hex')), size - 1);
    if (size <= 256 * 1024) assert.equal((await read(`bytes=${item.length - 5}-`)).status, 503);
    else
      await assert.rejects(
        read(asked && `bytes=${item.length - size}-`),
        /terminated/,
        'what was sent before is cut off',
      );
    // Whoever noticed has told the store, which gives it to nobody any more.
    assert.equal((await read()).status, 503);
  }
});
