import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asciiLowerCase } from './ascii-case.ts';

test('A to Z become lower case, and no other letter becomes one of them', () => {
  assert.equal(asciiLowerCase('Docs_My-NAME-42'), 'docs_my-name-42');
  for (let code = 0x80; code <= 0xffff; code += 1) {
    const letter = String.fromCharCode(code);
    assert.equal(asciiLowerCase(`A${letter}`), `a${letter}`);
  }
});
