/** A router with much to do stays small: streams of any size, more ids than it can remember, a cache that is full. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { readdirSync, statSync } from 'node:fs';
import { createServer, get, type Server, type ServerResponse } from 'node:http';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { StubGateway, type TestItem, testItem } from '../../src/router/testing/stub-gateway.ts';
import { inspectable, liveMemoryOf } from '../support/live-memory.ts';
import { until } from '../support/local-gateway.ts';
import { readStrictly } from '../support/read-strictly.ts';
import { startStack } from '../support/stack.ts';

const mebibyte = 1024 * 1024;

function startRouter(gateways: readonly string[], environment: Record<string, string> = {}) {
  return startStack({
    only: ['router'],
    environment: {
      ARWEAVE_NODE_URLS: 'http://127.0.0.1:9',
      SOLANA_RPC_URL: 'http://127.0.0.1:9',
      ROUTING_STATIC_GATEWAYS: gateways.join(','),
      PING_ENABLED: 'false',
      ...environment,
    },
  });
}

async function figure(url: string, name: string): Promise<number> {
  const text = (await readStrictly(`${url}/router/metrics`)).body.toString();
  return Number(new RegExp(`^${name} (\\S+)$`, 'm').exec(text)?.[1]);
}

describe('a large body', () => {
  const size = 160 * mebibyte;
  const block = Buffer.alloc(mebibyte, 'a block of a very large file ');
  const id = Buffer.alloc(32, 9).toString('base64url');
  const hash = createHash('sha256');
  for (let sent = 0; sent < size; sent += block.length) hash.update(block);
  const digest = hash.digest('base64url');
  let gateways: Server[];
  /** Bytes that gateways got rid of. */
  let poured = 0;

  before(async () => {
    gateways = await Promise.all(
      [1, 2, 3].map(async () => {
        const server = createServer((request, response) => {
          if (request.url !== `/raw/${id}`) response.writeHead(404).end();
          else {
            response.writeHead(200, { 'content-length': size, 'x-ar-io-digest': digest });
            if (request.method === 'HEAD') response.end();
            else pour(response);
          }
        }).listen(0, '127.0.0.1');
        await once(server, 'listening');
        return server;
      }),
    );
  });
  after(() => {
    for (const server of gateways) {
      server.close();
      server.closeAllConnections();
    }
  });

  function pour(response: ServerResponse): void {
    let left = size / block.length;
    const next = (): void => {
      while (left > 0) {
        left -= 1;
        poured += block.length;
        if (left === 0) response.end(block);
        else if (!response.write(block)) {
          response.once('drain', next);
          return;
        }
      }
    };
    next();
  }

  /** When gateways get rid of nothing more: what is under way by then is in somebody's memory. */
  async function stillness(): Promise<void> {
    for (let last = -1; poured === 0 || (poured !== last && poured < size); ) {
      last = poured;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
  }

  /** Takes nothing for a while, then everything; only counts and hashes it. */
  function drink(url: string): Promise<{ digest: string; bytes: number; verified: unknown; ahead: number }> {
    return new Promise((resolve, reject) => {
      get(url, (response) => {
        response.pause();
        let ahead = 0;
        void stillness().then(() => {
          ahead = poured;
          response.resume();
        });
        const seen = createHash('sha256');
        let bytes = 0;
        response.on('data', (piece: Buffer) => {
          seen.update(piece);
          bytes += piece.length;
        });
        response.on('end', () =>
          resolve({
            digest: seen.digest('base64url'),
            bytes,
            verified: response.headers['x-router-verified'],
            ahead,
          }),
        );
        response.on('error', reject);
      }).on('error', reject);
    });
  }

  test('flows through at the pace of its reader, and nowhere in between is much of it', async (t) => {
    const urls = gateways.map((server) => {
      const address = server.address();
      return typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
    });
    const router = await startRouter(urls, { CONTENT_CACHE_MAX_SIZE_BYTES: String(1024 * mebibyte) });
    try {
      const url = router.urls.router ?? '';
      const { ahead, ...got } = await drink(`${url}/${id}`);
      assert.deepEqual(got, { digest, bytes: size, verified: 'true' });
      t.diagnostic(`${Math.round(ahead / mebibyte)} MiB were under way`);
      // Most of it in the buffers of two connections, which the system makes larger as it likes.
      assert.ok(ahead < 64 * mebibyte, `${Math.round(ahead / mebibyte)} MiB were under way`);
      assert.equal((await drink(`${url}/${id}`)).digest, digest, 'and from the cache');
      assert.equal(await figure(url, 'router_cache_hits_total'), 1);
    } finally {
      await router.stop();
    }
  });
});

describe('more ids than the cache holds', () => {
  const count = 5_600;
  const cacheBytes = 17 * mebibyte;
  let items: TestItem[];
  let gateways: StubGateway[];

  before(async () => {
    // The gateways agree on its hash; nobody needs thousands of signatures.
    const template = await testItem('a template');
    items = Array.from({ length: count }, (_, index) => {
      const id = Buffer.alloc(32);
      id.writeUInt32BE(index + 1);
      const data = Buffer.alloc(4_000, `content ${index} `);
      const digest = createHash('sha256').update(data).digest('base64url');
      return { ...template, id: id.toString('base64url'), data, digest };
    });
    gateways = await Promise.all([1, 2, 3].map(() => new StubGateway(items).start()));
  });
  after(() => Promise.all(gateways.map((gateway) => gateway.stop())));

  test('leave memory and disk within their bounds, and each is served right', {
    timeout: 600_000,
  }, async (t) => {
    const router = await startRouter(
      gateways.map(({ url }) => url),
      {
        CONTENT_CACHE_MAX_SIZE_BYTES: String(cacheBytes),
        CONTENT_MEMORY_CACHE_BYTES: String(4 * mebibyte),
        ...inspectable,
      },
    );
    try {
      const url = router.urls.router ?? '';
      const readRange = async (from: number, to: number) => {
        let next = from;
        await Promise.all(
          Array.from({ length: 16 }, async () => {
            for (let at = next++; at < to; at = next++) {
              const item = items[at];
              assert.ok(item !== undefined);
              const got = await readStrictly(`${url}/${item.id}`);
              assert.equal(got.status, 200);
              assert.ok(got.body.equals(item.data));
            }
          }),
        );
      };
      await readRange(0, 2_000);
      await until('all are on the disk: there is no hidden limit of entries', async () => {
        return (await figure(url, 'router_cache_entries')) === 2_000;
      });
      const early = await liveMemoryOf(router);
      await readRange(2_000, count);
      await until('all were on the disk', async () => {
        const kept = await figure(url, 'router_cache_entries');
        return kept + (await figure(url, 'router_cache_evictions_total')) === count;
      });
      const grown = (await liveMemoryOf(router)) - early;
      t.diagnostic(`grew by ${Math.round(grown / mebibyte)} MiB`);
      assert.ok(grown < 16 * mebibyte, `it grew by ${Math.round(grown / mebibyte)} MiB`);
      assert.ok((await figure(url, 'router_cache_bytes')) <= cacheBytes);
      assert.ok(
        (await figure(url, 'router_cache_entries')) > 4_000,
        'as many are kept as there is room for, not a number of them',
      );
      assert.ok((await figure(url, 'router_cache_evictions_total')) > 1_000);
      // What is evicted last is still being deleted.
      const onDisk = () => bytesBelow(join(router.dataDir, 'content-cache', 'blobs'));
      await until('the disk holds what the cache may', async () => onDisk() <= cacheBytes);
    } finally {
      await router.stop();
    }
  });

  function bytesBelow(folder: string): number {
    return readdirSync(folder, { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .reduce(
        (sum, entry) =>
          sum + (statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0),
        0,
      );
  }
});
