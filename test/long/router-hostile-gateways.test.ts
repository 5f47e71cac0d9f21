/** Gateways of bare sockets that break every rule there is; beside two good ones they cost a reader nothing. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type Socket } from 'node:net';
import { describe, type TestContext, test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { type RouterBench, startRouterBench } from '../../src/router/testing/router-bench.ts';
import { type TestItem, testItem } from '../../src/router/testing/stub-gateway.ts';
import { until } from '../support/local-gateway.ts';

/** What a gateway of bare sockets does with one request; `item` is what was asked for, if it is content. */
type Conduct = (socket: Socket, item: TestItem | undefined, head: string) => void;

const items = await Promise.all(
  [200, 5_000, 300_000, 1_300_000, 2_000_000, 900].map((size, index) =>
    testItem(Buffer.alloc(size, `item ${index} `), 'text/plain'),
  ),
);
const sized = (item: TestItem) =>
  `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nX-Ar-Io-Digest: ${item.digest}\r\nContent-Length: ${item.data.length}\r\n`;

class RawGateway {
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();
  asked = 0;

  constructor(conduct: Conduct) {
    this.#server = createServer((socket) => {
      this.#sockets.add(socket);
      socket.on('close', () => this.#sockets.delete(socket));
      socket.on('error', () => {});
      let text = '';
      socket.on('data', (piece: Buffer) => {
        text += piece.toString('latin1');
        for (let end = text.indexOf('\r\n\r\n'); end !== -1; end = text.indexOf('\r\n\r\n')) {
          const head = text.slice(0, end);
          text = text.slice(end + 4);
          this.asked += 1;
          const id = /\/raw\/([\w-]{43})/.exec(head)?.[1];
          conduct(
            socket,
            items.find((item) => item.id === id),
            head,
          );
        }
      });
    });
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || address === null) throw new Error('it does not listen');
    return `http://127.0.0.1:${address.port}`;
  }

  async start(): Promise<this> {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    return this;
  }

  stop(): void {
    this.#server.close();
    for (const socket of this.#sockets) socket.destroy();
  }
}

async function benchWith(t: TestContext, conduct: Conduct) {
  const hostile = await new RawGateway(conduct).start();
  const bench = await startRouterBench({
    items,
    count: 2,
    others: [hostile.url],
    environment: {
      ROUTING_STRATEGY: 'round-robin',
      HTTP_REQUEST_TIMEOUT_MS: '2000',
      STREAM_TIMEOUT_MS: '10000',
      CIRCUIT_BREAKER_THRESHOLD: '1000',
    },
  });
  t.after(async () => {
    await bench.stop();
    hostile.stop();
  });
  return { bench, hostile };
}

/** Everything is served right, if need be at the second try: a large body may have been cut. */
async function servesAll(bench: RouterBench): Promise<void> {
  for (const item of items) {
    for (let attempt = 1; ; attempt += 1) {
      const got = await bench.get(`/${item.id}`).catch(() => undefined);
      if (got?.status === 200) {
        assert.ok(got.body.equals(item.data), 'whole and right');
        assert.equal(got.headers['content-type'], 'text/plain; charset=utf-8');
        assert.equal(got.headers['content-encoding'], undefined);
        break;
      }
      assert.ok(attempt < 4, `${item.data.length} bytes were not served: ${got?.status} ${got?.body}`);
    }
  }
}

const conducts: Record<string, Conduct> = {
  'sends for ever': (socket, item) => {
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nX-Ar-Io-Digest: ${item?.digest}\r\nTransfer-Encoding: chunked\r\n\r\n`,
    );
    const block = Buffer.alloc(65_536, 'for ever ');
    const more = (): void => {
      while (!socket.destroyed && socket.write(`10000\r\n${block}\r\n`));
      socket.once('drain', more);
    };
    more();
  },
  'sends more than it promised': (socket, item, head) => {
    if (item === undefined) socket.end('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    else if (head.startsWith('HEAD')) socket.write(`${sized(item)}\r\nand a body where there is none`);
    else
      socket.write(Buffer.concat([Buffer.from(`${sized(item)}\r\n`), item.data, Buffer.alloc(5_000, 'x')]));
  },
  'appends another answer': (socket, item) => {
    const forged = 'HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: 6\r\n\r\nforged';
    const first =
      item === undefined ? 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n' : `${sized(item)}\r\n`;
    socket.write(
      Buffer.concat([Buffer.from(first), item?.data ?? Buffer.alloc(0), Buffer.from(forged.repeat(3))]),
    );
  },
  'never ends its head': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\nX-A: ');
    const drip = setInterval(() => socket.write('x'), 20);
    socket.on('close', () => clearInterval(drip));
  },
  'has a head without end': (socket) => {
    socket.write('HTTP/1.1 200 OK\r\n');
    const more = (): void => {
      while (!socket.destroyed && socket.write(`X-${'a'.repeat(500)}: ${'b'.repeat(500)}\r\n`));
      socket.once('drain', more);
    };
    more();
  },
  'sends interim answers only': (socket) => {
    const drip = setInterval(() => socket.write('HTTP/1.1 103 Early Hints\r\nLink: </x>\r\n\r\n'), 5);
    socket.on('close', () => clearInterval(drip));
  },
  'sends readers round in circles': (socket, _item, head) => {
    const path = head.split(' ', 2)[1] ?? '/';
    socket.write(`HTTP/1.1 302 Found\r\nLocation: ${path}\r\nContent-Length: 0\r\n\r\n`);
  },
  'sends readers to addresses inside': (socket) => {
    socket.write('HTTP/1.1 307 Temporary\r\nLocation: http://169.254.169.254/\r\nContent-Length: 0\r\n\r\n');
  },
  'packs a bomb': (socket, item, head) => {
    const bomb = gzipSync(Buffer.alloc(50_000_000));
    socket.write(
      `HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Encoding: gzip\r\nX-Ar-Io-Digest: ${item?.digest}\r\nContent-Length: ${bomb.length}\r\n\r\n`,
    );
    if (!head.startsWith('HEAD')) socket.write(bomb);
  },
  'speaks no HTTP': (socket) => {
    socket.end('220 mail.example ESMTP\r\n');
  },
  'says nothing': () => {},
  'hangs up': (socket) => socket.destroy(),
  'breaks off in its head': (socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Le'),
  'contradicts itself about lengths': (socket, item) => {
    socket.write(`${item === undefined ? 'HTTP/1.1 200 OK\r\n' : sized(item)}Content-Length: 3\r\n\r\nabc`);
  },
  'mixes lengths and chunks': (socket, item) => {
    socket.write(
      `${item === undefined ? 'HTTP/1.1 200 OK\r\n' : sized(item)}Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n`,
    );
  },
  'breaks off in a chunk': (socket) => {
    socket.end('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\nabc');
  },
  'answers what was not asked': (socket, item, head) => {
    const other = items.find((one) => one !== item) ?? items[0];
    if (other === undefined) return;
    socket.write(`${sized(other)}\r\n`);
    if (!head.startsWith('HEAD')) socket.write(other.data);
  },
  'answers a part as the whole': (socket, item, head) => {
    if (item === undefined) socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    else if (head.startsWith('HEAD')) socket.write(`${sized(item)}\r\n`);
    else {
      const part = item.data.subarray(0, item.data.length >> 1);
      socket.write(
        `HTTP/1.1 206 Partial Content\r\nContent-Range: bytes 0-${part.length - 1}/${item.data.length}\r\nContent-Length: ${part.length}\r\n\r\n`,
      );
      socket.write(part);
    }
  },
  'sets cookies and policies': (socket, item, head) => {
    if (item === undefined) socket.write('HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n');
    else {
      socket.write(
        `${sized(item)}Set-Cookie: a=b; Domain=localhost\r\nStrict-Transport-Security: max-age=99999999\r\nRefresh: 0; url=https://evil.example\r\nContent-Disposition: attachment\r\nLink: </x>; rel=preload\r\n\r\n`,
      );
      if (!head.startsWith('HEAD')) socket.write(item.data);
    }
  },
};

describe('a router with two good gateways and one', { concurrency: 3 }, () => {
  for (const [what, conduct] of Object.entries(conducts)) {
    test(`that ${what} keeps nobody from reading`, async (t) => {
      const { bench, hostile } = await benchWith(t, conduct);
      await servesAll(bench);
      assert.ok(hostile.asked > 0, 'it was asked');
      for (const item of items) {
        // What is small is on its way to the disk when its reader has it.
        const got = await until(`${item.data.length} bytes from the cache`, async () => {
          const answer = await bench.get(`/${item.id}`);
          return answer.headers['x-cache'] === 'HIT' && answer;
        });
        assert.ok(got.body.equals(item.data));
        assert.doesNotMatch(
          Object.keys(got.headers).join(),
          /set-cookie|strict-transport|refresh|link|disposition/,
        );
      }
    });
  }
});
