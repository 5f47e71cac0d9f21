import assert from 'node:assert/strict';
import { test } from 'node:test';
import { mostFiles, takeFiles } from './take-files.ts';

const found = (...paths: string[]) => paths.map((path) => ({ path, file: new File(['x'], 'x') }));
const pathsOf = ({ files }: ReturnType<typeof takeFiles>) => files.map(({ path }) => path);

test('the folder that was chosen is no part of the paths, its own folders are', () => {
  const taken = takeFiles(found('site/index.html', 'site/css/a.css', 'site/css/deep/b.css'));
  assert.deepEqual(pathsOf(taken), ['css/a.css', 'css/deep/b.css', 'index.html']);
  assert.equal(taken.isFolder, true);
});

test('several folders, or a folder beside a file, keep their names', () => {
  assert.deepEqual(pathsOf(takeFiles(found('a/x', 'b/x', 'c'))), ['a/x', 'b/x', 'c']);
});

test('single files are no folder', () => {
  const taken = takeFiles(found('b.txt', 'a.txt'));
  assert.deepEqual(pathsOf(taken), ['a.txt', 'b.txt']);
  assert.equal(taken.isFolder, false);
});

test('hidden and system files are left out and told, a hidden folder that was chosen is not hidden', () => {
  const taken = takeFiles(
    found('s/.git/config', 's/.DS_Store', 's/Thumbs.db', 's/__MACOSX/x', 's/a/desktop.ini', 's/ok.txt'),
  );
  assert.deepEqual(pathsOf(taken), ['ok.txt']);
  assert.equal(taken.hidden.length, 5);
  assert.deepEqual(pathsOf(takeFiles(found('.well-known/a', '.well-known/b'))), ['a', 'b']);
});

test('hostile names stay as they are, but name no other place', () => {
  const names = ['<img src=x onerror=alert(1)>', '__proto__', '\u202Egpj.exe', 'a\u0000b', 'constructor'];
  assert.deepEqual(pathsOf(takeFiles(found(...names))), [...names].sort());
  assert.deepEqual(pathsOf(takeFiles(found('a/../../b', 'a/./c//d'))), ['b', 'c/d']);
  assert.deepEqual(pathsOf(takeFiles(found('..', '/'))), []);
});

test('no more than one manifest can name', () => {
  const many = found(...Array.from({ length: 10 }, (_, index) => `f/${index}`));
  const taken = takeFiles(many, mostFiles - 4);
  assert.equal(taken.files.length, 4);
  assert.equal(taken.tooMany, 6);
});
