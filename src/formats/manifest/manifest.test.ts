import assert from 'node:assert/strict';
import { test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { FormatError } from '../format-error.ts';
import { buildManifest, type Manifest, resolveManifestPath, withoutTrailingSlashes } from './manifest.ts';
import { parseManifest } from './reader.ts';

const id = (letter: string) => `${letter.repeat(42)}A`;
const read = (document: unknown): Manifest => {
  const manifest = parseManifest(
    Buffer.from(typeof document === 'string' ? document : JSON.stringify(document)),
  );
  assert.ok(manifest !== undefined);
  return manifest;
};
const paths = { 'index.html': { id: id('a') }, 'css/site.css': { id: id('b') } };
const first = { manifest: 'arweave/paths', version: '0.1.0', index: { path: 'index.html' }, paths };
const second = { ...first, version: '0.2.0', fallback: { id: id('f') } };

test('the empty path leads to the index, others to their entries', () => {
  const manifest = read(first);
  assert.deepEqual(resolveManifestPath(manifest, ''), { id: id('a'), by: 'index' });
  assert.deepEqual(resolveManifestPath(manifest, '/'), { id: id('a'), by: 'index' });
  assert.deepEqual(resolveManifestPath(manifest, 'css/site.css/'), { id: id('b'), by: 'path' });
  for (const missing of ['css', 'CSS/site.css', 'css/site.css2', '/css/site.css', 'index.html/x']) {
    assert.equal(resolveManifestPath(manifest, missing), undefined, missing);
  }
});

test('0.2.0 adds an index by id and a fallback, which 0.1.0 does not have', () => {
  assert.deepEqual(resolveManifestPath(read(second), 'nowhere'), { id: id('f'), by: 'fallback' });
  const byId = { ...second, index: { id: id('i') } };
  assert.deepEqual(resolveManifestPath(read(byId), ''), { id: id('i'), by: 'index' });
  const noIndex = { ...second, index: undefined };
  assert.deepEqual(resolveManifestPath(read(noIndex), ''), { id: id('f'), by: 'fallback' });
  assert.equal(resolveManifestPath(read({ ...second, version: '0.1.0' }), 'nowhere'), undefined);
  assert.equal(resolveManifestPath(read({ ...byId, version: '0.1.0' }), ''), undefined);
});

test('the order of keys does not matter and the last of equal keys wins', () => {
  const reversed = Object.fromEntries(Object.entries(second).reverse());
  assert.deepEqual(read(reversed), read(second));
  const twice = `{"version":"0.2.0","paths":{"a":{"id":"${id('x')}"},"a":{"id":"${id('y')}"}}}`;
  assert.equal(resolveManifestPath(read(twice), 'a')?.id, id('y'));
});

test('an unknown version gives its paths and index path only', () => {
  const manifest = read({ ...second, version: '9.9.9' });
  assert.equal(resolveManifestPath(manifest, 'index.html')?.id, id('a'));
  assert.equal(resolveManifestPath(manifest, '')?.id, id('a'));
  assert.equal(resolveManifestPath(manifest, 'nowhere'), undefined);
});

test('entries that are no ids are as if absent', () => {
  for (const entry of [
    { id: 'short' },
    { id: id('a').slice(1) },
    { id: `${'a'.repeat(42)}B` },
    { id: 5 },
    'x',
    null,
    [],
  ]) {
    const manifest = read({ ...second, paths: { p: entry }, fallback: entry, index: entry });
    assert.equal(resolveManifestPath(manifest, 'p'), undefined);
    assert.equal(resolveManifestPath(manifest, ''), undefined);
  }
});

test('keys of the prototype are keys like any other', () => {
  const manifest = read(`{"version":"0.1.0","paths":{"__proto__":{"id":"${id('p')}"}}}`);
  assert.equal(resolveManifestPath(manifest, '__proto__')?.id, id('p'));
  assert.equal(resolveManifestPath(manifest, 'constructor'), undefined);
  assert.equal(resolveManifestPath(manifest, 'toString'), undefined);
});

test('what is no manifest is undefined', () => {
  for (const text of ['', '[]', '5', 'null', '{', '"x"']) {
    assert.equal(parseManifest(Buffer.from(text)), undefined, text);
  }
  assert.equal(parseManifest(Buffer.from([0x7b, 0xff, 0x7d])), undefined, 'not UTF-8');
});

test('a manifest that was built is read back', () => {
  const map = new Map([
    ['a/b.txt', id('1')],
    ['é ✓', id('2')],
    ['__proto__', id('3')],
  ]);
  const manifest = parseManifest(buildManifest({ paths: map, indexPath: 'a/b.txt', fallbackId: id('4') }));
  assert.ok(manifest !== undefined);
  assert.deepEqual(manifest.paths, map);
  assert.equal(resolveManifestPath(manifest, '')?.id, id('1'));
  assert.equal(resolveManifestPath(manifest, 'x')?.id, id('4'));
  assert.throws(() => buildManifest({ paths: map, indexPath: 'nowhere' }), FormatError);
  assert.throws(() => buildManifest({ paths: new Map([['a', 'b']]) }), FormatError);
});

test('slashes carry no meaning at the end only', () => {
  for (const [path, normal] of [
    ['', ''],
    ['/', ''],
    ['///', ''],
    ['/a', '/a'],
    ['a//', 'a'],
    ['a//b', 'a//b'],
  ] as const) {
    assert.equal(withoutTrailingSlashes(path), normal);
  }
});

test('mangled documents never throw and every id they give is one', () => {
  const random = seededRandom(31);
  const base = Buffer.from(JSON.stringify(second));
  let read = 0;
  for (let round = 0; round < 12_000; round++) {
    const manifest = parseManifest(round % 4 === 0 ? random.bytes(random.below(60)) : random.mangle(base));
    if (manifest === undefined) continue;
    read++;
    for (const path of ['', 'index.html', 'css/site.css', 'x']) {
      const hit = resolveManifestPath(manifest, path);
      if (hit !== undefined) assert.match(hit.id, /^[A-Za-z0-9_-]{43}$/);
    }
  }
  assert.ok(read > 500);
});
