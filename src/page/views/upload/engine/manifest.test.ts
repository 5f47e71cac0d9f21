import assert from 'node:assert/strict';
import { test } from 'node:test';
import { resolveManifestPath } from '../../../../formats/manifest/manifest.ts';
import { parseManifest } from '../../../../formats/manifest/reader.ts';
import { itemBytes } from '../../../items/item.ts';
import { newEntry, type UploadEntry } from './entry.ts';
import { likelyIndex, manifestItemBytes, manifestTags, sentIds, writeManifest } from './manifest.ts';

const id = (letter: string): string => `${letter.repeat(42)}A`;
const sent = (path: string, of: string): UploadEntry => ({
  ...newEntry({ key: path, path, size: 1, type: 'text/plain' }),
  state: 'sent',
  receipt: { id: of },
});

test('a manifest of what was sent is read by the gateway, hostile paths too', () => {
  const paths = ['index.html', '404.html', 'a/b c.txt', '__proto__', '"><script>', 'ü/☃'];
  const entries = paths.map((path, at) => sent(path, id(String.fromCharCode(97 + at))));
  const waiting = newEntry({ key: 'w', path: 'not-sent.txt', size: 1, type: 'text/plain' });
  const plan = { index: 'index.html', fallback: '404.html' };
  const ids = sentIds([...entries, waiting]);
  const manifest = parseManifest(Buffer.from(writeManifest(ids, plan)));
  assert.ok(manifest !== undefined);
  for (const { path, receipt } of entries) {
    assert.equal(resolveManifestPath(manifest, path)?.id, receipt?.id, path);
  }
  assert.deepEqual(resolveManifestPath(manifest, ''), { id: id('a'), by: 'index' });
  assert.deepEqual(resolveManifestPath(manifest, 'not-sent.txt'), { id: id('b'), by: 'fallback' });
});

test('its size is known before any id is', () => {
  const paths = ['index.html', 'ü/☃.txt'];
  const plan = { index: 'index.html', fallback: 'ü/☃.txt' };
  const text = writeManifest(new Map(paths.map((path, at) => [path, id(String(at))])), plan);
  assert.equal(manifestItemBytes(3, paths, plan), itemBytes(3, manifestTags, Buffer.byteLength(text)));
});

test('an index that was cancelled is none, and only a page at the top is likely one', () => {
  assert.doesNotMatch(
    writeManifest(new Map([['a', id('a')]]), { index: 'index.html', fallback: '' }),
    /index/,
  );
  assert.equal(likelyIndex(['a/index.html', 'x']), '');
  assert.equal(likelyIndex(['index.htm', 'x']), 'index.htm');
});
