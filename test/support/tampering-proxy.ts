/** Stands before a gateway and passes on what it answers, unless a test makes it lie, dawdle or die. */
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import { request } from 'undici';
import type { SeededRandom } from './seeded-random.ts';

export interface ProxiedAnswer {
  readonly method: string;
  readonly path: string;
  status: number;
  readonly headers: Record<string, string>;
  body: Buffer;
  /** Without `Content-Length`. */
  chunked: boolean;
}

/** Changes an answer on its way. */
export type Tampering = (answer: ProxiedAnswer) => void;

export class TamperingProxy {
  readonly #target: string;
  readonly #server: Server;
  tampering: Tampering | undefined;
  /** Before an answer begins. */
  delayMs = 0;
  /** Where there is one, no answer begins before it resolves. */
  gate: Promise<unknown> | undefined;
  /** Every connection is closed as soon as it is there. */
  dead = false;
  /** Answers that were changed. */
  lies = 0;

  constructor(target: string) {
    this.#target = target;
    this.#server = createServer((incoming, outgoing) => {
      this.#pass(incoming, outgoing).catch(() => outgoing.destroy());
    });
    this.#server.on('connection', (socket) => {
      if (this.dead) socket.destroy();
    });
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('the proxy does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  /** Honest, quick and alive again; old connections are closed. */
  reset(): void {
    this.tampering = undefined;
    this.delayMs = 0;
    this.gate = undefined;
    this.dead = false;
    this.lies = 0;
    this.#server.closeAllConnections();
  }

  die(): void {
    this.dead = true;
    this.#server.closeAllConnections();
  }

  async stop(): Promise<void> {
    this.#server.close();
    this.#server.closeAllConnections();
    await once(this.#server, 'close').catch(() => {});
  }

  async #pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const pieces: Buffer[] = [];
    for await (const piece of incoming) pieces.push(piece as Buffer);
    const { connection: _, host: __, 'content-length': ___, ...headers } = incoming.headers;
    const { method = 'GET', url = '/' } = incoming;
    const got = await request(`${this.#target}${url}`, {
      method: method === 'HEAD' || method === 'POST' ? method : 'GET',
      headers,
      ...(method === 'POST' ? { body: Buffer.concat(pieces) } : {}),
    });
    const answer: ProxiedAnswer = {
      method,
      path: url,
      status: got.statusCode,
      headers: Object.fromEntries(
        Object.entries(got.headers).flatMap(([name, value]) =>
          value === undefined || /^(connection|keep-alive|transfer-encoding)$/.test(name)
            ? []
            : [[name, [value].flat().join(', ')]],
        ),
      ),
      body: Buffer.from(await got.body.arrayBuffer()),
      chunked: false,
    };
    await this.gate;
    if (this.delayMs > 0) await new Promise((resolve) => setTimeout(resolve, this.delayMs));
    if (this.tampering !== undefined) {
      const before = fingerprint(answer);
      this.tampering(answer);
      if (fingerprint(answer) !== before) this.lies += 1;
    }
    if (answer.chunked) delete answer.headers['content-length'];
    else if (method !== 'HEAD') answer.headers['content-length'] = String(answer.body.length);
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(method === 'HEAD' ? undefined : answer.body);
  }
}

function fingerprint({ status, headers, body, chunked }: ProxiedAnswer): string {
  const digest = createHash('sha256').update(body).digest('hex');
  return JSON.stringify([status, headers, digest, chunked]);
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();
const isContent = ({ path, status }: ProxiedAnswer) => path.startsWith('/raw/') && status < 300;

/** One lie after the other about content, chosen by chance. */
export function contentLiar(random: SeededRandom): Tampering {
  const flip = (bytes: Buffer) => {
    const changed = Buffer.from(bytes);
    const at = random.below(Math.max(1, changed.length));
    if (changed.length > 0) changed[at] = (changed[at] ?? 0) ^ (1 << random.below(8));
    return changed;
  };
  const claim = (answer: ProxiedAnswer, bytes: Buffer) => {
    const digest = sha256(bytes);
    answer.headers['x-ar-io-digest'] = digest.toString('base64url');
    answer.headers.etag = `"${digest.toString('base64url')}"`;
    answer.headers['content-digest'] = `sha-256=:${digest.toString('base64')}:`;
  };
  const lies: readonly Tampering[] = [
    // A byte is another.
    (answer) => {
      answer.body = flip(answer.body);
    },
    // Other bytes with the hash that belongs to them, as a page.
    (answer) => {
      answer.body = flip(answer.body);
      answer.headers['content-type'] = 'text/html';
      claim(answer, answer.body);
    },
    // The right bytes with a wrong hash.
    (answer) => claim(answer, random.bytes(8)),
    // Too short, and says so.
    (answer) => {
      answer.body = answer.body.subarray(0, random.below(answer.body.length + 1));
    },
    // Too short with a clean end.
    (answer) => {
      answer.chunked = true;
      answer.body = answer.body.subarray(0, random.below(answer.body.length + 1));
    },
    // Too long.
    (answer) => {
      answer.chunked = random.below(2) === 0;
      answer.body = Buffer.concat([answer.body, random.bytes(1 + random.below(2_000))]);
    },
    // Something that is none of it.
    (answer) => {
      answer.body = random.bytes(answer.body.length);
      claim(answer, answer.body);
    },
  ];
  return (answer) => {
    if (isContent(answer)) random.pick(lies)(answer);
    // What signatures are checked with is wrong too.
    else if (/^\/(tx\/|graphql)/.test(answer.path)) answer.body = flip(answer.body);
  };
}

/** Says that every name points at this id. */
export function nameLiar(id: string): Tampering {
  return (answer) => {
    if (!answer.path.includes('/resolver/')) return;
    answer.status = 200;
    answer.headers['content-type'] = 'application/json';
    answer.body = Buffer.from(JSON.stringify({ txId: id, ttlSeconds: 60 }));
  };
}
