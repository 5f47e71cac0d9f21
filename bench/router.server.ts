/**
 * The servers that router.bench.ts compares, chosen by the first argument. Gateways run in a process of their own,
 * so that the CPU time reported is the proxy's.
 */
import { type ChildProcess, fork } from 'node:child_process';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { Pool } from 'undici';
import { readConfig } from '../src/config/config.ts';
import { createLogger } from '../src/kernel/log.ts';
import { createRouterSurface } from '../src/router/surface.ts';
import { reportServer } from './report-server.ts';

const [mode = '', sizeText = '1024'] = process.argv.slice(2);
const size = Number(sizeText);
/** Content is made of this block; what is larger is sent block by block, so that nobody holds it. */
const block = Buffer.alloc(Math.min(size, 1024 * 1024), 'turnpike');

const modes: Record<string, () => Promise<string>> = {
  gateways: async () => {
    const urls = await Promise.all([0, 1, 2].map((index) => listen(gateway(index))));
    process.send?.(urls);
    // The proxy may be ended in a way that tells it nothing.
    process.on('disconnect', () => process.exit(0));
    return urls[0] ?? '';
  },
  'bare-bytes': () =>
    listen((_request, response) => {
      response.writeHead(200, { 'content-type': 'text/plain', 'content-length': block.length });
      response.end(block);
    }),
  'bare-proxy': async () => {
    const [first = ''] = await startGateways();
    const pool = new Pool(first, { connections: 64 });
    return await listen(async (request, response) => {
      const path = `/raw${request.url}`;
      const { statusCode, headers, body } = await pool.request({ method: 'GET', path });
      response.writeHead(statusCode, headers);
      body.pipe(response);
    });
  },
  'pass-through': () => router({ VERIFICATION_ENABLED: 'false' }),
  verified: () => router({ CONTENT_CACHE_ENABLED: 'false' }),
  cached: () => router({}),
  streamed: () => watched(router({ CONTENT_CACHE_ENABLED: 'false' })),
  kept: () => watched(router({})),
  'one-stalled': () => router({ VERIFICATION_ENABLED: 'false' }, '2'),
};

async function watched(started: Promise<string>): Promise<string> {
  const url = await started;
  watchMemory();
  return url;
}

/** Every id has the same bytes; a gateway may be told to stall. */
function gateway(index: number): RequestListener {
  const headers = {
    'content-type': 'text/plain',
    'content-length': size,
    'x-ar-io-digest': digest(),
  };
  const stalls = process.env.STALLED === String(index);
  return (request, response) => {
    if (stalls && request.method === 'GET') return;
    response.writeHead(200, headers);
    if (request.method === 'HEAD') response.end();
    else if (block.length === size) response.end(block);
    else Readable.from(blocks()).pipe(response);
  };
}

function* blocks(): Generator<Buffer> {
  for (let left = size; left > 0; left -= block.length) yield block.subarray(0, left);
}

function digest(): string {
  const hash = createHash('sha256');
  for (const one of blocks()) hash.update(one);
  return hash.digest('base64url');
}

/** How far memory rises, and how far above where it was when the server began to listen. */
function watchMemory(): void {
  const start = process.memoryUsage.rss();
  let most = start;
  setInterval(() => {
    most = Math.max(most, process.memoryUsage.rss());
  }, 10);
  process.on('message', (message) => {
    if (message === 'memory') process.send?.({ kind: 'memory', most, grown: most - start });
  });
}

async function startGateways(stalled = ''): Promise<string[]> {
  const child: ChildProcess = fork(import.meta.filename, ['gateways', sizeText], {
    env: { ...process.env, STALLED: stalled },
  });
  process.on('exit', () => child.kill());
  process.on('SIGTERM', () => process.exit(0));
  const [urls] = (await once(child, 'message')) as [string[]];
  return urls;
}

async function router(environment: Record<string, string>, stalled = ''): Promise<string> {
  const urls = await startGateways(stalled);
  const dataDir = mkdtempSync(join(tmpdir(), 'turnpike-bench-'));
  process.on('exit', () => rmSync(dataDir, { recursive: true, force: true }));
  const surface = createRouterSurface(
    readConfig({
      DATA_DIR: dataDir,
      PORT: '0',
      ADMIN_UI_ENABLED: 'false',
      ROUTING_STATIC_GATEWAYS: urls.join(','),
      ...environment,
    }),
    {
      log: createLogger({ name: 'bench', level: 'error', format: 'json' }),
      version: '0.0.0',
      localGatewayUrl: () => undefined,
    },
  );
  await surface.start();
  return surface.url;
}

async function listen(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

const url = await modes[mode]?.();
if (url === undefined) throw new Error(`there is no server "${mode}"`);
if (mode !== 'gateways') reportServer(url);
