/** What was uploaded, read back from the gateway: before and after it is mined, by id, path, range and condition. */
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { buildManifest, manifestContentType } from '../../src/formats/manifest/manifest.ts';
import { signItem, solanaSigner } from '../../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../src/wallets/testing/keys.ts';
import { text, until } from '../support/local-gateway.ts';
import { seededRandom } from '../support/seeded-random.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const signer = solanaSigner(ed25519TestKey('gateway content'));
const random = seededRandom(5);
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest();

describe('content', () => {
  let stack: RunningStack;
  const page = random.bytes(3_000);
  const large = random.bytes(700_000);
  const ids = { page: '', large: '', site: '' };

  before(async () => {
    stack = await startStack({
      environment: {
        FREE_UPLOAD_LIMIT: '1000000',
        BUNDLE_MAX_WAIT_MS: '0',
        LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
      },
    });
    ids.page = await upload(page, 'text/html');
    ids.large = await upload(large, 'image/png');
    const paths = new Map([
      ['index.html', ids.page],
      ['img/large picture.png', ids.large],
    ]);
    ids.site = await upload(buildManifest({ paths, indexPath: 'index.html' }), manifestContentType);
  });
  after(() => stack.stop());

  async function upload(data: Buffer, type: string): Promise<string> {
    const item = await signItem({ data, tags: [{ name: 'Content-Type', value: type }] }, signer);
    const answer = await fetch(`${stack.urls.upload}/v1/tx/solana`, {
      method: 'POST',
      headers: { 'content-type': 'application/octet-stream' },
      body: new Uint8Array(item),
    });
    const receipt = (await answer.json()) as { id: string };
    assert.equal(answer.status, 200, JSON.stringify(receipt));
    return receipt.id;
  }

  const read = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
    fetch(`${stack.urls.gateway}/${path}`, { headers, method, redirect: 'manual' });

  /** Until the gateway knows the place of each of them: they may have come in bundles of their own. */
  async function mine(): Promise<void> {
    for (const id of Object.values(ids)) {
      await until(`${id} is placed`, async () => {
        await text(`${stack.urls.arweave}/mine`);
        const answer = await read(`raw/${id}`, {}, 'HEAD');
        return answer.headers.get('x-ar-io-root-transaction-id');
      });
    }
  }

  async function checkAll(): Promise<void> {
    const whole = await read(`raw/${ids.large}`);
    assert.equal(whole.status, 200);
    assert.equal(whole.headers.get('content-type'), 'image/png');
    assert.ok(Buffer.from(await whole.arrayBuffer()).equals(large));

    const again = await read(`raw/${ids.large}`);
    const etag = `"${sha256(large).toString('base64url')}"`;
    assert.equal(again.headers.get('x-cache'), 'HIT');
    assert.equal(again.headers.get('etag'), etag);
    assert.equal(again.headers.get('content-digest'), `sha-256=:${sha256(large).toString('base64')}:`);
    assert.ok(Buffer.from(await again.arrayBuffer()).equals(large));

    assert.equal((await read(`raw/${ids.large}`, { 'if-none-match': `W/${etag}` })).status, 304);
    const head = await read(`raw/${ids.large}`, {}, 'HEAD');
    assert.equal(head.headers.get('content-length'), String(large.length));
    assert.equal((await head.arrayBuffer()).byteLength, 0);

    const range = await read(`raw/${ids.large}`, { range: 'bytes=262000-262999' });
    assert.equal(range.status, 206);
    assert.equal(range.headers.get('content-range'), `bytes 262000-262999/${large.length}`);
    assert.ok(Buffer.from(await range.arrayBuffer()).equals(large.subarray(262_000, 263_000)));
    const parts = await read(`raw/${ids.large}`, { range: 'bytes=0-1,-2' });
    assert.match(parts.headers.get('content-type') ?? '', /^multipart\/byteranges/);
    assert.equal((await parts.arrayBuffer()).byteLength, Number(parts.headers.get('content-length')));
    assert.equal((await read(`raw/${ids.large}`, { range: 'bytes=9999999-' })).status, 416);
    assert.equal((await read(`raw/${ids.large}`, { range: 'lines=1-2' })).status, 400);

    const bare = await read(ids.site);
    assert.equal(bare.status, 301);
    assert.equal(bare.headers.get('location'), `/${ids.site}/`);
    const index = await read(`${ids.site}/`);
    assert.equal(index.headers.get('x-ar-io-data-id'), ids.page);
    assert.ok(Buffer.from(await index.arrayBuffer()).equals(page));
    assert.equal((await read(ids.site)).status, 301, 'also once the index has been read');
    const picture = await read(`${ids.site}/img/large%20picture.png`);
    assert.ok(Buffer.from(await picture.arrayBuffer()).equals(large));
    assert.equal((await read(`${ids.site}/nowhere`)).status, 404);
    assert.equal((await read(`${ids.site}/%ff%fe`)).status, 400);
  }

  test('is readable at once, before its bundle is mined', async () => {
    await checkAll();
    const answer = await read(`raw/${ids.page}`, {}, 'HEAD');
    assert.equal(answer.headers.get('x-ar-io-verified'), 'false');
    assert.equal(answer.headers.get('x-ar-io-stable'), 'false');
  });

  test('is readable, proven and placed, once its bundle is mined', async () => {
    await mine();
    await checkAll();
    const answer = await read(`raw/${ids.large}`, {}, 'HEAD');
    const size = Number(answer.headers.get('x-ar-io-root-item-size'));
    assert.ok(size > large.length);
  });

  test('ids that are no ids are 400, unknown ones 404, hostile paths harmless', async () => {
    const id = ids.page;
    assert.equal((await read(`raw/${id.slice(0, 42)}B`)).status, 400);
    assert.equal((await read(`raw/${'A'.repeat(43)}`)).status, 404);
    for (const path of [
      '..%2f..%2fetc/passwd',
      `${id}/../../etc/passwd`,
      '%00',
      'x'.repeat(8_000),
      `${id}/%2e%2e/x`,
    ]) {
      const { status } = await read(path);
      assert.ok(status >= 300 && status < 500, `${path.slice(0, 40)}: ${status}`);
    }
  });

  test('frames are records for programs and content for browsers', async () => {
    const record = (await (await read(`local/social/frame/${ids.page}`)).json()) as Record<string, string>;
    assert.equal(record.id, ids.page);
    assert.ok(Buffer.from(record.data ?? '', 'base64url').equals(page));
    const html = await read(`local/farcaster/frame/${ids.page}`, { accept: 'text/html' });
    assert.ok(Buffer.from(await html.arrayBuffer()).equals(page));
    assert.equal((await read(`local/social/frame/${ids.page}`, {}, 'POST')).status, 200);
  });
});
