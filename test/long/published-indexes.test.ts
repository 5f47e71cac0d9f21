/** Two gateways, each a process of its own: one publishes its index, the other finds content by it. */
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { request as ask, createServer, type Server } from 'node:http';
import { resolve } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { promisify } from 'node:util';
import { bundleTags, encodeBundleHeader } from '../../src/formats/ans104/bundle-header.ts';
import { makeItem } from '../support/admin-gateway.ts';
import { makeTransaction, text, until } from '../support/local-gateway.ts';
import { program } from '../support/program.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const root = resolve(import.meta.dirname, '../..');

/** What stands between the two: lets the signed document through, and the rest as long as it is not broken. */
class Road {
  readonly server: Server;
  to = '';
  broken: 'not' | 'answers 503' | 'is cut' = 'not';
  bytesAsked = 0;

  constructor() {
    this.server = createServer((request, response) => {
      if (request.url !== '/gw/indexes') {
        this.bytesAsked += 1;
        if (this.broken === 'is cut') return void request.socket.destroy();
        if (this.broken === 'answers 503') return void response.writeHead(503, { 'retry-after': '60' }).end();
      }
      const onward = ask(`${this.to}${request.url}`, { headers: request.headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 500, answer.headers);
        answer.pipe(response);
      });
      onward.on('error', () => response.destroy());
      onward.end();
    });
  }

  async open(): Promise<string> {
    this.server.listen(0, '127.0.0.1');
    await once(this.server, 'listening');
    const address = this.server.address();
    assert.ok(typeof address === 'object' && address !== null);
    return `http://127.0.0.1:${address.port}`;
  }

  close(): void {
    this.server.close();
    this.server.closeAllConnections();
  }
}

/** A value of a gateway's metrics. */
async function metric(gateway: string | undefined, name: string): Promise<number> {
  const lines = (await text(`${gateway}/gw/__gateway_metrics`)).split('\n');
  return Number(lines.find((line) => line.startsWith(`${name} `))?.split(' ')[1] ?? 0);
}

describe('published indexes', () => {
  const road = new Road();
  /** The way to the web seed. */
  const seedRoad = new Road();
  let a: RunningStack;
  let settings: Record<string, string>;
  let url: string;

  before(async () => {
    url = await road.open();
    settings = {
      INDEX_PUBLIC_URL: await seedRoad.open(),
      INDEX_BAND_HEIGHTS: '1000',
      GATEWAY_POLL_INTERVAL_MS: '50',
    };
    a = await startStack({ only: ['gateway'], environment: settings });
    road.to = a.urls.gateway ?? '';
    seedRoad.to = road.to;
  });
  after(async () => {
    await a?.stop();
    road.close();
    seedRoad.close();
  });

  /** The road between the gateways stays open meanwhile. */
  async function turnpike(...args: string[]): Promise<string> {
    const run = await promisify(execFile)(process.execPath, [program, ...args], {
      cwd: root,
      env: { ...process.env, ...freePorts(), ...settings, DATA_DIR: a.dataDir, LOG_LEVEL: 'warn' },
    });
    return run.stdout;
  }

  /** A new item on the chain, indexed by A, in A's next publication. */
  async function publish(content: string): Promise<string> {
    const item = await makeItem({
      data: Buffer.from(content),
      tags: [{ name: 'Content-Type', value: 'text/plain' }],
    });
    const other = await makeItem({ data: Buffer.alloc(300_000, content) });
    const items = [other, item];
    const header = encodeBundleHeader(
      items.map(({ id, bytes }) => ({ id: Buffer.from(id, 'base64url'), size: bytes.length })),
    );
    const data = Buffer.concat([header, ...items.map(({ bytes }) => bytes)]);
    const { post } = await makeTransaction(a.urls.arweave ?? '', data, [...bundleTags]);
    await post();
    await text(`${a.urls.arweave}/mine`);
    await until('A has indexed the item', async () => (await heightOf(item.id)) !== undefined);
    assert.match(await turnpike('index', 'build'), /built d-h0-tip-/);
    assert.match(await turnpike('index', 'publish'), /^published: sequence \d+, 1 bands/);
    return item.id;
  }

  async function heightOf(id: string): Promise<unknown> {
    const query = `{ transaction(id: "${id}") { block { height } } }`;
    const answer = await text(`${a.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return JSON.parse(answer).data?.transaction?.block?.height;
  }

  async function subscribe(): Promise<RunningStack> {
    const publication: unknown = JSON.parse(await text(`${url}/gw/indexes`));
    assert.ok(typeof publication === 'object' && publication !== null && 'publisher' in publication);
    return startStack({
      only: ['gateway'],
      environment: {
        ARWEAVE_NODE_URLS: a.urls.arweave ?? '',
        ANS104_UNBUNDLE_FILTER: '{"never":true}',
        GATEWAY_POLL_INTERVAL_MS: '50',
        INDEX_SUBSCRIBE: JSON.stringify([{ publisher: publication.publisher, url }]),
        INDEX_POLL_INTERVAL_SECONDS: '1',
      },
    });
  }

  async function read(gateway: string | undefined, id: string): Promise<string | undefined> {
    const answer = await fetch(`${gateway}/raw/${id}`);
    const body = await answer.text();
    return answer.status === 200 ? body : undefined;
  }

  test('what is built and published beside a running gateway is served by it with no further set-up', async () => {
    const nothing = await fetch(`${a.urls.gateway}/gw/indexes`);
    assert.equal(nothing.status, 404);
    assert.match(await turnpike('index', 'build'), /1 bands built/);
    await turnpike('index', 'publish');
    assert.equal((await fetch(`${a.urls.gateway}/gw/indexes`)).status, 200);
    assert.match(
      await turnpike('index', 'verify', a.urls.gateway ?? ''),
      /signed by .*, sequence 1, expires/,
    );
    assert.match(await turnpike('index', 'list'), /root-tx-index \(cdb64-root-tx\)/);
  });

  test('a gateway serves items that it knows only from the index of another, and follows its changes', async () => {
    road.broken = 'not';
    const first = await publish('known from afar');
    const b = await subscribe();
    try {
      await until(
        'B serves the first',
        async () => (await read(b.urls.gateway, first)) === 'known from afar',
      );
      const second = await publish('published later');
      await until('B follows', async () => (await read(b.urls.gateway, second)) === 'published later');
      assert.equal(await read(b.urls.gateway, first), 'known from afar');
      assert.equal(await metric(b.urls.gateway, 'index_subscription_bytes_total{from="webseed"}'), 0);
      assert.ok((await metric(b.urls.gateway, 'index_subscription_bytes_total{from="http"}')) > 0);
      // The old one goes once the new one is in use.
      await until(
        'one band is left',
        async () => (await metric(b.urls.gateway, 'index_swarm_installed_bands')) === 1,
      );
    } finally {
      await b.stop();
    }
  });

  for (const broken of ['answers 503', 'is cut'] as const) {
    test(`the same by its web seed, when the address of the publisher ${broken} for all but the document`, async () => {
      const first = await publish(`by web seed while HTTP ${broken}`);
      road.broken = broken;
      road.bytesAsked = 0;
      const b = await subscribe();
      try {
        await until('B serves the first', async () => (await read(b.urls.gateway, first)) !== undefined);
        const second = await publish(`and later while HTTP ${broken}`);
        await until('B follows', async () => (await read(b.urls.gateway, second)) !== undefined);
        assert.equal(await read(b.urls.gateway, first), `by web seed while HTTP ${broken}`);
        assert.ok(road.bytesAsked > 0, 'the broken way was tried');
        const taken = await metric(b.urls.gateway, 'index_subscription_bytes_total{from="webseed"}');
        assert.ok(taken > 2 * 4096, `${taken} bytes came from the web seed`);
        assert.equal(await metric(b.urls.gateway, 'index_subscription_bytes_total{from="http"}'), 0);
      } finally {
        await b.stop();
        road.broken = 'not';
      }
    });
  }
});
