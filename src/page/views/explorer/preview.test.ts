import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { readManifest } from './manifest-tree.ts';
import { hexLines, previewKind } from './preview-kind.ts';

const id = 'oq7-MbGRpv1yE5XbC2FhWRk5cSWUmdGy_NJ0kx5cAbQ';

describe('a preview', () => {
  test('is chosen by the type alone', () => {
    const kinds: Record<string, string> = {
      'image/png': 'image',
      'image/svg+xml': 'image',
      'text/html; charset=utf-8': 'page',
      'APPLICATION/XHTML+XML': 'page',
      'text/markdown': 'text',
      'text/javascript': 'text',
      'application/atom+xml': 'text',
      'application/json': 'json',
      'application/ld+json': 'json',
      'application/x.arweave-manifest+json': 'manifest',
      'application/pdf': 'pdf',
      'audio/mpeg': 'audio',
      'video/mp4': 'video',
      'application/octet-stream': 'bytes',
      '': 'bytes',
      'javascript:alert(1)': 'bytes',
    };
    for (const [type, kind] of Object.entries(kinds)) assert.equal(previewKind(type, 5), kind, type);
    assert.equal(previewKind('text/html', 0), 'nothing');
  });

  test('of bytes shows their beginning', () => {
    assert.equal(hexLines(new TextEncoder().encode('ab\n')), `000000  ${'61 62 0a'.padEnd(47)}  ab.`);
    assert.equal(hexLines(new Uint8Array(10_000)).split('\n').length, 32);
  });
});

describe('a manifest', () => {
  test('is the tree of its paths', () => {
    const tree = readManifest(
      JSON.stringify({
        manifest: 'arweave/paths',
        version: '0.2.0',
        index: { path: 'index.html' },
        fallback: { id },
        paths: {
          'index.html': { id },
          'css/a.css': { id },
          'css/deep/b.css': { id },
          bad: { id: 'x' },
          worse: 5,
        },
      }),
    );
    assert.deepEqual([tree?.count, tree?.leftOut, tree?.index, tree?.fallback], [3, 2, 'index.html', id]);
    assert.deepEqual(tree?.root.files, [{ name: 'index.html', path: 'index.html', id }]);
    assert.deepEqual(tree?.root.folders[0]?.folders[0]?.files[0]?.path, 'css/deep/b.css');
  });

  test('may be hostile: names of objects, too many paths, too deep ones', () => {
    const tree = readManifest(
      `{"paths":{"__proto__":{"id":"${id}"},"constructor/a":{"id":"${id}"},"../../x":{"id":"${id}"},"//":{"id":"${id}"}}}`,
    );
    assert.equal(tree?.count, 4);
    assert.equal(Object.hasOwn(Object.prototype, 'id'), false);
    const many = Object.fromEntries(Array.from({ length: 6_000 }, (_, at) => [`p${at}`, { id }]));
    assert.deepEqual(readManifest(JSON.stringify({ paths: many }))?.leftOut, 1_000);
    assert.equal(readManifest(JSON.stringify({ paths: { [`${'a/'.repeat(100)}b`]: { id } } }))?.count, 0);
    for (const text of ['', '[]', '{"paths":[]}', '{"paths":"x"}', 'null', '{'])
      assert.equal(readManifest(text), undefined);
  });
});
