import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contentTypeOfFile } from './content-types.ts';

test('a file is what the end of its name says, whatever its case and folder', () => {
  assert.equal(contentTypeOfFile('index.html'), 'text/html');
  assert.equal(contentTypeOfFile('a.b/PHOTO.JPG'), 'image/jpeg');
  assert.equal(contentTypeOfFile('archive.tar.gz'), 'application/gzip');
});

test('what says nothing is bytes: no ending, a hidden file, a folder with a dot, names of every object', () => {
  for (const path of ['README', '.html', 'site.html/README', 'x.', 'x.__proto__', 'x.constructor', '']) {
    assert.equal(contentTypeOfFile(path), 'application/octet-stream', path);
  }
});
