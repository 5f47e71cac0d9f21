import assert from 'node:assert/strict';
import { test } from 'node:test';
import { safeIcon, safeName } from './injected.ts';

test('of a stranger only images are shown, and names that fit', () => {
  for (const icon of [
    'data:image/png;base64,AA==',
    'data:image/svg+xml,<svg/>',
    'data:image/webp;base64,AA==',
  ]) {
    assert.equal(safeIcon(icon), icon);
  }
  for (const icon of [
    undefined,
    7,
    'https://tracker.example/pixel.png',
    'javascript:alert(1)',
    'data:text/html,<script>alert(1)</script>',
    ' data:image/png;base64,AA==',
    `data:image/png;base64,${'A'.repeat(200_000)}`,
  ]) {
    assert.equal(safeIcon(icon), undefined);
  }
  assert.equal(safeName('  Phantom ', 'Wallet'), 'Phantom');
  assert.equal(safeName('', 'Wallet'), 'Wallet');
  assert.equal(safeName({}, 'Wallet'), 'Wallet');
  assert.equal(safeName('x'.repeat(1_000), 'Wallet').length, 40);
});
