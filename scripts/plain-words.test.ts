/** Identifiers and comments keep to the words of the field, so that who searches for the usual word finds it. */
import assert from 'node:assert/strict';
import { globSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { test } from 'node:test';

const root = resolve(import.meta.dirname, '..');
const files = globSync(['src/**/*.ts', 'test/**/*.ts', 'bench/*.ts', 'scripts/**/*.ts'], {
  cwd: root,
  exclude: (path) => String(path).includes('node_modules'),
}).filter((file) => file !== 'scripts/plain-words.test.ts');

/** Image, as a pattern -> the word that an engineer would search for. */
const images: Readonly<Record<string, string>> = {
  shelf: 'cache',
  patience: 'timeout',
  doubts: 'disagreement',
  'young-?memory': 'garbage collection',
  'careful-?writer': 'writer',
  '\\bdoors?\\b|[a-z]Doors?\\b': 'part',
  crank: 'upkeep',
};

/** `path:line: text` of the lines that match. */
function lines(pattern: RegExp, accept: (line: string) => boolean = () => true): string[] {
  return files.flatMap((file) =>
    readFileSync(resolve(root, file), 'utf8')
      .split('\n')
      .flatMap((line, at) =>
        pattern.test(line) && accept(line) ? [`${file}:${at + 1}: ${line.trim()}`] : [],
      ),
  );
}

for (const [image, word] of Object.entries(images)) {
  test(`nothing is called /${image}/: it is ${word}`, () => {
    assert.deepEqual(lines(new RegExp(image, 'i')), []);
  });
}

test('comments speak of the buyer, the reader and the operator, not of him or her', () => {
  const isComment = (line: string) => /^\s*(?:\/\/|\/?\*)/.test(line);
  assert.deepEqual(lines(/\b(?:he|his|him|she|hers?)\b/i, isComment), []);
});
