import assert from 'node:assert/strict';
import { test } from 'node:test';
import { filesOfDrop } from './read-drop.ts';

const fileEntry = (fullPath: string): unknown => ({
  isFile: true,
  isDirectory: false,
  fullPath,
  file: (found: (file: File) => void) => found(new File(['x'], fullPath)),
});

const brokenEntry = (fullPath: string): unknown => ({
  isFile: true,
  isDirectory: false,
  fullPath,
  file: (_found: unknown, failed: (error: Error) => void) => failed(new Error('gone')),
});

/** As browsers do it: a hundred at a time, each only once. */
function folderEntry(fullPath: string, entries: readonly unknown[]): unknown {
  return {
    isFile: false,
    isDirectory: true,
    fullPath,
    createReader: () => {
      const left = [...entries];
      return { readEntries: (found: (some: unknown[]) => void) => found(left.splice(0, 100)) };
    },
  };
}

function dropped(...entries: readonly unknown[]): Parameters<typeof filesOfDrop>[0] {
  const items = entries.map((entry) => ({
    kind: 'file',
    webkitGetAsEntry: () => entry,
    getAsFile: () => null,
  }));
  return { items } as unknown as Parameters<typeof filesOfDrop>[0];
}

test('folders are read to their end, those inside them too', async () => {
  const many = Array.from({ length: 250 }, (_, at) => fileEntry(`/site/pictures/${at}.png`));
  const found = await filesOfDrop(
    dropped(
      folderEntry('/site', [fileEntry('/site/index.html'), folderEntry('/site/pictures', many)]),
      fileEntry('/alone.txt'),
    ),
  );
  assert.equal(found.length, 252);
  const paths = new Set(found.map(({ path }) => path));
  for (const path of ['site/index.html', 'site/pictures/249.png', 'alone.txt'])
    assert.ok(paths.has(path), path);
});

test('what cannot be read is left out, and no depth is too much', async () => {
  let nested = fileEntry('/deep');
  for (let at = 0; at < 200; at++) nested = folderEntry('/folder', [nested]);
  const found = await filesOfDrop(dropped(brokenEntry('/gone'), nested, fileEntry('/there')));
  assert.deepEqual(
    found.map(({ path }) => path),
    ['there'],
  );
});

test('files that come from no disk are taken as they are, texts are not', async () => {
  const file = new File(['x'], 'pasted.png');
  const items = [
    { kind: 'file', webkitGetAsEntry: () => null, getAsFile: () => file },
    { kind: 'string', webkitGetAsEntry: () => null, getAsFile: () => null },
  ];
  const found = await filesOfDrop({ items } as unknown as Parameters<typeof filesOfDrop>[0]);
  assert.deepEqual(found, [{ path: 'pasted.png', file }]);
});
