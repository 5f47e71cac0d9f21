/**
 * S3-compatible stores for tests, behind a front that fails on demand. The light one is s3rver, for which the front is
 * stricter than it: it computes every signature anew, compares the body's digest and entity tags, copies parts (which
 * s3rver cannot), knows which uploads are complete, and lets requests for one object take turns (s3rver fails when two
 * write it at once). A real one judges for itself.
 */
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import S3rver from 's3rver';
import { request } from 'undici';

export interface TestS3 {
  readonly url: string;
  /** `METHOD path?query`, as they came. */
  readonly requests: string[];
  /** The same once they were answered. */
  readonly answered: string[];
  /** Looks at each request first, and says what goes wrong with it. */
  fault: (request: string) => S3Fault | undefined;
  close(): Promise<void>;
}

/**
 * What goes wrong: refused with a status; `cut`: the answer breaks off half way; `lost`: it is done, and nobody hears of
 * it; or it is late.
 */
export type S3Fault =
  | number
  | 'cut'
  | 'lost'
  | { readonly status: number; readonly code: string; readonly headers?: Readonly<Record<string, string>> }
  | { readonly delayMs: number };

/** Answers a request at the store behind the front. */
type Backend = (incoming: IncomingMessage, body: Buffer) => Promise<Answer>;

interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly body: Buffer;
}

const accessKey = 'S3RVER';
/** s3rver's only secret. */
const secret = 'S3RVER';
const bucket = 'turnpike';

export async function startTestS3(): Promise<TestS3> {
  const directory = mkdtempSync(join(tmpdir(), 'turnpike-s3-'));
  const s3rver = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory,
    configureBuckets: [{ name: bucket }],
  });
  const origin = `http://127.0.0.1:${(await s3rver.run()).port}`;
  /** When the last request for each object is done. */
  const turns = new Map<string, Promise<unknown>>();
  const completed = new Set<string>();
  const front = await startFront(async (incoming, body) => {
    if (!isSigned(incoming, body)) return xmlError(403, 'SignatureDoesNotMatch');
    const { pathname, searchParams } = new URL(incoming.url ?? '', origin);
    const done = (turns.get(pathname) ?? Promise.resolve()).then(async () => {
      if (incoming.headers['x-amz-copy-source-range'] !== undefined) return copyPart(origin, incoming);
      const completes = incoming.method === 'POST' ? searchParams.get('uploadId') : null;
      if (completes !== null && completed.has(completes)) return xmlError(404, 'NoSuchUpload');
      const answer = await forward(origin, incoming, body, ['host', 'authorization']);
      if (completes !== null && answer.status === 200) completed.add(completes);
      const wanted = incoming.headers['if-match'];
      const isOther = wanted !== undefined && wanted !== answer.headers.etag;
      return isOther ? xmlError(412, 'PreconditionFailed') : answer;
    });
    turns.set(
      pathname,
      done.catch(() => {}),
    );
    return await done;
  });
  return testS3(front, `s3://${accessKey}:${secret}@127.0.0.1:${front.port}/${bucket}`, async () => {
    await s3rver.close();
    rmSync(directory, { recursive: true, force: true });
  });
}

/** Before a store at `s3://…` that looks after signatures and turns itself; it goes on when the front is closed. */
export async function startFaultyS3(store: string): Promise<TestS3> {
  const url = new URL(store);
  const origin = `http://${url.host}`;
  const front = await startFront((incoming, body) => forward(origin, incoming, body, []));
  // Requests are signed for the host that they are sent to.
  url.host = `127.0.0.1:${front.port}`;
  return testS3(front, url.href, async () => {});
}

interface Front extends Pick<TestS3, 'requests' | 'answered' | 'fault'> {
  readonly port: number;
  stop(): Promise<void>;
}

function testS3(front: Front, url: string, close: () => Promise<void>): TestS3 {
  return Object.assign(front, {
    url,
    close: async () => {
      await front.stop();
      await close();
    },
  });
}

async function startFront(backend: Backend): Promise<Front> {
  const server = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  const front: Front = {
    port: address.port,
    requests: [],
    answered: [],
    fault: () => undefined,
    async stop() {
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    },
  };
  return front;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const asked = `${incoming.method} ${incoming.url}`;
    front.requests.push(asked);
    response.on('finish', () => front.answered.push(asked));
    const fault = front.fault(asked);
    if (typeof fault === 'number') return send(response, incoming, xmlError(fault, 'Injected'));
    if (typeof fault === 'object' && 'status' in fault) {
      return send(response, incoming, xmlError(fault.status, fault.code, fault.headers));
    }
    if (typeof fault === 'object') await sleep(fault.delayMs);
    const answer = await backend(incoming, body);
    if (fault === 'lost') {
      response.destroy();
    } else if (fault === 'cut') {
      response.writeHead(answer.status, answer.headers);
      response.write(answer.body.subarray(0, answer.body.length / 2), () => response.destroy());
    } else {
      send(response, incoming, answer);
    }
  }
}

function send(response: ServerResponse, incoming: IncomingMessage, { status, headers, body }: Answer): void {
  response.writeHead(status, headers);
  response.end(incoming.method === 'HEAD' ? undefined : body);
}

function xmlError(status: number, code: string, headers: Answer['headers'] = {}): Answer {
  return { status, headers, body: Buffer.from(`<Error><Code>${code}</Code></Error>`) };
}

async function forward(
  origin: string,
  incoming: IncomingMessage,
  body: Buffer,
  withheld: readonly string[],
): Promise<Answer> {
  const headers = Object.entries(incoming.headers).filter(
    ([name]) => !withheld.includes(name) && name !== 'connection' && name !== 'transfer-encoding',
  );
  const answer = await request(origin + incoming.url, {
    method: incoming.method ?? 'GET',
    headers: Object.fromEntries(headers.map(([name, value]) => [name, String(value)])),
    ...(body.length > 0 && { body }),
  });
  const { connection: _connection, 'transfer-encoding': _encoding, ...passed } = answer.headers;
  return { status: answer.statusCode, headers: passed, body: Buffer.from(await answer.body.arrayBuffer()) };
}

async function copyPart(origin: string, incoming: IncomingMessage): Promise<Answer> {
  const source = String(incoming.headers['x-amz-copy-source']);
  const range = String(incoming.headers['x-amz-copy-source-range']);
  const { body, statusCode } = await request(origin + source, { headers: { range } });
  const bytes = Buffer.from(await body.arrayBuffer());
  if (statusCode !== 206) throw new Error(`copy source answered ${statusCode}`);
  const put = await request(origin + incoming.url, { method: 'PUT', body: bytes });
  await put.body.dump();
  const told = `<CopyPartResult><ETag>${String(put.headers.etag)}</ETag></CopyPartResult>`;
  return { status: 200, headers: {}, body: Buffer.from(told) };
}

/** AWS Signature Version 4, after its specification and not after the client's library. */
function isSigned(incoming: IncomingMessage, body: Buffer): boolean {
  const authorization =
    /^AWS4-HMAC-SHA256 Credential=([^/]+)\/(\d{8})\/([^/]+)\/s3\/aws4_request, SignedHeaders=([^,]+), Signature=([0-9a-f]{64})$/.exec(
      incoming.headers.authorization ?? '',
    );
  if (authorization === null) return false;
  const [, key = '', date = '', region = '', signedHeaders = '', signature] = authorization;
  const digest = createHash('sha256').update(body).digest('hex');
  if (key !== accessKey || incoming.headers['x-amz-content-sha256'] !== digest) return false;
  const url = new URL(incoming.url ?? '', 'http://front');
  const query = [...url.searchParams]
    .map(([name, value]) => `${encodeURIComponent(name)}=${encodeURIComponent(value)}`)
    .sort()
    .join('&');
  const headers = signedHeaders.split(';').map((name) => `${name}:${incoming.headers[name]}\n`);
  const path = url.pathname.split('/').map((part) => rfc3986(decodeURIComponent(part)));
  const canonical = [incoming.method, path.join('/'), query, headers.join(''), signedHeaders, digest].join(
    '\n',
  );
  const scope = `${date}/${region}/s3/aws4_request`;
  const hashed = createHash('sha256').update(canonical).digest('hex');
  const toSign = ['AWS4-HMAC-SHA256', incoming.headers['x-amz-date'], scope, hashed].join('\n');
  const signingKey = [date, region, 's3', 'aws4_request'].reduce<string | Buffer>(
    (previous, next) => createHmac('sha256', previous).update(next).digest(),
    `AWS4${secret}`,
  );
  return createHmac('sha256', signingKey).update(toSign).digest('hex') === signature;
}

function rfc3986(text: string): string {
  return encodeURIComponent(text).replace(
    /[!'()*]/g,
    (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`,
  );
}
