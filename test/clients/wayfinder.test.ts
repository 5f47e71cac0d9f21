/** @ar.io/wayfinder-core, unmodified, reads from the gateway and verifies what it reads with each of its strategies. */
import assert from 'node:assert/strict';
import { createServer } from 'node:http';
import { after, before, describe, test } from 'node:test';
import {
  Ans104SignatureVerificationStrategy,
  ChunkDataRetrievalStrategy,
  convertDataStreamToDataRoot,
  DataRootVerificationStrategy,
  HashVerificationStrategy,
  RemoteVerificationStrategy,
  SignatureVerificationStrategy,
  StaticRoutingStrategy,
  TrustedPeersGatewaysProvider,
  type VerificationStrategy,
  Wayfinder,
} from '@ar.io/wayfinder-core';
import { DataItem, deepHash, indexToType, stringToBuffer } from '@dha-team/arbundles';
import { buildManifest, manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { type ContentStack, startContentStack } from '../support/content-stack.ts';
import { send, text, until } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';

const random = seededRandom(104);

describe('@ar.io/wayfinder-core', () => {
  let content: ContentStack;
  let gateway: string;
  let url: URL;
  // One chunk each: where there are more, its split of a stream depends on how the network cut the stream.
  const small = random.bytes(5_000);
  const large = random.bytes(250_000);
  const payload = random.bytes(90_000);
  const ids = { small: '', large: '', item: '', site: '' };

  before(async () => {
    content = await startContentStack('wayfinder');
    gateway = content.stack.urls.gateway ?? '';
    url = new URL(gateway.replace('127.0.0.1', 'localhost'));
    ids.small = await content.post(small, 'image/png');
    ids.large = await content.post(large, 'image/png');
    ids.item = await content.upload(payload, 'text/html');
    const paths = new Map([['index.html', ids.item]]);
    ids.site = await content.upload(buildManifest({ paths, indexPath: 'index.html' }), manifestContentType);
    await content.placed();
  });
  after(() => content.stack.stop());

  /** As its own classifier should ask: whether the index has it in a bundle. */
  const classifier = {
    async classify({ txId }: { txId: string }): Promise<'ans104' | 'transaction'> {
      const query = `{ transaction(id: "${txId}") { bundledIn { id } } }`;
      const answer: unknown = JSON.parse(await send(`${gateway}/graphql`, { query }));
      return JSON.stringify(answer).includes('"bundledIn":{') ? 'ans104' : 'transaction';
    },
  };

  async function read(path: string, strategy: VerificationStrategy, options = {}): Promise<Buffer> {
    const wayfinder = new Wayfinder({
      routingSettings: { strategy: new StaticRoutingStrategy({ gateway: url.href }) },
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
    assert.ok(verified, 'it said that the bytes are verified');
    return bytes;
  }
  const trusted = () => ({ trustedGateways: [url] });

  test('chooses the gateway itself where it asks no others', async () => {
    const provider = new TrustedPeersGatewaysProvider({ trustedGateway: gateway });
    assert.deepEqual(await provider.getGateways(), [new URL(gateway)]);
  });

  test('verifies transactions, items and manifest paths by hash, from the first read on', async () => {
    const strategy = new HashVerificationStrategy(trusted());
    assert.ok((await read(ids.large, strategy)).equals(large));
    assert.ok((await read(ids.small, strategy)).equals(small));
    assert.ok((await read(ids.item, strategy)).equals(payload));
    assert.ok((await read(`${ids.site}/`, strategy)).equals(payload));
    assert.ok((await read(`${ids.site}/index.html`, strategy)).equals(payload));
  });

  test('verifies transactions by data root', async () => {
    const strategy = new DataRootVerificationStrategy({ ...trusted(), classifier });
    assert.ok((await read(ids.small, strategy)).equals(small));
    assert.ok((await read(ids.large, strategy)).equals(large));
  });

  test("has the chain's data root of several chunks where the network cuts the stream at theirs", async () => {
    const data = random.bytes(600_000);
    const id = await content.post(data, 'image/png');
    const root = await until('it is indexed', async () => {
      const answer = await fetch(`${gateway}/tx/${id}/data_root`);
      return answer.ok && answer.text();
    });
    const answer = await fetch(`${gateway}/raw/${id}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    const cutAt = async (size: number) =>
      convertDataStreamToDataRoot({
        stream: (async function* () {
          for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size);
        })(),
      });
    assert.equal(await cutAt(65_536), root);
    // It decides on a chunk's end by the bytes that have come so far: the same bytes, another root.
    assert.notEqual(await cutAt(60_000), root);
  });

  test('verifies transactions by signature', async () => {
    const strategy = new SignatureVerificationStrategy({ ...trusted(), classifier });
    assert.ok((await read(ids.small, strategy)).equals(small));
    assert.ok((await read(ids.large, strategy)).equals(large));
  });

  test("finds an item's signature in its bundle, and it is the signature of the item", async () => {
    const strategy = new Ans104SignatureVerificationStrategy(trusted());
    const found = await strategy.getSignatureData({ txId: ids.item });
    const signed = await deepHash([
      ...['dataitem', '1', String(found.signatureType)].map((text) => stringToBuffer(text)),
      ...[found.owner, found.target, found.anchor, found.tags].map((part) => new Uint8Array(part)),
      new Uint8Array(payload),
    ]);
    assert.ok(await indexToType[found.signatureType]?.verify(found.owner, signed, found.signature));
    // Having read all it needs, this version asks its own record of the fields whether it is an item, which to the
    // library under it is a question for a field `binary` that the record never has: no gateway's answer helps.
    assert.equal(DataItem.isDataItem(found), false);
    await assert.rejects(read(ids.item, strategy), ({ cause }: Error) =>
      /not a data item/.test(String(cause)),
    );
  });

  test('takes the word of the gateway, which has proven what it has', async () => {
    for (const id of [ids.large, ids.item]) await text(`${gateway}/raw/${id}`);
    await until('all is proven', async () => {
      const answer = await fetch(`${gateway}/raw/${ids.item}`, { method: 'HEAD' });
      return answer.headers.get('x-ar-io-verified') === 'true';
    });
    assert.ok((await read(ids.large, new RemoteVerificationStrategy())).equals(large));
    assert.ok((await read(ids.item, new RemoteVerificationStrategy())).equals(payload));
  });

  test('reads an item chunk by chunk', async () => {
    const options = { dataRetrievalStrategy: new ChunkDataRetrievalStrategy() };
    assert.ok((await read(ids.item, new HashVerificationStrategy(trusted()), options)).equals(payload));
  });

  test('refuses bytes that another gateway changed', async () => {
    const liar = createServer((_request, response) => {
      const changed = Buffer.from(large);
      changed[200_000] = (changed[200_000] ?? 0) ^ 1;
      response.writeHead(200, { 'content-length': changed.length, 'x-ar-io-data-id': ids.large });
      response.end(changed);
    }).listen(0, '127.0.0.1');
    await new Promise((resolve) => liar.once('listening', resolve));
    const address = liar.address();
    assert.ok(typeof address === 'object' && address !== null);
    const routing = new StaticRoutingStrategy({ gateway: `http://localhost:${address.port}` });
    const options = { routingSettings: { strategy: routing } };
    for (const strategy of [
      new HashVerificationStrategy(trusted()),
      new DataRootVerificationStrategy({ ...trusted(), classifier }),
      new SignatureVerificationStrategy({ ...trusted(), classifier }),
    ]) {
      await assert.rejects(read(ids.large, strategy, options));
    }
    liar.close();
    liar.closeAllConnections();
  });
});
