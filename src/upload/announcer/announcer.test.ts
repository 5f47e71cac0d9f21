import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { eventually } from '../../../test/support/eventually.ts';
import { createLogger } from '../../kernel/log.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { startTestUpload } from '../testing.ts';
import { Announcer } from './announcer.ts';

const signer = solanaSigner(ed25519TestKey('announcer'));

test('an item that the gateway does not take keeps no other from being told', async () => {
  const told = new Set<string>();
  const refused = new Set<string>();
  let isAway = true;
  const gateway = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const items: { id: string }[] = JSON.parse(Buffer.concat(parts).toString());
      const bad = items.some(({ id }) => refused.has(id));
      response.statusCode = isAway ? 503 : bad ? 400 : 200;
      if (!isAway && !bad) for (const { id } of items) told.add(id);
      response.end();
    });
  });
  await new Promise<void>((listening) => gateway.listen(0, '127.0.0.1', listening));
  const place = gateway.address();
  assert.ok(place !== null && typeof place === 'object');
  const url = `http://127.0.0.1:${place.port}`;
  const upload = await startTestUpload(
    { FREE_UPLOAD_LIMIT: '1000', BUNDLE_POLL_MS: '3600000' },
    { gateway: { publicUrl: url, admin: { url, key: 'key' } } },
  );
  try {
    const items = await Promise.all(
      Array.from({ length: 20 }, (_, index) => signItem({ data: Buffer.from(`item ${index}`) }, signer)),
    );
    // At once: the longer the gateway is away, the longer it is left alone.
    const answers = await Promise.all(items.map((item) => upload.post('/v1/tx', item)));
    const ids = answers.map(({ body }) => String(body.id));
    const [first = '', , third = ''] = ids;
    refused.add(first).add(third);
    isAway = false;
    await eventually('18 items to be announced', async () => told.size >= 18);
    assert.deepEqual([...told].sort(), ids.filter((id) => !refused.has(id)).sort());
    const left = async () =>
      (
        await upload.sql.get<{ n: number }>(
          'SELECT COUNT(*) AS n FROM upload_items WHERE announce_at IS NOT NULL',
        )
      )?.n;
    await eventually('nothing to be left', async () => (await left()) === 0);
  } finally {
    await upload.close();
    gateway.closeAllConnections();
    gateway.close();
  }
});

test('an item that comes while another is being told is told right after it', {
  timeout: 60_000,
}, async (t) => {
  const calls: { readonly ids: string[]; answer(): void }[] = [];
  const asked: (() => void)[] = [];
  const gateway = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const items: { id: string }[] = JSON.parse(Buffer.concat(parts).toString());
    calls.push({ ids: items.map(({ id }) => id), answer: () => response.end() });
    asked.shift()?.();
  });
  const nextCall = () => new Promise<void>((resolve) => asked.push(resolve));
  await new Promise<void>((listening) => gateway.listen(0, '127.0.0.1', listening));
  const place = gateway.address();
  assert.ok(place !== null && typeof place === 'object');
  const upload = await startTestUpload({ FREE_UPLOAD_LIMIT: '1000', BUNDLE_POLL_MS: '3600000' });
  const announcer = new Announcer({
    sql: upload.sql,
    log: createLogger({ level: 'silent', format: 'json', name: 'announcer' }),
    now: Date.now,
    gateway: { url: `http://127.0.0.1:${place.port}`, key: 'key' },
    // Nothing is found but by waking.
    sweepMs: 3_600_000,
  });
  t.after(async () => {
    gateway.closeAllConnections();
    gateway.close();
    await announcer.stop();
    await upload.close();
  });
  announcer.start();
  const add = async (text: string): Promise<string> => {
    const { body } = await upload.post('/v1/tx', await signItem({ data: Buffer.from(text) }, signer));
    await upload.sql.run('UPDATE upload_items SET announce_at = 1 WHERE id = ?', String(body.id));
    announcer.wake();
    return String(body.id);
  };
  const first = nextCall();
  const one = await add('one');
  await first;
  const second = nextCall();
  const other = await add('other');
  // Longer than items are gathered for: the moment to tell it comes and goes while the first call is out.
  await sleep(100);
  calls[0]?.answer();
  await second;
  calls[1]?.answer();
  assert.deepEqual(
    calls.map(({ ids }) => ids),
    [[one], [other]],
  );
});
