/** For tests: servers that answer as a test wants, and content that is read from them. Closed when the tests end. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after } from 'node:test';
import type { Unavailability } from '../../delivery/availability.ts';
import { HttpError } from '../../kernel/errors.ts';
import { createLogger } from '../../kernel/log.ts';
import { Metrics } from '../../kernel/metrics.ts';
import { HttpClient } from '../../outside/http.ts';
import { openBlobCache } from '../../storage/blobs/open.ts';
import type { GatewayIndex, Located } from '../chain-index/gateway-index.ts';
import { Unavailable } from '../errors.ts';
import { Content } from './content.ts';
import { createContentMetrics } from './metrics.ts';
import { otherGateways } from './sources/gateways.ts';
import { type ContentSource, ownJourney } from './sources/source.ts';
import { uploadedItems } from './sources/upload.ts';

let made = 0;
/** The same in every run, other bytes each time. */
export const someBytes = (size: number): Buffer =>
  createHash('shake256', { outputLength: size }).update(String(made++)).digest();

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const folder = mkdtempSync(join(tmpdir(), 'turnpike-content-'));
const cache = await openBlobCache({ folder, maxBytes: 64 * 1024 * 1024 });
const closing: (() => Promise<unknown> | undefined)[] = [];
after(async () => {
  for (const close of closing) await close();
  await cache.close();
  rmSync(folder, { recursive: true, force: true });
});

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
export const isCached = async (bytes: Buffer): Promise<boolean> => {
  const reader = await cache.open(sha256(bytes).toString('hex'));
  await reader?.close();
  return reader !== undefined;
};

type Handle = (request: IncomingMessage, response: ServerResponse) => void;

/** A server of the test's making; what was asked of it is kept. */
export async function serve(handle: Handle): Promise<{ url: string; asked: IncomingMessage[] }> {
  const asked: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    asked.push(request);
    handle(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closing.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  const address = server.address();
  assert.ok(typeof address === 'object' && address !== null);
  return { url: `http://127.0.0.1:${address.port}`, asked };
}

/** Answers as a gateway does, ranges too; `breakAt` is where in the content the connection breaks. */
export function gatewayWith(
  bytes: Buffer,
  options: { breakAt?: number; stall?: boolean; digest?: string } = {},
): Handle {
  return (request, response) => {
    const { breakAt = Number.POSITIVE_INFINITY, stall = false, digest } = options;
    const [, from, to] = /^bytes=(\d+)-(\d+)$/.exec(request.headers.range ?? '') ?? [];
    const start = Number(from ?? 0);
    const end = Math.min(Number(to ?? bytes.length - 1) + 1, bytes.length);
    response.writeHead(from === undefined ? 200 : 206, {
      'content-length': end - start,
      'content-type': 'image/png',
      ...(digest !== undefined && { 'x-ar-io-digest': digest }),
      ...(from !== undefined && { 'content-range': `bytes ${start}-${end - 1}/${bytes.length}` }),
    });
    if (breakAt >= end) response.end(bytes.subarray(start, end));
    else if (stall) response.write(bytes.subarray(start, breakAt));
    else response.write(bytes.subarray(start, breakAt), () => response.destroy());
  };
}

export const saying =
  (status: number): Handle =>
  (_request, response) =>
    response.writeHead(status).end();
export const silence: Handle = () => {};

function locatedAs(id: string, bytes: Buffer, hash: string | undefined): Located {
  return {
    id,
    kind: 'transaction',
    size: bytes.length,
    contentType: 'image/png',
    contentEncoding: undefined,
    ownerAddress: '',
    signatureType: 1,
    target: '',
    anchor: '',
    tags: [],
    placement: undefined,
    dataRoot: '',
    rootSize: bytes.length,
    rootEndOffset: undefined,
    height: 1,
    stable: false,
    hash,
    verified: false,
  };
}

interface Setting {
  readonly gateways: readonly string[];
  /** Those of them that will never say all: given up after a moment, where the others are waited for. */
  readonly hanging?: readonly string[];
  readonly upload?: string;
  readonly located?: Located;
  /** What the chain has: proven bytes, asked before any gateway. */
  readonly proven?: Buffer;
  readonly maxCachedBytes?: number;
  readonly lingerMs?: number;
  /** Looks at the chain; it has nothing, where this is not said. */
  makeKnown?(id: string): Promise<unknown>;
}

/** No process is held up for so long. */
const longTimeoutMs = 60_000;
const shortTimeoutMs = 300;

export function contentOver(setting: Setting) {
  const noted: string[] = [];
  const nothing = async () => undefined;
  let { located } = setting;
  const index: GatewayIndex = {
    height: 1,
    stableHeight: 0,
    locate: async (id) => (located?.id === id ? located : undefined),
    proof: nothing,
    chainTransaction: nothing,
    transactionsWithDataRoot: async () => [],
    statusInBlock: nothing,
    blockAt: nothing,
    blockById: nothing,
    blockJson: nothing,
    noteVerified: async (_id, hash) => noted.push(hash) > 0,
    forgetHash: async () => {
      if (located !== undefined) located = { ...located, hash: undefined };
    },
    noteEndOffset: nothing,
    unverified: async () => [],
  };
  const client = new HttpClient({ timeoutMs: longTimeoutMs, maxBytes: 64 * 1024 });
  const gateways = setting.gateways.map((url) => {
    const timeoutMs = setting.hanging?.includes(url) === true ? shortTimeoutMs : longTimeoutMs;
    const timeouts = { headTimeoutMs: timeoutMs, stallTimeoutMs: timeoutMs };
    // One that failed rests for as long as the test lasts.
    return otherGateways({ urls: [url], identity: 'me', client, ...timeouts, now: () => 0 });
  });
  const upload = uploadedItems(() => setting.upload, {
    headTimeoutMs: longTimeoutMs,
    stallTimeoutMs: longTimeoutMs,
  });
  closing.push(
    () => client.close(),
    () => upload.close(),
  );
  const content = new Content({
    index,
    cache,
    sources: [
      upload,
      ...(setting.proven === undefined ? [] : [chainWith(setting.proven)]),
      ...gateways.flatMap(({ sources }) => sources),
    ],
    metrics: createContentMetrics(new Metrics()),
    log,
    makeKnown: setting.makeKnown ?? (async () => false),
    maxCachedBytes: setting.maxCachedBytes ?? 16 * 1024 * 1024,
    ...(setting.lingerMs !== undefined && { lingerMs: setting.lingerMs }),
  });
  return {
    content,
    noted,
    /** A record is written, by whichever process. */
    index(record: Located): void {
      located = record;
    },
  };
}

function chainWith(bytes: Buffer): ContentSource {
  return {
    name: 'chunks',
    trusted: true,
    async open(_id, _located, range) {
      async function* stream() {
        yield bytes.subarray(range?.start, range?.end);
      }
      const said = { hash: undefined, contentType: undefined, contentEncoding: undefined };
      return { ...said, size: bytes.length, proven: true, hops: 0, stream: stream() };
    },
  };
}

export async function read(
  content: Content,
  id: string,
  range?: { start: number; end: number },
  journey = ownJourney,
): Promise<Buffer | undefined> {
  const described = await content.describe(id, journey);
  const opened = await content.open(described, range, journey, new AbortController().signal);
  if (opened.stream === undefined) return opened.bytes;
  const pieces: Buffer[] = [];
  for await (const piece of opened.stream) pieces.push(piece);
  return Buffer.concat(pieces);
}

export const withStatus = (status: number) => (error: unknown) => {
  assert.ok(error instanceof HttpError, String(error));
  assert.equal(error.status, status);
  return true;
};

export const unavailable = (state: Unavailability) => (error: unknown) => {
  assert.ok(error instanceof Unavailable, String(error));
  assert.equal(error.state, state);
  return true;
};

/** A new id, and bytes for it. */
export function something(size: number) {
  const bytes = someBytes(size);
  const changed = Buffer.from(bytes);
  changed[size - 1] = (changed[size - 1] ?? 0) ^ 1;
  const id = sha256(bytes).toString('base64url');
  return { id, bytes, changed, located: locatedAs(id, bytes, sha256(bytes).toString('base64url')) };
}
