import assert from 'node:assert/strict';
import { test } from 'node:test';
import { isTxId } from './base64url.ts';
import { isSandboxLabel, sandboxLabel } from './sandbox-label.ts';

test('the sandbox label is base32 of the id', () => {
  for (const [id, label] of [
    ['4jBV3ofWh41KhuTs2pFvj-KBZWUkbrbCYlJH0vLA6LM', '4iyflxuh22dy2sug4twnvelpr7riczlferxlnqtckjd5f4wa5czq'],
    ['A'.repeat(43), 'a'.repeat(52)],
  ] as const) {
    assert.ok(isTxId(id));
    assert.equal(sandboxLabel(id), label);
    assert.ok(isSandboxLabel(label));
  }
  for (const label of ['a'.repeat(51), 'a'.repeat(53), `${'a'.repeat(51)}1`, `${'A'.repeat(52)}`]) {
    assert.ok(!isSandboxLabel(label), label);
  }
});
