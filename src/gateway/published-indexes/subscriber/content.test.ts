import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseItemHeader } from '../../../formats/ans104/item-header.ts';
import { ed25519Signer, signItem } from '../../../wallets/data-items/signer.ts';
import { testEd25519Key } from '../../../wallets/testing/keys.ts';
import { PlacedItems } from './content.ts';

const payload = Buffer.from('what the owner signed');
const item = await signItem({ data: payload, tags: [] }, ed25519Signer(testEd25519Key));
const header = parseItemHeader(item);
assert.ok(typeof header !== 'string');
const { id, length } = header;
const root = `${'r'.repeat(42)}A`;
const place = { root, itemOffset: 100, dataOffset: 100 + length, itemSize: item.length };

/** The root's data with these bytes where the item is said to be. */
function rootWith(bytes: Buffer) {
  const data = Buffer.concat([Buffer.alloc(100), bytes]);
  const asked: [number, number][] = [];
  const read = async (start: number, end: number) => {
    asked.push([start, end]);
    return (async function* () {
      yield data.subarray(start, end);
    })();
  };
  return { asked, read };
}

async function textOf(stream: AsyncIterable<Buffer> | undefined): Promise<string> {
  const pieces: Buffer[] = [];
  for await (const piece of stream ?? []) pieces.push(piece);
  return Buffer.concat(pieces).toString();
}

test('a part of an item is given once the whole was found right, which is looked at once', async () => {
  const items = new PlacedItems();
  const { read, asked } = rootWith(item);
  for (let round = 0; round < 2; round += 1) {
    const found = await items.open(id, place, { start: 5, end: 8 }, read);
    assert.equal(await textOf(found?.stream), 'the');
    assert.equal(found?.size, payload.length);
  }
  assert.equal(asked.filter(([start, end]) => end - start === payload.length).length, 1);
  assert.equal(await textOf((await items.open(id, place, undefined, read))?.stream), payload.toString());
});

test('the signature of an item before other bytes gives neither the whole nor a part', async () => {
  const items = new PlacedItems();
  const forged = Buffer.concat([item.subarray(0, length), Buffer.from('what somebody else put')]);
  const { read } = rootWith(forged);
  const wider = { ...place, itemSize: forged.length };
  await assert.rejects(items.open(id, wider, { start: 0, end: 4 }, read));
  const whole = await items.open(id, wider, undefined, read);
  await assert.rejects(textOf(whole?.stream));
  await assert.rejects(items.open(id, wider, { start: 0, end: 4 }, read), 'nor afterwards');
});
