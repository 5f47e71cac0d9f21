/** A gateway whose cache holds content of several kinds; or, with `bare`, plain `node:http` with the same bytes. */
import { createHash } from 'node:crypto';
import { createReadStream, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { buildManifest, manifestContentType } from '../src/formats/manifest/manifest.ts';
import type { Entry } from '../src/gateway/chain-index/records.ts';
import { digest, entry, header, rawTags } from '../src/gateway/chain-index/testing.ts';
import { openContentCache } from '../src/gateway/content/part.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { reportServer } from './report-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const small = Buffer.alloc(1_024, 'a');
const large = Buffer.alloc(1_024 * 1_024, 'b');
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

if (process.argv[2] === 'bare') {
  const file = join(folder, 'large');
  writeFileSync(file, large);
  const server = createServer((request, response) => {
    const size = request.url === '/large' ? large.length : small.length;
    response.writeHead(200, { 'content-type': 'text/plain', 'content-length': size });
    if (request.method === 'HEAD') response.end();
    else if (request.url === '/large') createReadStream(file).pipe(response);
    else response.end(small);
  }).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) reportServer(`http://127.0.0.1:${address.port}`);
  });
} else {
  const config = readConfig({
    DATA_DIR: folder,
    GATEWAY_PORT: '0',
    INDEX_SEED_PORT: '0',
    START_WRITERS: 'false',
    // With buckets that never run dry: what the counting costs.
    ...(process.argv[2] === 'metered' && {
      ENABLE_RATE_LIMITER: 'true',
      RATE_LIMITER_IP_TOKENS_PER_BUCKET: '1000000000000',
      RATE_LIMITER_RESOURCE_TOKENS_PER_BUCKET: '1000000000000',
    }),
  });
  const cache = await openContentCache(config);
  const { surface: gateway, index } = await createBenchGateway(config, { cache });
  await gateway.start();
  const manifest = buildManifest({ paths: new Map([['page', digest('small').toString('base64url')]]) });
  const bundle = Buffer.concat([Buffer.alloc(2_000), small, Buffer.alloc(2_000)]);
  for (const bytes of [small, large, manifest, bundle]) await cache.put(bytes);
  const content = (name: string, bytes: Buffer, type: string) =>
    entry(
      header(name, { dataSize: bytes.length, tags: rawTags({ 'Content-Type': type }) }),
      { height: 0, blockIndex: 0 },
      { hash: sha256(bytes), verified: true },
    );
  const write = async (entries: readonly Entry[]) => {
    const prepared = await index.writer.prepare(entries);
    await index.sql.transaction((tx) => index.writer.put(tx, prepared));
  };
  await write([
    content('small', small, 'text/plain'),
    content('large', large, 'text/plain'),
    content('manifest', manifest, manifestContentType),
    content('bundle', bundle, 'application/octet-stream'),
  ]);
  const root = (await index.recordOf(digest('bundle').toString('base64url'))) ?? 0;
  const place = {
    root,
    parent: root,
    parentOffset: 0,
    itemOffset: 1_900,
    dataOffset: 2_000,
    itemSize: 1_124,
  };
  await write([
    entry(
      header('item', { kind: 1, dataSize: small.length, tags: rawTags({ 'Content-Type': 'text/plain' }) }),
      { height: 0, blockIndex: 0 },
      { bundle: digest('bundle'), placed: place },
    ),
  ]);
  await index.sql.run("INSERT INTO chain_state (name, value) VALUES ('stable_height', 0)");
  await index.refresh();
  reportServer(gateway.url);
}
