import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { writeFileDurably, writeSyncedFile } from './files.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-files-'));
after(() => rmSync(folder, { recursive: true }));

test('a file is replaced whole, with its folder made and its mode set', async () => {
  const path = join(folder, 'deep', 'er', 'file');
  await writeFileDurably(path, 'one', 0o600);
  await writeFileDurably(path, Buffer.from('two'), 0o600);
  assert.equal(readFileSync(path, 'utf8'), 'two');
  assert.equal(statSync(path).mode & 0o777, 0o600);
  assert.deepEqual(readdirSync(join(folder, 'deep', 'er')), ['file']);
});

test('a file that cannot be replaced leaves nothing behind', async () => {
  const path = join(folder, 'taken');
  mkdirSync(path);
  writeFileSync(join(path, 'inside'), 'x');
  const before = readdirSync(folder);
  await assert.rejects(writeFileDurably(path, 'one'));
  assert.deepEqual(readdirSync(folder), before);
});

test('a new file never overwrites one', async () => {
  const path = join(folder, 'first');
  await writeSyncedFile(path, 'one');
  await assert.rejects(writeSyncedFile(path, 'two'), { code: 'EEXIST' });
  assert.equal(readFileSync(path, 'utf8'), 'one');
});
