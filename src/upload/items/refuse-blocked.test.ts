/** `/v1/data-item/{id}` gives nothing back that the gateway's operator has blocked. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { after, before, test } from 'node:test';
import { BlockSet } from '../../delivery/moderation/block-set.ts';
import { bundleTags, encodeBundleHeader } from '../../formats/ans104/bundle-header.ts';
import { parseItem } from '../../formats/ans104/item.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { startTestUpload } from '../testing.ts';
import { findItem, readHead } from './item-rows.ts';
import { BlockedItems } from './refuse-blocked.ts';

const signer = solanaSigner(ed25519TestKey('blocked'));
const list = new BlockSet();
let upload: Awaited<ReturnType<typeof startTestUpload>>;
before(async () => {
  upload = await startTestUpload(
    { FREE_UPLOAD_LIMIT: '100000000', BUNDLE_POLL_MS: '3600000' },
    { blocklist: list },
  );
});
after(() => upload.close());

async function send(item: Buffer): Promise<string> {
  const { status, body } = await upload.post('/v1/tx', item);
  assert.equal(status, 200, JSON.stringify(body));
  return String(body.id);
}

const ask = (id: string, options: RequestInit = {}) => fetch(`${upload.url}/v1/data-item/${id}`, options);
const ways: Record<string, RequestInit> = {
  GET: {},
  HEAD: { method: 'HEAD' },
  'a range': { headers: { range: 'bytes=1-9' } },
  'a range of the payload': { headers: { range: 'bytes=-9' } },
};

async function assertAll(id: string, statuses: readonly number[]): Promise<void> {
  for (const [way, options] of Object.entries(ways)) {
    const answer = await ask(id, options);
    const text = await answer.text();
    assert.ok(statuses.includes(answer.status), `${way}: ${answer.status}`);
    if (answer.status === 451) assert.ok(!text.includes('guilty'), way);
  }
  const unchanged = await ask(id, { headers: { 'if-none-match': `"${id}"` } });
  assert.equal(unchanged.status, statuses.includes(451) ? 451 : 304);
}
const open = [200, 206];

test('an item is refused by its id, and by its hash, small and large, until that is lifted', async () => {
  for (const size of [20, 300_000]) {
    const data = Buffer.alloc(size, `guilty ${size} `);
    const id = await send(await signItem({ data }, signer));
    await assertAll(id, open);
    for (const blocked of [
      { ids: [id], hashes: [] },
      { ids: [], hashes: [hash('sha256', data, 'base64url')] },
    ]) {
      list.replace({ ...blocked, names: [] });
      await assertAll(id, [451]);
      list.replace({ ids: [], hashes: [], names: [] });
      await assertAll(id, open);
    }
  }
  list.replace({ ids: ['A'.repeat(43)], hashes: [], names: [] });
  assert.equal((await ask('A'.repeat(43))).status, 451, 'as the gateway says it of what it does not have');
  list.replace({ ids: [], hashes: [], names: [] });
});

function idOf(item: Buffer): string {
  const parsed = parseItem(item);
  assert.ok(typeof parsed !== 'string');
  return parsed.header.id;
}

function bundleOf(items: readonly Buffer[]): Promise<Buffer> {
  const header = encodeBundleHeader(
    items.map((item) => ({ id: Buffer.from(idOf(item), 'base64url'), size: item.length })),
  );
  return signItem({ data: Buffer.concat([header, ...items]), tags: [...bundleTags] }, signer);
}

test('a bundle that was uploaded as an item does not give away a blocked item in it', async () => {
  const items = await Promise.all(
    ['innocent ', 'guilty '].map((text) => signItem({ data: Buffer.from(text.repeat(40)) }, signer)),
  );
  const ids = items.map(idOf);
  const bundle = await bundleOf(items);
  const id = await send(bundle);
  assert.equal((await ask(id)).status, 200);
  list.replace({ ids: [ids[1] ?? ''], hashes: [], names: [] });
  assert.equal((await ask(id)).status, 451);
  assert.equal((await ask(id, { method: 'HEAD' })).status, 451);
  assert.equal((await ask(id, { headers: { range: 'bytes=-20' } })).status, 451);
  const before = bundle.length - (items[1]?.length ?? 0);
  assert.equal((await ask(id, { headers: { range: `bytes=0-${before - 1}` } })).status, 206);
  assert.equal((await ask(id, { headers: { range: `bytes=0-${before}` } })).status, 451);
  list.replace({ ids: [], hashes: [], names: [] });
  assert.equal((await ask(id)).status, 200);
});

test('nor does one that holds it in a bundle in a bundle', async () => {
  const [innocent, guilty] = await Promise.all(
    ['innocent too ', 'guilty too '].map((text) => signItem({ data: Buffer.from(text.repeat(40)) }, signer)),
  );
  assert.ok(innocent && guilty);
  const inner = await bundleOf([await bundleOf([innocent, guilty]), innocent]);
  const outer = await bundleOf([innocent, inner]);
  const id = await send(outer);
  assert.equal((await ask(id)).status, 200);
  list.replace({ ids: [idOf(guilty)], hashes: [], names: [] });
  const start = outer.indexOf(guilty);
  const range = (from: number, to: number) => ask(id, { headers: { range: `bytes=${from}-${to - 1}` } });
  assert.equal((await ask(id)).status, 451);
  assert.equal((await ask(id, { method: 'HEAD' })).status, 451);
  assert.equal((await range(start - 5, start)).status, 206);
  assert.equal((await range(start, start + 1)).status, 451);
  assert.equal((await range(start + guilty.length - 1, outer.length)).status, 451);
  assert.equal((await range(start + guilty.length, outer.length)).status, 206);
  list.replace({ ids: [], hashes: [], names: [] });
  assert.equal((await ask(id)).status, 200);
  list.replace({ ids: [idOf(inner)], hashes: [], names: [] });
  assert.equal((await ask(id)).status, 451, 'a change of the list holds at once');
  list.replace({ ids: [], hashes: [], names: [] });
});

test('an item that holds a blocked one further in does not give it away where its place is known', async () => {
  const id = await send(await signItem({ data: Buffer.alloc(500, 'outer ') }, signer));
  const [item, head] = [await findItem(upload.sql, id), await readHead(upload.sql, id)];
  assert.ok(item !== undefined && head !== undefined);
  const root = 'R'.repeat(43);
  const posted = { item: { ...item, bundleOffset: 1_000 }, head, root };
  const guilty = { id: 'G'.repeat(43), root, start: 1_300, end: 1_310 };
  const blocked = new BlockedItems(list, upload.blobs);
  list.replace({ ids: [guilty.id], hashes: [], names: [] });
  list.places.replace([guilty]);
  const refuses = (start: number, end: number) =>
    assert.rejects(blocked.refuse({ ...posted, span: { start, end } }), { status: 451 });
  await refuses(0, item.size);
  await refuses(309, 320);
  await blocked.refuse({ ...posted, span: { start: 0, end: 300 } });
  await blocked.refuse({ ...posted, span: { start: 310, end: item.size } });
  list.replace({ ids: [], hashes: [], names: [] });
  list.places.replace([]);
});
