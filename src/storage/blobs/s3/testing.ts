/**
 * An S3-compatible store for tests: s3rver behind a front that is stricter than it. The front computes every
 * signature anew and compares the body's digest, copies parts (which s3rver cannot), lets requests for one object
 * take turns (s3rver fails when two write it at once), and fails on demand.
 */
import { createHash, createHmac } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import S3rver from 's3rver';
import { request } from 'undici';

export interface TestS3 {
  readonly url: string;
  /** `METHOD path?query`, as they came. */
  readonly requests: string[];
  /** The same once they were answered. */
  readonly answered: string[];
  /** Looks at each request first: answers a status to fail it with, or `cut` to drop the connection half way. */
  fault: (request: string) => number | 'cut' | undefined;
  close(): Promise<void>;
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
  const front = createServer((incoming, response) => {
    serve(incoming, response).catch(() => response.destroy());
  });
  await new Promise<void>((listening) => front.listen(0, '127.0.0.1', listening));
  const address = front.address();
  if (address === null || typeof address === 'string') throw new Error('no port');

  /** When the last request for each object is done. */
  const turns = new Map<string, Promise<void>>();
  const started: TestS3 = {
    url: `s3://${accessKey}:${secret}@127.0.0.1:${address.port}/${bucket}`,
    requests: [],
    answered: [],
    fault: () => undefined,
    async close() {
      front.closeAllConnections();
      await new Promise((closed) => front.close(closed));
      await s3rver.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
  return started;

  async function serve(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece);
    const body = Buffer.concat(pieces);
    const asked = `${incoming.method} ${incoming.url}`;
    started.requests.push(asked);
    response.on('finish', () => started.answered.push(asked));
    const fault = started.fault(asked);
    if (typeof fault === 'number') {
      response.writeHead(fault).end('<Error><Code>Injected</Code></Error>');
    } else if (!isSigned(incoming, body)) {
      response.writeHead(403).end('<Error><Code>SignatureDoesNotMatch</Code></Error>');
    } else {
      const isPart = incoming.headers['x-amz-copy-source-range'] !== undefined;
      const [path = ''] = incoming.url?.split('?') ?? [];
      await inTurn(path, () =>
        isPart ? copyPart(incoming, response) : forward(incoming, body, response, fault === 'cut'),
      );
    }
  }

  async function inTurn(path: string, work: () => Promise<void>): Promise<void> {
    const done = (turns.get(path) ?? Promise.resolve()).then(work);
    turns.set(
      path,
      done.catch(() => {}),
    );
    await done;
  }

  async function forward(
    incoming: IncomingMessage,
    body: Buffer,
    response: ServerResponse,
    cut: boolean,
  ): Promise<void> {
    const { host: _host, authorization: _authorization, ...headers } = incoming.headers;
    const answer = await request(origin + incoming.url, {
      method: incoming.method ?? 'GET',
      headers: Object.fromEntries(Object.entries(headers).map(([name, value]) => [name, String(value)])),
      ...(body.length > 0 && { body }),
    });
    const bytes = Buffer.from(await answer.body.arrayBuffer());
    response.writeHead(answer.statusCode, answer.headers);
    if (!cut) {
      response.end(incoming.method === 'HEAD' ? undefined : bytes);
      return;
    }
    response.write(bytes.subarray(0, bytes.length / 2), () => response.destroy());
  }

  async function copyPart(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const source = String(incoming.headers['x-amz-copy-source']);
    const range = String(incoming.headers['x-amz-copy-source-range']);
    const { body, statusCode } = await request(origin + source, { headers: { range } });
    const bytes = Buffer.from(await body.arrayBuffer());
    if (statusCode !== 206) throw new Error(`copy source answered ${statusCode}`);
    const put = await request(origin + incoming.url, { method: 'PUT', body: bytes });
    await put.body.dump();
    response.end(`<CopyPartResult><ETag>${String(put.headers.etag)}</ETag></CopyPartResult>`);
  }
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
  const canonical = [incoming.method, url.pathname, query, headers.join(''), signedHeaders, digest].join(
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
