import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../test/support/damage.ts';
import { takeOver } from '../kernel/http/send-bytes.ts';
import { testServer } from '../kernel/testing.ts';
import { BlobDamaged } from '../storage/blobs/blobs.ts';
import { DiskBlobStore } from '../storage/blobs/disk/store.ts';
import { seededBytes } from '../storage/blobs/testing.ts';
import { multipart, sendMultipart, sendSpan } from './send.ts';

test('bytes of a file that was changed after it was opened do not look complete', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-send-'));
  const store = await DiskBlobStore.open({ folder });
  const server = testServer();
  t.after(async () => {
    await server.close();
    await store.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const bytes = seededBytes(700_000, 1);
  const { digest } = await store.put(bytes);
  const isChanged = { now: false };
  const outcomes: unknown[] = [];
  server.app.get('/:parts', async (request, reply) => {
    const reader = await store.open(digest);
    assert.ok(reader?.fd !== undefined);
    if (isChanged.now) flipByte(store.path(digest), 5);
    const span = { start: 10, end: 699_990 };
    const parts = multipart([{ start: 0, end: 10 }, span], reader.size, 'text/plain');
    const length = request.url === '/one' ? span.end - span.start : parts.contentLength;
    const raw = takeOver(reply, 206, { 'content-length': length });
    const sent =
      request.url === '/one' ? sendSpan(raw, { reader }, span) : sendMultipart(raw, parts, { reader });
    outcomes.push(await sent.catch((error: unknown) => error));
    await reader.close();
  });
  await server.listen();
  const read = async (path: string) => (await fetch(`${server.url}${path}`)).bytes();
  assert.ok(bytes.subarray(10, 699_990).equals(await read('/one')));
  assert.equal(outcomes.pop(), 699_980);
  assert.ok((await read('/several')).length > 699_990);
  outcomes.pop();

  isChanged.now = true;
  await assert.rejects(read('/one'));
  assert.ok(outcomes.pop() instanceof BlobDamaged);
  await store.put(bytes);
  await assert.rejects(read('/several'));
});
