/**
 * @ar.io/wayfinder-core, unmodified, with the router as the gateway it routes to and trusts: ids, manifest paths and
 * names, verified by the client for itself. Content comes from the upload service and the chain through our gateway.
 */
import assert from 'node:assert/strict';
import { type LookupOptions, lookup } from 'node:dns';
import { after, before, describe, test } from 'node:test';
import {
  ChunkDataRetrievalStrategy,
  DataRootVerificationStrategy,
  FastestPingRoutingStrategy,
  HashVerificationStrategy,
  SignatureVerificationStrategy,
  StaticGatewaysProvider,
  StaticRoutingStrategy,
  type VerificationStrategy,
  Wayfinder,
  type WayfinderOptions,
} from '@ar.io/wayfinder-core';
import { Agent, type Dispatcher, getGlobalDispatcher, setGlobalDispatcher } from 'undici';
import { buildManifest, manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { buyName } from '../support/buy-name.ts';
import { startContentStack } from '../support/content-stack.ts';
import { seededRandom } from '../support/seeded-random.ts';

const random = seededRandom(23);
const domain = 'router.test';

describe('@ar.io/wayfinder-core at the router', () => {
  let stop: () => Promise<void>;
  let router: URL;
  let dispatcher: Dispatcher;
  // One chunk: where there are more, the client's split of a stream depends on how the network cut the stream.
  const transaction = random.bytes(200_000);
  const page = random.bytes(40_000);
  const large = random.bytes(1_800_000);
  const ids = { transaction: '', page: '', large: '', site: '' };

  before(async () => {
    // A domain with everything below it, as an operator's DNS would have it.
    dispatcher = getGlobalDispatcher();
    setGlobalDispatcher(
      new Agent({
        connect: {
          lookup: (host: string, options: LookupOptions, done: Parameters<typeof lookup>[2]) =>
            lookup(host === domain || host.endsWith(`.${domain}`) ? '127.0.0.1' : host, options, done),
        },
      }),
    );
    const { stack, post, upload, placed } = await startContentStack('wayfinder at the router', {
      BASE_DOMAIN: domain,
    });
    stop = stack.stop;
    router = new URL(`http://${domain}:${new URL(stack.urls.router ?? '').port}`);
    ids.transaction = await post(transaction, 'image/png');
    ids.page = await upload(page, 'text/html');
    ids.large = await upload(large, 'video/mp4');
    const paths = new Map([
      ['index.html', ids.page],
      ['films/large one.mp4', ids.large],
    ]);
    ids.site = await upload(buildManifest({ paths, indexPath: 'index.html' }), manifestContentType);
    await buyName(stack, 'way-finder', ids.site);
    await placed();
  });
  after(async () => {
    setGlobalDispatcher(dispatcher);
    await stop();
  });

  async function read(
    path: string,
    strategy: VerificationStrategy,
    gateway: URL = router,
    options: WayfinderOptions = {},
  ): Promise<{ bytes: Buffer; headers: Headers }> {
    const wayfinder = new Wayfinder({
      routingSettings: { strategy: new StaticRoutingStrategy({ gateway: gateway.href }) },
      verificationSettings: { enabled: true, strict: true, strategy },
      ...options,
    });
    let verified = false;
    wayfinder.emitter.on('verification-succeeded', () => {
      verified = true;
    });
    const answer = await wayfinder.request(`ar://${path}`);
    assert.equal(answer.status, 200);
    const bytes = Buffer.from(await answer.arrayBuffer());
    assert.ok(verified, 'the client verified it for itself');
    assert.equal(answer.headers.get('x-router-verified'), 'true', 'it came through the router');
    return { bytes, headers: answer.headers };
  }
  const byHash = () => new HashVerificationStrategy({ trustedGateways: [router] });

  test('reads transactions, items and manifest paths, each from its own origin', async () => {
    assert.ok((await read(ids.transaction, byHash())).bytes.equals(transaction));
    const got = await read(ids.page, byHash());
    assert.ok(got.bytes.equals(page));
    assert.equal(got.headers.get('content-type'), 'text/html; charset=utf-8');
    assert.ok((await read(ids.large, byHash())).bytes.equals(large));
    assert.ok((await read(`${ids.site}/`, byHash())).bytes.equals(page));
    assert.ok((await read(`${ids.site}/films/large%20one.mp4`, byHash())).bytes.equals(large));
  });

  test('reads by name', async () => {
    const got = await read('way-finder', byHash());
    assert.ok(got.bytes.equals(page));
    assert.equal(got.headers.get('x-arns-resolved-id'), ids.site);
    assert.equal(got.headers.get('x-arns-name'), 'way-finder');
    assert.ok((await read('way-finder/films/large%20one.mp4', byHash())).bytes.equals(large));
    assert.ok((await read('Way-Finder/index.html?x=1', byHash())).bytes.equals(page));
  });

  test('reads at localhost, where there are no hosts below', async () => {
    const local = new URL(`http://localhost:${router.port}`);
    const strategy = new HashVerificationStrategy({ trustedGateways: [local] });
    assert.ok((await read(ids.page, strategy, local)).bytes.equals(page));
    assert.ok((await read(`${ids.site}/index.html`, strategy, local)).bytes.equals(page));
  });

  test('checks data roots and signatures of transactions with what the router tells of the chain', async () => {
    const classifier = { classify: async () => 'transaction' as const };
    const trusted = { trustedGateways: [router], classifier };
    for (const strategy of [
      new DataRootVerificationStrategy(trusted),
      new SignatureVerificationStrategy(trusted),
    ]) {
      assert.ok((await read(ids.transaction, strategy)).bytes.equals(transaction));
    }
  });

  test('reads an item chunk by chunk', async () => {
    const options = { dataRetrievalStrategy: new ChunkDataRetrievalStrategy() };
    const wayfinder = new Wayfinder({
      routingSettings: { strategy: new StaticRoutingStrategy({ gateway: router.href }) },
      verificationSettings: { enabled: true, strict: true, strategy: byHash() },
      ...options,
    });
    for (const [id, data] of [
      [ids.page, page],
      [ids.large, large],
    ] as const) {
      const answer = await wayfinder.request(`ar://${id}`);
      assert.ok(Buffer.from(await answer.arrayBuffer()).equals(data));
    }
  });

  test('chooses the router by ping', async () => {
    const gatewaysProvider = new StaticGatewaysProvider({ gateways: [router.href] });
    const strategy = new FastestPingRoutingStrategy({ timeoutMs: 60_000, gatewaysProvider });
    const got = await read(ids.page, byHash(), router, { routingSettings: { strategy } });
    assert.ok(got.bytes.equals(page));
  });

  test('tells what is not there', async () => {
    const wayfinder = new Wayfinder({
      routingSettings: { strategy: new StaticRoutingStrategy({ gateway: router.href }) },
      verificationSettings: { enabled: false },
    });
    assert.equal((await wayfinder.request(`ar://${'A'.repeat(43)}`)).status, 404);
    assert.equal((await wayfinder.request('ar://nobody-has-this')).status, 404);
    assert.equal((await wayfinder.request(`ar://${ids.site}/nowhere`)).status, 404);
    const info = await wayfinder.request('ar:///router/info');
    assert.equal(((await info.json()) as { baseDomain: string }).baseDomain, domain);
  });
});
