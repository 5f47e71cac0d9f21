import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { flipByte } from '../../../../test/support/damage.ts';
import { testServer } from '../../../kernel/testing.ts';
import { seededBytes } from '../../../storage/blobs/testing.ts';
import type { Meter } from '../../meter.ts';
import { PinnedFiles } from '../publication/pinned-files.ts';
import { sendIndexFile } from './send-file.ts';

test('a file that is changed while it is sent does not look complete, and loses its name', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-send-file-'));
  const bytes = seededBytes(100_000, 1);
  const sha256 = hash('sha256', bytes);
  const path = join(folder, sha256);
  writeFileSync(path, bytes);
  const damaged: string[] = [];
  const pinned = new PinnedFiles(folder, (name) => damaged.push(name));
  const isChanged = { now: false };
  // It is asked between the opening of a file and its first byte.
  const meter: Meter = {
    enabled: true,
    charge() {
      if (isChanged.now) flipByte(path, 99_999);
      return undefined;
    },
    chargeNow: () => false,
  };
  const server = testServer();
  server.app.get('/file', (request, reply) =>
    sendIndexFile(
      request,
      reply,
      { name: 'a', size: bytes.length, sha256 },
      { pinned, meter, caching: 'no-cache' },
    ),
  );
  await server.listen();
  t.after(async () => {
    await server.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const read = async (range?: string) => {
    const answer = await fetch(`${server.url}/file`, range === undefined ? {} : { headers: { range } });
    return { status: answer.status, body: Buffer.from(await answer.arrayBuffer()) };
  };
  assert.ok((await read()).body.equals(bytes));
  isChanged.now = true;
  await assert.rejects(read('bytes=0-9'));
  assert.deepEqual([damaged, existsSync(path)], [[sha256], false]);
  assert.equal((await read()).status, 503);
});
