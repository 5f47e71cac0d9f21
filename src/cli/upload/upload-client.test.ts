import assert from 'node:assert/strict';
import { test } from 'node:test';
import { UploadClient } from './upload-client.ts';

test('a service that is not started is said at once, not waited for', async () => {
  // A port that no program gets by asking for a free one.
  await assert.rejects(new UploadClient('http://127.0.0.1:1').gateway(), /is it started\?$/);
});
