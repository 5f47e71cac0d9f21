import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isArnsName } from '../../../formats/solana/name-rules.ts';
import { alternativesTo } from './alternatives.ts';

test('alternatives are names, other ones, and not more than asked for', () => {
  for (const name of ['a', 'my-name', 'x'.repeat(51), 'x'.repeat(39)]) {
    const found = alternativesTo(name, 6);
    assert.ok(found.length <= 6);
    assert.equal(new Set([name, ...found]).size, found.length + 1);
    assert.ok(found.every(isArnsName), found.join());
  }
  assert.equal(alternativesTo('blog', 3).join(), 'blog-app,blog-site,blog-web');
});
