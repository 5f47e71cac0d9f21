/**
 * Bundles as the chain has them and no careful writer makes them, the same in every run. Each kind says what is odd.
 * Items are signed over whatever they hold, so that a reader that refuses one does so for its form.
 */
import { hash } from 'node:crypto';
import { messagePrefix, signedMessage } from '../../../src/formats/ans104/signed-message.ts';
import { chainTagLimits, encodeTags, walkTags } from '../../../src/formats/avro-tags.ts';
import { deepHashBlob } from '../../../src/formats/deep-hash.ts';
import {
  aptosSigner,
  arweaveSigner,
  ed25519Signer,
  ethereumSigner,
  type ItemSigner,
  multiAptosSigner,
  solanaSigner,
  typedEthereumSigner,
} from '../../../src/wallets/data-items/signer.ts';
import { ed25519TestKey, ethereumTestKey, testArweaveKey } from '../../../src/wallets/testing/keys.ts';
import { type SeededRandom, seededRandom } from '../seeded-random.ts';

export interface OddBundle {
  readonly kind: string;
  readonly bytes: Buffer;
}

const key = ed25519TestKey('odd');
const signers = {
  ed25519: ed25519Signer(key),
  arweave: arweaveSigner(testArweaveKey, { saltLength: 0 }),
  ethereum: ethereumSigner(ethereumTestKey('odd')),
  solana: solanaSigner(key),
  aptos: aptosSigner(key),
  multiAptos: multiAptosSigner([key, ed25519TestKey('other')], 2),
  typedEthereum: typedEthereumSigner(ethereumTestKey('odd')),
};

interface OddItem {
  readonly signer?: ItemSigner;
  readonly data?: Buffer;
  /** As they are signed. */
  readonly tagBytes?: Buffer;
  readonly tagCount?: number;
  readonly statedTagBytes?: number;
  readonly target?: Buffer;
  readonly anchor?: Buffer;
  /** In place of the presence bytes 0 and 1. */
  readonly presence?: readonly [number, number];
}

const none = Buffer.alloc(0);

async function item(odd: OddItem = {}): Promise<Buffer> {
  const { signer = signers.ed25519, data = Buffer.from('data'), tagBytes = none } = odd;
  const { target = none, anchor = none } = odd;
  const prefix = messagePrefix(signer.signatureType, signer.owner);
  const signature = await signer.sign(
    signedMessage(prefix, { target, anchor, tagBytes }, deepHashBlob(data)),
  );
  const counts = Buffer.alloc(16);
  counts.writeUInt32LE(odd.tagCount ?? (tagBytes.length === 0 ? 0 : 1), 0);
  counts.writeUInt32LE(odd.statedTagBytes ?? tagBytes.length, 8);
  const type = Buffer.alloc(2);
  type.writeUInt16LE(signer.signatureType);
  const present = odd.presence ?? [Math.min(1, target.length), Math.min(1, anchor.length)];
  return Buffer.concat([
    type,
    signature,
    signer.owner,
    Buffer.from([present[0]]),
    target,
    Buffer.from([present[1]]),
    anchor,
    counts,
    tagBytes,
    data,
  ]);
}

/** By where the signature ends, whatever the rest of the item is. */
function idOf(bytes: Buffer): Buffer {
  const lengths: Record<number, number> = { 1: 512, 3: 65, 6: 2_052, 7: 65 };
  const length = bytes.length < 2 ? 0 : (lengths[bytes.readUInt16LE(0)] ?? 64);
  return hash('sha256', bytes.subarray(2, 2 + length), 'buffer');
}

interface OddHeader {
  readonly count?: number;
  readonly sizes?: Readonly<Record<number, number>>;
  readonly ids?: Readonly<Record<number, Buffer>>;
}

function bundle(items: readonly Buffer[], odd: OddHeader = {}): Buffer {
  const header = Buffer.alloc(32 + 64 * items.length);
  header.writeUInt32LE(odd.count ?? items.length, 0);
  for (const [at, bytes] of items.entries()) {
    const size = odd.sizes?.[at] ?? bytes.length;
    header.writeUInt32LE(size % 2 ** 32, 32 + 64 * at);
    header.writeUInt32LE(Math.floor(size / 2 ** 32), 36 + 64 * at);
    (odd.ids?.[at] ?? idOf(bytes)).copy(header, 64 + 64 * at);
  }
  return Buffer.concat([header, ...items]);
}

const tag = (name: string | Buffer, value: string | Buffer) => ({ name, value });
const someTags = (count: number) =>
  Array.from({ length: count }, (_, at) => tag(`name-${at}`, `value ${at}`));
const tagged = (tags: readonly ReturnType<typeof tag>[]): OddItem => ({
  tagBytes: encodeTags(tags),
  tagCount: tags.length,
});
/** A zig-zag varint in so many bytes, or as few as it takes. */
function varint(value: number, least = 1): Buffer {
  const bytes: number[] = [];
  let rest = value < 0 ? -value * 2 - 1 : value * 2;
  do {
    const more = rest >= 0x80 || bytes.length + 1 < least;
    bytes.push((rest % 0x80) | (more ? 0x80 : 0));
    rest = Math.floor(rest / 0x80);
  } while (rest > 0 || bytes.length < least);
  return Buffer.from(bytes);
}
const pair = (name: string, value: string) =>
  Buffer.concat([name, value].flatMap((text) => [varint(Buffer.byteLength(text)), Buffer.from(text)]));
const avro = (...parts: readonly (number | Buffer)[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'number' ? varint(part) : part)));

/** Between two that nothing is odd about, so that what one costs the others is seen. */
async function amongGood(odd: Buffer): Promise<Buffer> {
  return bundle([await item({ data: Buffer.from('first') }), odd, await item({ data: Buffer.from('last') })]);
}

export async function oddBundles(): Promise<OddBundle[]> {
  const cases: OddBundle[] = [];
  const add = (kind: string, bytes: Buffer) => void cases.push({ kind, bytes });
  const addItem = async (kind: string, odd: OddItem) => add(kind, await amongGood(await item(odd)));
  const good = await Promise.all(['a', 'b', 'c'].map((data) => item({ data: Buffer.from(data) })));
  const [one = none, two = none, three = none] = good;

  add('good', bundle(good));
  add('no items', bundle([]));
  for (const more of [1, 64, 100, 5_000]) {
    add('bytes after the last item', Buffer.concat([bundle(good), Buffer.alloc(more, 7)]));
    add('bytes after no items', Buffer.concat([bundle([]), Buffer.alloc(more, 7)]));
  }
  add('another bundle after the last item', Buffer.concat([bundle([one, two]), bundle([three])]));
  add(
    'bytes before the first item',
    Buffer.concat([bundle(good).subarray(0, 224), Buffer.alloc(9), ...good]),
  );
  add('an item of no bytes', bundle([one, none, three]));
  add('the last item has no bytes', bundle([one, two, none]));
  add('the first item has no bytes', bundle([none, two, three]));
  add('only items of no bytes', bundle([none, none]));
  add('an item smaller than any', bundle([one, Buffer.alloc(79, 1), three]));
  add('an item of one byte', bundle([one, Buffer.alloc(1, 1), three]));
  add('an item twice', bundle([one, two, one]));
  add('a count below the entries', bundle(good, { count: 2 }));
  add('a count beyond the bundle', bundle(good, { count: 60_000 }));
  add('a count beyond any', bundle(good, { count: 0xffffffff }));
  add('a header cut off', bundle(good).subarray(0, 150));
  add('the last item cut off', bundle(good).subarray(0, -2));
  add('the last two items cut off', bundle(good).subarray(0, -two.length - 2));
  add('a size in the middle one too large', bundle(good, { sizes: { 1: two.length + 1 } }));
  add('a size in the middle one too small', bundle(good, { sizes: { 1: two.length - 1 } }));
  add('a size in the middle beyond the end', bundle(good, { sizes: { 1: 1_000_000 } }));
  add('a size in the middle beyond 2^53', bundle(good, { sizes: { 1: 2 ** 60 } }));
  add('the last size too small', bundle(good, { sizes: { 2: three.length - 1 } }));
  add('the last size beyond the end', bundle(good, { sizes: { 2: three.length + 10 } }));
  add('a stated id that is another', bundle(good, { ids: { 1: Buffer.alloc(32, 9) } }));

  for (const signer of Object.values(signers))
    await addItem(`signed by type ${signer.signatureType}`, { signer });
  for (const type of [0, 8, 9, 100, 101, 255, 65_535]) {
    const unknown = await item();
    unknown.writeUInt16LE(type);
    add(`signature type ${type}`, await amongGood(unknown));
  }
  for (const at of [5, 70, 120]) {
    const forged = await item({ ...tagged(someTags(1)), data: Buffer.alloc(50, 1) });
    forged[at] = (forged[at] ?? 0) ^ 1;
    add('a bit that is another', await amongGood(forged));
  }
  for (const v of [0, 1, 26, 29, 255]) {
    const changed = await item({ signer: signers.ethereum });
    changed[66] = v;
    add(`ethereum recovery byte ${v === 0 || v === 1 ? 'raw' : 'odd'}`, await amongGood(changed));
  }

  await addItem('no payload', { data: none });
  await addItem('target and anchor', { target: Buffer.alloc(32, 1), anchor: Buffer.alloc(32, 2) });
  for (const byte of [2, 3, 255]) {
    await addItem('an odd presence byte counts as absent', { presence: [byte, 0] });
    await addItem('an odd presence byte counts as absent', { presence: [0, byte] });
  }
  for (const count of [1, 2, 127, 128, 129, 150, 200]) {
    await addItem('many tags', { tagBytes: encodeTags(tinyTags(count)), tagCount: count });
  }
  await addItem('empty names and values', tagged([tag('', ''), tag('', 'v'), tag('n', '')]));
  await addItem('the same tag twice', tagged([tag('n', 'v'), tag('n', 'v')]));
  await addItem('tags that are no ASCII', tagged([tag('ünï ☃', '日本語 🎉'), tag('\u0000', '\n')]));
  await addItem(
    'tags that are no UTF-8',
    tagged([tag(Buffer.from([0xff, 0xfe]), Buffer.from([0xc3, 0x28]))]),
  );
  await addItem('a name beyond 1024 bytes', tagged([tag('n'.repeat(2_000), 'v')]));
  await addItem('a value beyond 3072 bytes', tagged([tag('n', 'v'.repeat(4_000))]));
  await addItem('exactly 4096 tag bytes', tagged([tag('n', 'v'.repeat(4_096 - 6))]));
  await addItem('more than 4096 tag bytes', tagged([tag('n', 'v'.repeat(5_000))]));
  await addItem('20,000 tag bytes', tagged([tag('n', 'v'.repeat(20_000))]));

  const [p, q] = [pair('n', 'v'), pair('other', 'value')];
  for (const [kind, tagBytes, tagCount] of [
    ['no tags written as an empty array', avro(0), 0],
    ['several blocks', avro(1, p, 1, q, 0), 2],
    ['a negative count with the size of its block', avro(-2, p.length + q.length, p, q, 0), 2],
    ['blocks of both forms', avro(-1, p.length, p, 1, q, 0), 2],
    ['a block that says a wrong size', avro(-1, 3, p, 0), 1],
    ['a block that says a size beyond the end', avro(-1, 9_000, p, 0), 1],
    ['a block that says a size below zero', avro(-1, -4, p, 0), 1],
    ['no final zero', avro(1, p), 1],
    ['no final zero after two blocks', avro(1, p, 1, q), 2],
    ['a final zero cut off', avro(1, p, Buffer.from([0x80])), 1],
    ['a final zero in several bytes', avro(1, p, varint(0, 4)), 1],
    ['bytes after the final zero', avro(1, p, 0, Buffer.from('rest')), 1],
    ['an array after the array', avro(1, p, 0, 1, q, 0), 1],
    ['a count in five bytes', avro(varint(1, 5), p, 0), 1],
    ['a count in nine bytes', avro(varint(1, 9), p, 0), 1],
    ['a length in eight bytes', avro(1, varint(1, 8), Buffer.from('n'), varint(1), Buffer.from('v'), 0), 1],
    ['a length beyond the tags', avro(1, 90, Buffer.from('n'), 0), 1],
    ['a length beyond 32 bits', avro(1, 2 ** 40, Buffer.from('n'), 0), 1],
    ['a length below zero', avro(1, -7, Buffer.from('name'), 0), 1],
    ['a count beyond the tags', avro(5, p, 0), 5],
    ['a pair without its value', avro(1, 1, Buffer.from('n')), 1],
    ['bytes that are no tags', Buffer.alloc(40, 0xff), 1],
    ['bytes that are no tags, said to be none', Buffer.alloc(40, 0xff), 0],
    ['tags that are said to be none', avro(1, p, 0), 0],
    ['fewer tags than are there', avro(2, p, q, 0), 1],
    ['more tags than are there', avro(1, p, 0), 2],
    ['a number of tags without tags', none, 3],
  ] as const) {
    await addItem(kind, { tagBytes, tagCount });
  }
  await addItem('tag bytes beyond the item', { ...tagged(someTags(1)), statedTagBytes: 3_000, data: none });

  const nested = await item({
    tagBytes: encodeTags([tag('Bundle-Format', 'binary'), tag('Bundle-Version', '2.0.0')]),
    tagCount: 2,
    data: Buffer.concat([bundle([one, two]), Buffer.from('rest')]),
  });
  add('a bundle in a bundle', await amongGood(nested));
  const inner = Buffer.concat([bundle([one, none, two]), Buffer.from('rest')]);
  add('the bundle in a bundle', inner);

  await addRandom(add, seededRandom(2_104));
  return cases;
}

const tinyTags = (count: number) => Array.from({ length: count }, (_, at) => tag(String(at), ''));

/** Several things at once that every reader agrees on, and tags that were mangled before they were signed. */
async function addRandom(add: (kind: string, bytes: Buffer) => void, random: SeededRandom): Promise<void> {
  for (let round = 0; round < 60; round++) {
    const items: Buffer[] = [];
    for (let at = random.below(6); at >= 0; at--) items.push(await randomItem(random));
    const rest = random.below(2) === 0 ? none : random.bytes(random.below(200));
    add('several things at once', Buffer.concat([bundle(items), rest]));
  }
  for (let round = 0; round < 300; round++) {
    const tagBytes = random.mangle(encodeTags(someTags(1 + random.below(3)))).subarray(0, 4_096);
    // What is stated fits what is there, where anything is: kinds above are about that.
    const found = walkTags(tagBytes, 0, tagBytes.length, chainTagLimits);
    const tagCount = found === -1 ? 1 + random.below(3) : found;
    add(
      found === -1 ? 'mangled beyond reading' : 'mangled tags',
      await amongGood(await item({ tagBytes, tagCount })),
    );
  }
}

async function randomItem(random: SeededRandom): Promise<Buffer> {
  if (random.below(8) === 0) return random.bytes(random.below(100));
  const tags = someTags(random.below(6));
  const bytes = await item({
    signer: random.pick([signers.ed25519, signers.solana, signers.ethereum, signers.typedEthereum]),
    data: random.bytes(random.below(60)),
    ...(random.below(2) === 0 && { target: random.bytes(32) }),
    ...(random.below(2) === 0 && { anchor: random.bytes(32) }),
    tagBytes: random.below(4) === 0 ? encodeTags(tags).subarray(0, -1) : encodeTags(tags),
    tagCount: tags.length,
  });
  if (random.below(6) === 0) bytes[bytes.length - 1] = (bytes.at(-1) ?? 0) ^ 0x55;
  return bytes;
}
