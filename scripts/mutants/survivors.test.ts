import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { test } from 'node:test';
import { mutate } from './make.ts';
import { isMeant, survivors } from './survivors.ts';

test('every mutant that may live is still one that is made', () => {
  const root = resolve(import.meta.dirname, '../..');
  for (const [file, listed] of Map.groupBy(survivors, ({ file }) => file)) {
    const { mutants } = mutate(file, readFileSync(join(root, file), 'utf8'));
    for (const survivor of listed)
      assert.ok(
        mutants.some((mutant) => isMeant(survivor, mutant)),
        `${file}: ${survivor.was}`,
      );
  }
});
