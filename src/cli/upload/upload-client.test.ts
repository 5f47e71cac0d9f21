import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import { test } from 'node:test';
import { UploadClient } from './upload-client.ts';

test('a service that is not started is said at once, not waited for', async () => {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : undefined;
  server.close();
  await once(server, 'close');
  await assert.rejects(new UploadClient(`http://127.0.0.1:${port}`).gateway(), /is it started\?$/);
});
