import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { HttpError } from '../../../kernel/errors.ts';
import { seededBytes } from '../../../storage/blobs/testing.ts';
import type { Steps } from '../../../storage/pace.ts';
import { PinnedFiles } from './pinned-files.ts';

const steps: Steps = (step) => step();

test('a look at every file takes its name from a wrong one, and leaves the right ones', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-pinned-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [right, rotten] = [1, 2].map((seed) => hash('sha256', seededBytes(10_000, seed)));
  assert.ok(right !== undefined && rotten !== undefined);
  for (const name of [right, rotten, 'not-a-digest'])
    writeFileSync(join(folder, name), seededBytes(10_000, 1));
  const damaged: string[] = [];
  const pinned = new PinnedFiles(folder, (sha256) => damaged.push(sha256));
  const found = new Map<string, unknown>();
  for await (const name of pinned.namesAfter('', steps)) found.set(name, await pinned.inspect(name, steps));
  assert.deepEqual(
    found,
    new Map([right, rotten].sort().map((name) => [name, { size: 10_000, isSound: name === right }])),
  );
  // Whoever publishes next pins the right one in its place.
  assert.deepEqual([damaged, existsSync(join(folder, rotten))], [[rotten], false]);
  await assert.rejects(
    pinned.open({ name: 'a', size: 10_000, sha256: rotten }),
    (error) => error instanceof HttpError && error.status === 503,
  );
  await (await pinned.open({ name: 'b', size: 10_000, sha256: right })).close();
});
