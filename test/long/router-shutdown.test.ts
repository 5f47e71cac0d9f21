/** SIGTERM to a router at work: what is in flight is finished to its last byte, or cut when the time is over. */
import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent } from 'node:http';
import { connect } from 'node:net';
import { after, before, describe, test } from 'node:test';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { StubGateway, type TestItem, testItem } from '../../src/router/testing/stub-gateway.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { send, text } from '../support/local-gateway.ts';
import { readStrictly } from '../support/read-strictly.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const random = seededRandom(15);
const signer = solanaSigner(ed25519TestKey('shutdown'));
/** However busy the machine is, what is in flight can be finished. */
const patient = { SHUTDOWN_DRAIN_TIMEOUT_MS: '120000', SHUTDOWN_TIMEOUT_MS: '180000' };

describe('SIGTERM under load', () => {
  let small: TestItem[];
  let streamed: TestItem[];
  let slowlyRead: TestItem;
  let gateways: StubGateway[];

  before(async () => {
    small = await Promise.all(
      Array.from({ length: 12 }, (_, index) => testItem(random.bytes(1_000 + index))),
    );
    streamed = await Promise.all(
      Array.from({ length: 8 }, (_, index) => testItem(random.bytes(1_500_000 + index), 'video/mp4')),
    );
    slowlyRead = await testItem(random.bytes(24_000_000), 'application/zip');
    const items = [...small, ...streamed, slowlyRead];
    gateways = await Promise.all([1, 2, 3].map(() => new StubGateway(items).start()));
  });
  after(() => Promise.all(gateways.map((gateway) => gateway.stop())));

  function startRouter(environment: Record<string, string> = {}): Promise<RunningStack> {
    for (const gateway of gateways) {
      gateway.behaviour = {};
      gateway.requests.length = 0;
    }
    return startStack({
      only: ['router'],
      environment: {
        ARWEAVE_NODE_URLS: 'http://127.0.0.1:9',
        SOLANA_RPC_URL: 'http://127.0.0.1:9',
        ROUTING_STATIC_GATEWAYS: gateways.map(({ url }) => url).join(','),
        PING_ENABLED: 'false',
        ...environment,
      },
    });
  }
  const asked = (item: TestItem) => gateways.some((one) => one.count(new RegExp(`GET /raw/${item.id}`)) > 0);
  const refused = (url: string): Promise<boolean> =>
    new Promise((resolve) => {
      const socket = connect(Number(new URL(url).port), '127.0.0.1');
      socket.on('connect', () => resolve(false));
      socket.on('error', () => resolve(true));
      socket.on('connect', () => socket.destroy());
    });

  test('loses no response, takes nothing new, and exits with 0', async () => {
    const router = await startRouter(patient);
    const url = router.urls.router ?? '';
    assert.ok((await readStrictly(`${url}/${slowlyRead.id}`)).complete, 'it is in the cache now');
    const kept = new Agent({ keepAlive: true, maxSockets: 1 });
    assert.equal((await readStrictly(`${url}/router/health`, { agent: kept })).status, 200);

    // Answers that have not begun, bodies on their way from a slow gateway, and readers that take their time.
    for (const gateway of gateways)
      gateway.behaviour = { delayMs: 600, pace: { bytes: 200_000, everyMs: 60 } };
    const notBegun = small.map((item) => ({ item, read: readStrictly(`${url}/${item.id}`) }));
    const onTheWay = streamed.map((item) => ({ item, read: readStrictly(`${url}/${item.id}`) }));
    const resumes: (() => void)[] = [];
    const slow = Array.from({ length: 6 }, () => ({
      item: slowlyRead,
      read: readStrictly(`${url}/${slowlyRead.id}`, {
        onHead(pause, resume) {
          pause();
          resumes.push(resume);
        },
      }),
    }));
    await eventually(
      'all are asked for',
      () => resumes.length === slow.length && [...small, ...streamed].every(asked),
    );

    const ended = once(router.process, 'exit');
    router.process.kill('SIGTERM');
    await eventually('no new connections', () => refused(url));
    const late = await readStrictly(`${url}/${small[0]?.id}`, { agent: kept }).catch(() => undefined);
    assert.ok(late === undefined || late.status === 503 || late.status === 0, `it answered ${late?.status}`);
    for (const resume of resumes) resume();
    for (const { item, read } of [...notBegun, ...onTheWay, ...slow]) {
      const got = await read;
      assert.equal(got.status, 200);
      assert.ok(got.complete && got.body.equals(item.data), 'whole to the last byte');
    }
    assert.deepEqual(await ended, [0, null]);
    kept.destroy();
    await router.stop();
  });

  test('cuts what takes longer than the drain, and the cut body looks cut', async () => {
    const router = await startRouter({ SHUTDOWN_DRAIN_TIMEOUT_MS: '1000', SHUTDOWN_TIMEOUT_MS: '20000' });
    const url = router.urls.router ?? '';
    const [endless] = streamed;
    assert.ok(endless !== undefined);
    for (const gateway of gateways) gateway.behaviour = { pace: { bytes: 20_000, everyMs: 1_000 } };
    const read = readStrictly(`${url}/${endless.id}`);
    await eventually('it is asked for', () => asked(endless));
    const ended = once(router.process, 'exit');
    const start = performance.now();
    router.process.kill('SIGTERM');
    const got = await read;
    assert.equal(got.complete, false);
    assert.ok(performance.now() - start >= 990, 'it had the time that is configured');
    assert.deepEqual(await ended, [1, null], 'the exit code tells that it was by force');
    await router.stop();
  });

  test('a whole stack goes on answering the router until the router is done', async () => {
    const stack = await startStack({ environment: { ...patient, FREE_UPLOAD_LIMIT: '10000000' } });
    const uploaded: { id: string; data: Buffer }[] = [];
    for (let index = 0; index < 40; index += 1) {
      const data = random.bytes(index % 10 === 0 ? 1_500_000 : 5_000);
      const item = await signItem({ data, tags: [] }, signer);
      await text(`${stack.urls.upload}/v1/tx/solana`, {
        method: 'POST',
        headers: { 'content-type': 'application/octet-stream' },
        body: new Uint8Array(item),
      });
      const parsed = parseItem(item);
      assert.ok(typeof parsed !== 'string');
      uploaded.push({ id: parsed.header.id, data });
    }
    // Their signatures, which prove them, are told to the gateway in the background.
    await eventually('the gateway knows all of them', async () => {
      const ids = JSON.stringify(uploaded.map(({ id }) => id));
      const query = `{ transactions(ids: ${ids}, first: 100) { edges { node { id } } } }`;
      const { data } = JSON.parse(await send(`${stack.urls.gateway}/graphql`, { query }));
      return data.transactions.edges.length === uploaded.length;
    });
    const reads = uploaded.map(async ({ id, data }) => {
      const got = await readStrictly(`${stack.urls.router}/${id}`).catch(() => undefined);
      // What the router had not taken yet is refused, and says so.
      if (got === undefined || got.status === 0 || got.status === 503) return 0;
      assert.equal(got.status, 200, got.body.subarray(0, 300).toString());
      assert.ok(got.complete && got.body.equals(data));
      return 1;
    });
    // Questions of the router to the gateway are on their way now; many more are to come.
    await Promise.race(reads);
    assert.equal(await stack.end('SIGTERM'), 0);
    const answered = (await Promise.all(reads)).reduce<number>((sum, one) => sum + one, 0);
    assert.ok(answered > 1, `${answered} were answered`);
    await stack.stop();
  });

  test('a second signal leaves at once', async () => {
    const router = await startRouter();
    const [endless] = streamed;
    assert.ok(endless !== undefined);
    for (const gateway of gateways) gateway.behaviour = { pace: { bytes: 20_000, everyMs: 1_000 } };
    const read = readStrictly(`${router.urls.router}/${endless.id}`);
    await eventually('it is asked for', () => asked(endless));
    const ended = once(router.process, 'exit');
    router.process.kill('SIGINT');
    await eventually('no new connections', () => refused(router.urls.router ?? ''));
    router.process.kill('SIGINT');
    assert.deepEqual(await ended, [1, null]);
    assert.equal((await read).complete, false);
    await router.stop();
  });
});
