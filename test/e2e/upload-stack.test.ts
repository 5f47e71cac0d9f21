/** Uploads on a whole stack: prices agree, what is uploaded can be read and found at once, and still when it is mined. */
import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { request } from 'undici';
import { parseItem } from '../../src/formats/ans104/item.ts';
import { itemOwner } from '../../src/wallets/data-items/owner.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { eventually } from '../support/eventually.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const signer = solanaSigner(ed25519TestKey('stack'));
const { address } = itemOwner(4, signer.owner).wallet;
const random = seededRandom(31);

describe('uploads on a whole stack', () => {
  let stack: RunningStack;
  before(async () => {
    stack = await startStack({
      environment: {
        ALLOW_LISTED_ADDRESSES: address,
        // Nothing gets to the chain before the test has it mined.
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
        BUNDLE_MAX_WAIT_MS: '0',
        BUNDLE_POLL_MS: '50',
      },
    });
  });
  after(() => stack.stop());

  const text = async (url: string) => (await request(url)).body.text();
  const json = async (url: string): Promise<Record<string, unknown>> => JSON.parse(await text(url));
  const found = async (id: string): Promise<boolean> => {
    const query = `query { transactions(ids: ["${id}"]) { edges { node { id tags { name value } } } } }`;
    const answer = await request(`${stack.urls.gateway}/graphql`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ query }),
    });
    return (await answer.body.text()).includes(`"id":"${id}"`);
  };
  it('costs the same here and at the payment service, to the last winc', async () => {
    for (const bytes of [0, 1, 1_024, 262_144, 2 ** 30, 123_456_789_012]) {
      const here = await text(`${stack.urls.upload}/v1/price/arweave/${bytes}`);
      const there = await json(`${stack.urls.payment}/v1/price/bytes/${bytes}`);
      assert.equal(here, there.winc, `${bytes} bytes`);
    }
    const gibibyte = await json(`${stack.urls.payment}/v1/price/bytes/${2 ** 30}`);
    assert.equal(await text(`${stack.urls.upload}/v1/price/solana`), gibibyte.winc);
  });

  it('serves and finds an item at once, and the same when it is permanent', async () => {
    const data = random.bytes(50_000);
    const item = await signItem({ data, tags: [{ name: 'Content-Type', value: 'image/png' }] }, signer);
    const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body: item });
    assert.equal(answer.statusCode, 200);
    const { id } = JSON.parse(await answer.body.text());
    const check = async () => {
      const read = await request(`${stack.urls.gateway}/${id}`);
      assert.equal(read.statusCode, 200);
      assert.equal(read.headers['content-type'], 'image/png');
      assert.ok(Buffer.from(await read.body.arrayBuffer()).equals(data));
    };
    await check();
    await eventually('the index to have it', () => found(id));
    const status = async () => (await json(`${stack.urls.upload}/v1/tx/${id}/status`)).info;
    assert.notEqual(await status(), 'permanent', 'all of this was before the chain had it');
    await eventually('it to be permanent', async () => {
      await text(`${stack.urls.arweave}/mine`);
      return (await status()) === 'permanent';
    });
    await check();
    assert.ok(await found(id));
  });

  it('is read through the router the moment there is a receipt, also where it was asked for before', async () => {
    const seen: string[] = [];
    const ask = async (method: 'GET' | 'HEAD', id: string) => {
      const read = await request(`${stack.urls.router}/${id}`, { method });
      return { status: read.statusCode, body: Buffer.from(await read.body.arrayBuffer()) };
    };
    for (let round = 0; round < 6; round += 1) {
      const data = random.bytes(round % 2 === 0 ? 2_000 : 300_000);
      const item = await signItem({ data, tags: [{ name: 'Content-Type', value: 'image/png' }] }, signer);
      const parsed = parseItem(item);
      assert.ok(typeof parsed !== 'string');
      const { id } = parsed.header;
      if (round >= 3) assert.equal((await ask('GET', id)).status, 404);
      const answer = await request(`${stack.urls.upload}/v1/tx/solana`, { method: 'POST', body: item });
      assert.equal(answer.statusCode, 200);
      await answer.body.dump();
      const method = round % 3 === 0 ? 'HEAD' : 'GET';
      const first = await ask(method, id);
      const { status, body } = await ask('GET', id);
      seen.push(`${method} ${first.status}, GET ${status}`);
      assert.ok(status !== 200 || body.equals(data));
    }
    assert.deepEqual([...new Set(seen)].sort(), ['GET 200, GET 200', 'HEAD 200, GET 200']);
  });
});
