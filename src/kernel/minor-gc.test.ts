import assert from 'node:assert/strict';
import { test } from 'node:test';
import { countStreamedBytes } from './minor-gc.ts';

test('the buffers of a body that passes are gone soon after it', () => {
  const piece = 64 * 1024;
  const before = process.memoryUsage().arrayBuffers;
  let most = 0;
  for (let count = 0; count < 640; count += 1) {
    Buffer.allocUnsafeSlow(piece);
    countStreamedBytes(piece);
    most = Math.max(most, process.memoryUsage().arrayBuffers - before);
  }
  assert.ok(most < 20 * 1024 * 1024, `${most} bytes of 40 MiB were there at a time`);
});
