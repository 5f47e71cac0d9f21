/** A gateway of real sockets whose honesty and health a test decides. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type Server,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { type ItemHeader, parseItemHeader } from '../../formats/ans104/item-header.ts';
import { parseRange } from '../../kernel/http/byte-ranges.ts';
import { ed25519Signer, signItem } from '../../wallets/data-items/signer.ts';
import { testEd25519Key } from '../../wallets/testing/keys.ts';

/** A signed data item, as all honest gateways have it. */
export interface TestItem {
  readonly id: string;
  readonly header: ItemHeader;
  /** Header and data, as it lies in a bundle. */
  readonly bytes: Buffer;
  readonly data: Buffer;
  readonly contentType: string;
  readonly digest: string;
}

export async function testItem(
  data: Buffer | string,
  contentType = 'text/plain',
  anchor?: Buffer,
): Promise<TestItem> {
  const bytes = Buffer.from(data);
  const contents = {
    data: bytes,
    tags: [{ name: 'Content-Type', value: contentType }],
    ...(anchor === undefined ? {} : { anchor }),
  };
  const item = await signItem(contents, ed25519Signer(testEd25519Key));
  const header = parseItemHeader(item);
  if (typeof header === 'string') throw new Error(header);
  const digest = createHash('sha256').update(bytes).digest('base64url');
  return { id: header.id, header, bytes: item, data: bytes, contentType, digest };
}

export interface Behaviour {
  /** In place of the item's own bytes. */
  bytes?: (item: TestItem) => Buffer;
  /** What it says the hash is; `none` says nothing. */
  digest?: (item: TestItem) => string | undefined;
  contentType?: string;
  /** Before the head of an answer. */
  delayMs?: number;
  /** Does not begin to answer before that. */
  until?: Promise<unknown>;
  /** Never begins to answer. */
  stalled?: boolean;
  /** Answers every question with this. */
  status?: number;
  headers?: Record<string, string>;
  /** Ends the connection after so many bytes of a body. */
  resetAfter?: number;
  /** Ends a chunked body cleanly after so many bytes. */
  truncateTo?: number;
  /** Sends so many bytes, then nothing. */
  stallAfter?: number;
  /** Sends so many bytes at a time, with a pause in between. */
  pace?: { readonly bytes: number; readonly everyMs: number };
  /** Sends for ever. */
  endless?: boolean;
  /** Without `Content-Length`. */
  chunked?: boolean;
  /** Hands over signed fields with this type in place of the signed one. */
  forgedType?: string;
  /** Has no signed fields to hand over. */
  proofless?: boolean;
}

export class StubGateway {
  readonly items = new Map<string, TestItem>();
  /** Name → id. */
  readonly names = new Map<string, { id: string; ttlSeconds: number; antId?: string }>();
  /** Further headers of content, by id. */
  readonly placements = new Map<string, Record<string, string>>();
  /** Answers to other paths. */
  readonly others = new Map<string, { readonly headers?: Record<string, string>; readonly body: string }>();
  readonly requests: string[] = [];
  /** The headers of each. */
  readonly heads: IncomingHttpHeaders[] = [];
  behaviour: Behaviour = {};
  readonly #server: Server;

  constructor(items: readonly TestItem[] = []) {
    for (const item of items) this.items.set(item.id, item);
    this.#server = createServer((request, response) => {
      void this.#answer(request, response).catch(() => response.destroy());
    });
  }

  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://127.0.0.1:${port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close').catch(() => {});
  }

  /** Ends every connection, stalled answers included. */
  dropConnections(): void {
    this.#server.closeAllConnections();
  }

  /** Told of every answer whose connection ended before it did. */
  onClose(cutOff: () => void): void {
    this.#server.on('request', (_request, response: ServerResponse) => {
      response.on('close', () => {
        if (!response.writableFinished) cutOff();
      });
    });
  }

  /** Resolves when the answer to such a question has gone out: whatever is sent from then on comes after it. */
  served(pattern: RegExp): Promise<void> {
    return new Promise((resolve) => {
      this.#server.on('request', ({ method, url }: IncomingMessage, response: ServerResponse) => {
        if (pattern.test(`${method} ${url}`)) response.on('finish', () => setImmediate(resolve));
      });
    });
  }

  count(pattern: RegExp): number {
    return this.requests.filter((request) => pattern.test(request)).length;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { behaviour } = this;
    const url = request.url ?? '/';
    this.requests.push(`${request.method} ${url}`);
    this.heads.push(request.headers);
    if (behaviour.stalled === true) return;
    if (behaviour.until !== undefined) await behaviour.until;
    if (behaviour.delayMs !== undefined) await new Promise((done) => setTimeout(done, behaviour.delayMs));
    if (behaviour.status !== undefined) {
      response.writeHead(behaviour.status, behaviour.headers).end('no');
      return;
    }
    const id = /^\/raw\/([\w-]{43})$/.exec(url)?.[1];
    const item = id === undefined ? undefined : this.items.get(id);
    if (item !== undefined) return this.#content(request, response, item);
    const name = /^\/ar-io\/resolver\/(.+)$/.exec(url)?.[1];
    const target = name === undefined ? undefined : this.names.get(decodeURIComponent(name));
    if (target !== undefined) {
      const { id: txId, ttlSeconds, antId } = target;
      return json(response, { txId, ttlSeconds, antId });
    }
    const other = this.others.get(url);
    if (other !== undefined) {
      response
        .writeHead(200, { 'content-length': Buffer.byteLength(other.body), ...other.headers })
        .end(request.method === 'HEAD' ? undefined : other.body);
      return;
    }
    if (url === '/graphql' && behaviour.proofless !== true) return await this.#graphql(request, response);
    if (url === '/ar-io/info' || url === '/info') return json(response, { release: 'stub' });
    response.writeHead(404, { 'content-type': 'text/plain' }).end('Not Found');
  }

  #content(request: IncomingMessage, response: ServerResponse, item: TestItem): void {
    const { behaviour } = this;
    const bytes = behaviour.bytes?.(item) ?? item.data;
    const digest = behaviour.digest === undefined ? item.digest : behaviour.digest(item);
    const range = parseRange(request.headers.range, bytes.length);
    if (range.kind === 'unsatisfiable') {
      response.writeHead(416, { 'content-range': `bytes */${bytes.length}` }).end();
      return;
    }
    const { start, end } = range.kind === 'ranges' ? range.spans[0] : { start: 0, end: bytes.length };
    const body = bytes.subarray(start, end);
    const headers: Record<string, string> = {
      'content-type': behaviour.contentType ?? item.contentType,
      'x-arweave-signature-type': String(item.header.signatureType),
      ...this.placements.get(item.id),
      ...behaviour.headers,
    };
    if (digest !== undefined) {
      headers['x-ar-io-digest'] = digest;
      headers.etag = `"${digest}"`;
    }
    const unsized =
      behaviour.chunked === true || behaviour.truncateTo !== undefined || behaviour.endless === true;
    if (!unsized) headers['content-length'] = String(body.length);
    if (range.kind === 'ranges') headers['content-range'] = `bytes ${start}-${end - 1}/${bytes.length}`;
    if (digest !== undefined && request.headers['if-none-match'] === `"${digest}"`) {
      response.writeHead(304, headers).end();
      return;
    }
    response.writeHead(range.kind === 'ranges' ? 206 : 200, headers);
    if (request.method === 'HEAD') response.end();
    else if (behaviour.endless === true) endless(response);
    else if (behaviour.truncateTo !== undefined) response.end(body.subarray(0, behaviour.truncateTo));
    else if (behaviour.resetAfter !== undefined) {
      response.write(body.subarray(0, behaviour.resetAfter), () => response.destroy());
    } else if (behaviour.pace !== undefined) paced(response, body, behaviour.pace);
    else if (behaviour.stallAfter !== undefined) response.write(body.subarray(0, behaviour.stallAfter));
    else response.end(body);
  }

  async #graphql(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of request) pieces.push(piece as Buffer);
    const { variables } = JSON.parse(Buffer.concat(pieces).toString()) as { variables: { id: string } };
    const item = this.items.get(variables.id);
    const header = item?.header;
    json(response, {
      data: {
        transaction:
          header === undefined
            ? null
            : {
                id: item?.id,
                anchor: header.anchor.toString('base64url'),
                signature: header.signature.toString('base64url'),
                recipient: header.target.toString('base64url'),
                owner: { key: header.owner.toString('base64url') },
                tags: header.tags.map(({ name, value }) => ({
                  name,
                  value: name === 'Content-Type' ? (this.behaviour.forgedType ?? value) : value,
                })),
              },
      },
    });
  }
}

function paced(response: ServerResponse, body: Buffer, { bytes, everyMs }: NonNullable<Behaviour['pace']>) {
  let sent = 0;
  const next = (): void => {
    if (response.destroyed) return;
    const piece = body.subarray(sent, sent + bytes);
    sent += piece.length;
    if (sent >= body.length) {
      response.end(piece);
      return;
    }
    response.write(piece);
    setTimeout(next, everyMs);
  };
  next();
}

function endless(response: ServerResponse): void {
  const block = Buffer.alloc(64 * 1024, 7);
  const next = (): void => {
    if (response.destroyed) return;
    if (response.write(block)) setImmediate(next);
    else response.once('drain', next);
  };
  next();
}

function json(response: ServerResponse, value: unknown): void {
  const text = JSON.stringify(value);
  response
    .writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) })
    .end(text);
}
