/** The walks of docs/architecture.md and the places of docs/glossary.md lead to files that are there. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '..');
const places = globSync(['src/**', 'scripts/**'], { cwd: root }).map((path) => `/${path}`);

for (const page of ['architecture.md', 'glossary.md']) {
  test(`every file and folder that docs/${page} names is there`, () => {
    const text = readFileSync(resolve(root, 'docs', page), 'utf8');
    const named = [...text.matchAll(/`((?:[a-z0-9-]+\/)+|(?:[a-z0-9-]+\/)*[a-z0-9-]+\.ts)`/g)].map(
      ([, place = '']) => place,
    );
    assert.ok(named.length > 10);
    const ends = named.map((place) => `/${place.replace(/\/$/, '')}`);
    assert.deepEqual(
      ends.filter((end) => !places.some((path) => path.endsWith(end))),
      [],
    );
  });
}
