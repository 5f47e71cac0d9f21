/** Data items, bundles and their tags. */
import assert from 'node:assert/strict';
import {
  encodeBundleHeader,
  measureBundleHeader,
  parseBundleHeader,
} from '../../../src/formats/ans104/bundle-header.ts';
import { encodeItem, itemMessage, parseItem } from '../../../src/formats/ans104/item.ts';
import {
  encodeItemHeader,
  maxItemHeaderBytes,
  measureItemHeader,
} from '../../../src/formats/ans104/item-header.ts';
import { ItemParser } from '../../../src/formats/ans104/item-parser.ts';
import { chainTagLimits, decodeTags, encodeTags, ingestTagLimits } from '../../../src/formats/avro-tags.ts';
import { FormatError } from '../../../src/formats/format-error.ts';
import { optionsOf, readOrRefused, type Target } from '../target.ts';

const item = (
  signatureType: 1 | 2 | 3,
  tags: { name: string; value: string }[],
  isAddressed: boolean,
): Buffer => {
  const [signatureBytes, ownerBytes] =
    signatureType === 1 ? [512, 512] : signatureType === 2 ? [64, 32] : [65, 65];
  return encodeItem({
    signatureType,
    signature: Buffer.alloc(signatureBytes, 7),
    owner: Buffer.alloc(ownerBytes, 9),
    ...(isAddressed && { target: Buffer.alloc(32, 1), anchor: Buffer.alloc(32, 2) }),
    tags,
    data: Buffer.from('payload'),
  });
};
const someTags = [
  { name: 'Content-Type', value: 'text/plain' },
  { name: 'App', value: 'ü' },
];
const items = [item(1, someTags, true), item(2, [], false), item(3, someTags, false)];

/** In pieces or whole, what is read is the same. */
function readsAlike(bytes: Buffer, lenient: boolean, pieceBytes: number): void {
  const whole = parseItem(bytes, { lenient });
  const parser = new ItemParser({ lenient });
  let payloadBytes = 0;
  for (let at = 0; at < bytes.length; at += pieceBytes) {
    const got = parser.push(bytes.subarray(at, at + pieceBytes));
    if (typeof got === 'string') break;
    payloadBytes += got.length;
  }
  const end = parser.finish();
  if (typeof whole === 'string' || typeof end === 'string') {
    assert.equal(end, whole);
    return;
  }
  assert.equal(end.header.length, whole.header.length);
  assert.equal(end.payloadBytes, whole.data.length);
  assert.equal(payloadBytes, whole.data.length);
  assert.equal(end.header.id, whole.header.id);
  assert.ok(whole.header.length <= (lenient ? bytes.length : maxItemHeaderBytes));
  assert.equal(itemMessage(whole).length, 48);
  assert.equal(measureItemHeader(bytes, bytes.length, { lenient }), whole.header.length);
  if (lenient) return;
  const { signatureType, signature, owner, target, anchor, tagBytes, length } = whole.header;
  const again = encodeItemHeader({ signatureType, signature, owner, target, anchor, tags: tagBytes });
  assert.deepEqual(again, bytes.subarray(0, length));
}

export const targets: readonly Target[] = [
  {
    name: 'ans104-item',
    seeds: () => items.map((bytes) => Buffer.concat([Buffer.from([0]), bytes])),
    run(input) {
      const { bits, rest } = optionsOf(input);
      readsAlike(rest, (bits & 1) === 1, 1 + (bits >> 1));
    },
  },
  {
    name: 'ans104-bundle',
    longest: 8_192,
    seeds: () => {
      const header = encodeBundleHeader(
        items.map((bytes, index) => ({ id: Buffer.alloc(32, index), size: bytes.length })),
      );
      return [Buffer.concat([Buffer.from([0]), header, ...items])];
    },
    run(input) {
      const { bits, rest } = optionsOf(input);
      const options = { lenient: (bits & 1) === 1 };
      const header = parseBundleHeader(rest, rest.length, options);
      if (typeof header === 'string') return;
      assert.equal(measureBundleHeader(rest.subarray(0, 32), rest.length, options), header.length);
      assert.ok(header.wholeCount <= header.count && header.length <= rest.length);
      let at = header.length;
      for (let index = 0; index < header.wholeCount; index += 1) {
        assert.equal(header.offsets[index], at);
        at += header.sizes[index]!;
        assert.equal(header.id(index).length, 43);
        parseItem(rest.subarray(header.offsets[index], at), options);
      }
      assert.ok(options.lenient ? at <= rest.length : at === rest.length);
    },
  },
  {
    name: 'avro-tags',
    seeds: () => [
      encodeTags(someTags),
      encodeTags([{ name: 'a', value: '' }]),
      Buffer.from([3, 8, 2, 97, 2, 98, 0]),
    ],
    run(input) {
      const strict = decodeTags(input, ingestTagLimits);
      const lenient = decodeTags(input, chainTagLimits);
      if (strict === undefined) return;
      assert.deepEqual(lenient, strict);
      // Text that is no UTF-8 is read with replacement characters and is longer when written again.
      const again = readOrRefused([FormatError], () => decodeTags(encodeTags(strict), chainTagLimits));
      assert.deepEqual(again, strict);
    },
  },
];
