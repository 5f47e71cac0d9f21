/** A gateway that publishes one file of 1 MiB; or, with `bare`, `createReadStream().pipe(res)` of the same. */
import { generateKeyPairSync } from 'node:crypto';
import { createReadStream, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { readConfig } from '../src/config/config.ts';
import { indexFolders } from '../src/gateway/published-indexes/folders.ts';
import { sha256Hex, signPublication } from '../src/gateway/published-indexes/publication/document.ts';
import { observerOf } from '../src/gateway/published-indexes/publication/observer.ts';
import { createBenchGateway } from './bench-gateway.ts';
import { reportServer } from './report-server.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
process.on('exit', () => rmSync(folder, { recursive: true, force: true }));
const bytes = Buffer.alloc(1024 * 1024, 'b');
const { blobs, document } = indexFolders(folder);
mkdirSync(blobs, { recursive: true });
const sha256 = sha256Hex(bytes);
writeFileSync(join(blobs, sha256), bytes);

if (process.argv[2] === 'bare') {
  const server = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': bytes.length });
    createReadStream(join(blobs, sha256)).pipe(response);
  }).listen(0, '127.0.0.1', () => {
    const address = server.address();
    if (typeof address === 'object' && address !== null) reportServer(`http://127.0.0.1:${address.port}`);
  });
} else {
  const observer = observerOf(generateKeyPairSync('ed25519').privateKey);
  const now = Date.now();
  writeFileSync(
    document,
    signPublication(
      {
        version: 1,
        publisher: observer.address,
        sequence: 1,
        previousManifestSha256: null,
        issuedAt: new Date(now).toISOString(),
        expiresAt: new Date(now + 3_600_000).toISOString(),
        indexes: [
          {
            name: 'bench',
            kind: 'cdb64-root-tx',
            bands: [{ id: 'band', files: [{ name: '00.cdb', size: bytes.length, sha256 }] }],
          },
        ],
      },
      observer,
    ),
  );
  const config = readConfig({ DATA_DIR: folder, GATEWAY_PORT: '0', START_WRITERS: 'false' });
  const { surface } = await createBenchGateway(config);
  await surface.start();
  reportServer(surface.url);
}
