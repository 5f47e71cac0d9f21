/**
 * The router before three real gateways, of which one lies, one is slow and one is dead, in turn: whatever a
 * client takes for complete is right, and reading goes on.
 */
import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { buildManifest, manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { withCharset } from '../../src/formats/media-type.ts';
import { readStrictly, type StrictRead } from '../support/read-strictly.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { contentLiar, nameLiar } from '../support/tampering-proxy.ts';
import { startThreeGateways, type ThreeGateways } from '../support/three-gateways.ts';

interface Content {
  readonly id: string;
  readonly data: Buffer;
  readonly type: string;
}

interface Wanted {
  readonly url: string;
  readonly host?: string;
  readonly data: Buffer;
  readonly type: string;
}

describe('three gateways: one lies, one is slow, one is dead', () => {
  const random = seededRandom(9);
  let field: ThreeGateways;
  let wanted: Wanted[];
  let other: Content;
  /** How content was proven. */
  const methods = new Set<string>();

  before(async () => {
    field = await startThreeGateways();
    const post = async (size: number, type: string): Promise<Content> => {
      const data = random.bytes(size);
      return { id: await field.post(data, type), data, type };
    };
    const upload = async (data: Buffer, type: string): Promise<Content> => ({
      id: await field.upload(data, type),
      data,
      type,
    });
    const contents = [
      await post(700, 'text/plain'),
      await post(300_000, 'image/png'),
      await post(1_700_000, 'video/mp4'),
      await upload(random.bytes(1), 'text/plain'),
      await upload(random.bytes(40_000), 'text/css'),
      await upload(random.bytes(2_300_000), 'application/zip'),
    ];
    other = await upload(Buffer.from('the wrong site'), 'text/html');
    const files = contents.map((content, index) => [`files/${index} ü.bin`, content] as const);
    const paths = new Map(files.map(([path, { id }]) => [path, id]));
    const manifest = await upload(
      buildManifest({ paths, indexPath: files[1]?.[0] ?? '' }),
      manifestContentType,
    );
    await field.everywhere(...contents.map(({ id }) => id), other.id, manifest.id);
    // Gateways tell the hash of what they have read; of the others, only the signature can be had.
    await field.warm(...contents.filter((_, index) => index % 2 === 0).map(({ id }) => id));
    await field.buyName('strict-reader', manifest.id);
    wanted = [
      ...contents.map(({ id, data, type }) => ({ url: `/${id}`, data, type })),
      ...files.map(([path, { data, type }]) => ({ url: `/${manifest.id}/${encodeURI(path)}`, data, type })),
      ...files.map(([path, { data, type }]) => ({
        url: `/${encodeURI(path)}`,
        host: 'strict-reader.localhost',
        data,
        type,
      })),
      {
        url: '/',
        host: 'strict-reader.localhost',
        data: contents[1]?.data ?? Buffer.alloc(0),
        type: 'image/png',
      },
      { url: `/raw/${manifest.id}`, data: manifest.data, type: manifestContentType },
    ];
  });
  after(() => field?.stop());

  /** One read, whole or in part; throws for bytes that a client would take for right although they are not. */
  async function read(router: string, { url, host, data, type }: Wanted): Promise<StrictRead> {
    const part = random.below(3) === 0 && data.length > 2;
    const start = random.below(data.length);
    const end = start + random.below(data.length - start);
    const got = await readStrictly(`${router}${url}`, {
      ...(host === undefined ? {} : { host }),
      headers: part ? { range: `bytes=${start}-${end}` } : {},
    });
    if (!got.complete || got.status >= 400) return got;
    const right = got.status === 206 ? data.subarray(start, end + 1) : data;
    assert.ok(got.body.equals(right), `wrong bytes were accepted: ${host ?? ''}${url}`);
    assert.equal(got.headers['content-type'], withCharset(type));
    assert.equal(got.headers['x-router-verified'], 'true');
    methods.add(String(got.headers['x-router-verification-method']));
    return got;
  }

  /** Everything in random order, some of it at once. A large body may be cut; whoever asks again gets it. */
  async function readAll(router: string): Promise<{ cuts: number; errors: number }> {
    const queue = [...wanted].sort(() => random.below(3) - 1);
    const seen = { cuts: 0, errors: 0 };
    const worker = async () => {
      for (let one = queue.pop(); one !== undefined; one = queue.pop()) {
        for (let attempt = 1; ; attempt += 1) {
          const got = await read(router, one);
          if (got.complete && got.status < 300) break;
          if (got.complete) seen.errors += 1;
          else seen.cuts += 1;
          assert.ok(attempt < 4, `${one.url} was not served: ${got.status} ${got.body.subarray(0, 300)}`);
        }
      }
    };
    await Promise.all([worker(), worker(), worker(), worker()]);
    return seen;
  }

  async function withRouter(environment: Record<string, string>, work: (url: string) => Promise<void>) {
    const router = await field.startRouter(environment);
    try {
      await work(router.urls.router ?? '');
      await router.end();
      return router.log();
    } finally {
      await router.stop();
      for (const proxy of field.proxies) proxy.reset();
    }
  }

  function turn(number: number) {
    const [liar, slow, dead] = [0, 1, 2].map((index) => field.proxies[(number + index) % 3]);
    assert.ok(liar !== undefined && slow !== undefined && dead !== undefined);
    return { liar, slow, dead };
  }
  const uncached = { CONTENT_CACHE_ENABLED: 'false' };

  test('all three faults at once, met by a router that knows none of them', async () => {
    const { liar, slow, dead } = turn(0);
    liar.tampering = contentLiar(random);
    slow.delayMs = 200;
    dead.die();
    await withRouter({ ROUTING_STRATEGY: 'round-robin' }, async (url) => {
      await readAll(url);
      assert.ok(liar.lies > 0, 'it did lie');
      // Names need two that can be asked: once both others are found out, there is only one.
      const { body } = await readStrictly(`${url}/router/ready`);
      assert.doesNotMatch(body.toString(), /No healthy gateways/);
    });
  });

  test('one lies, then another is slow, then the third dies', async () => {
    const { liar, slow, dead } = turn(1);
    await withRouter({ ...uncached, ROUTING_STRATEGY: 'temperature' }, async (url) => {
      liar.tampering = contentLiar(random);
      await readAll(url);
      assert.ok(liar.lies > 0, 'it did lie');
      slow.delayMs = 100;
      await readAll(url);
      dead.die();
      await readAll(url);
    });
  });

  test('one dies, then another is slow, then the third lies until it is found out', async () => {
    const { liar, slow, dead } = turn(2);
    await withRouter({ ...uncached, ROUTING_STRATEGY: 'random' }, async (url) => {
      dead.die();
      await readAll(url);
      slow.delayMs = 100;
      await readAll(url);
      liar.tampering = contentLiar(random);
      await readAll(url);
    });
  });

  test('a gateway that lies about names changes nobody’s site and is named in metrics and log', async () => {
    const { liar } = turn(0);
    // It is heard first: who answers after the others agree is not asked any more.
    const lied = Promise.withResolvers<void>();
    const lie = nameLiar(other.id);
    liar.tampering = (answer) => {
      lie(answer);
      if (answer.path.includes('/resolver/')) lied.resolve();
    };
    for (const proxy of field.proxies) {
      if (proxy === liar) continue;
      proxy.gate = lied.promise;
      proxy.delayMs = 100;
    }
    const log = await withRouter({}, async (url) => {
      const got = await readStrictly(`${url}/`, { host: 'strict-reader.localhost' });
      assert.equal(got.status, 200);
      assert.ok(got.body.equals(wanted.at(-2)?.data ?? Buffer.alloc(0)));
      const metrics = (await readStrictly(`${url}/router/metrics`)).body.toString();
      assert.ok(metrics.includes(`router_arns_consensus_mismatch_total{gateway="${liar.url}"} 1`));
      // With honest gateways again, nothing is cut and nothing fails.
      for (const proxy of field.proxies) proxy.reset();
      assert.deepEqual(await readAll(url), { cuts: 0, errors: 0 });
    });
    const line = log.split('\n').find((text) => text.includes('a gateway disagrees about a name'));
    assert.ok(line?.includes(liar.url), 'the log names it');
  });

  test('by then content was proven in every way there is', () => {
    assert.deepEqual([...methods].sort(), ['quorum', 'signature']);
  });

  test('two that lie are too many to serve everything, and still nothing wrong is served', async () => {
    await withRouter({ ROUTING_STRATEGY: 'round-robin' }, async (url) => {
      for (const proxy of field.proxies.slice(0, 2)) proxy.tampering = contentLiar(random);
      for (const one of wanted) await read(url, one);
    });
  });
});
