import assert from 'node:assert/strict';
import { test } from 'node:test';
import { manifestContentType } from '../../formats/manifest/manifest.ts';
import { Manifests } from './manifests.ts';
import type { Described } from './opened.ts';
import { contentOver, gatewayWith, serve, something } from './testing.ts';

test('a large manifest is read and parsed once', async () => {
  const page = something(10).id;
  const padding = 'x'.repeat(24 * 1024 * 1024);
  const bytes = Buffer.from(
    JSON.stringify({ manifest: 'arweave/paths', paths: { page: { id: page } }, padding }),
  );
  const gateway = await serve(gatewayWith(bytes));
  const { content } = contentOver({ gateways: [gateway.url], maxCachedBytes: 1024 });
  const { id } = something(11);
  const described: Described = {
    id,
    size: bytes.length,
    contentType: manifestContentType,
    contentEncoding: undefined,
    hash: undefined,
    verified: false,
    stable: true,
    located: undefined,
  };
  const manifests = new Manifests(content);
  assert.deepEqual(await manifests.resolve(described, 'page'), { id: page, by: 'path' });
  const asked = gateway.asked.length;
  for (let time = 0; time < 3; time += 1) {
    assert.deepEqual(await manifests.resolve(described, 'page'), { id: page, by: 'path' });
  }
  assert.equal(gateway.asked.length, asked);
});
