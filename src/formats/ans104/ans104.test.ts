import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { describe, test } from 'node:test';
import { type SeededRandom, seededRandom } from '../../../test/support/seeded-random.ts';
import { FormatError } from '../format-error.ts';
import { encodeBundleHeader, minItemBytes, parseBundleHeader } from './bundle-header.ts';
import { encodeItem, itemMessage, parseItem } from './item.ts';
import { encodeItemHeader, parseItemHeader } from './item-header.ts';
import { type ItemEnd, ItemParser } from './item-parser.ts';
import { signatureLayout } from './signature-types.ts';
import { messagePrefix, signedMessage } from './signed-message.ts';

const sha256 = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest();

/** A well-formed item with a made-up signature. */
function randomItem(random: SeededRandom, dataBytes = random.below(600)): Buffer {
  const layout = signatureLayout(1 + random.below(7))!;
  return encodeItem({
    signatureType: layout.type,
    signature: random.bytes(layout.signatureBytes),
    owner: random.bytes(layout.ownerBytes),
    target: random.bytes(random.pick([0, 32])),
    anchor: random.bytes(random.pick([0, 32])),
    tags: Array.from({ length: random.below(5) }, () => ({
      name: random.bytes(random.below(20)),
      value: random.bytes(random.below(60)),
    })),
    data: random.bytes(dataBytes),
  });
}

/** What a parser fed piece by piece says about the bytes. */
function stream(pieces: readonly Buffer[], options = {}) {
  const parser = new ItemParser(options);
  const payload: Buffer[] = [];
  for (const piece of pieces) {
    const part = parser.push(piece);
    if (typeof part === 'string') return part;
    payload.push(Buffer.from(part));
  }
  const end = parser.finish();
  return typeof end === 'string' ? end : { ...end, payload: Buffer.concat(payload) };
}

function bundle(items: readonly Buffer[]): Buffer {
  const entries = items.map((item) => {
    const header = parseItemHeader(item);
    assert.ok(typeof header !== 'string');
    return { id: header.idBytes, size: item.length };
  });
  return Buffer.concat([encodeBundleHeader(entries), ...items]);
}

/** The 48 bytes that the signature of a streamed item covers. */
function streamedItemMessage({ header, dataHash }: ItemEnd): Buffer {
  return signedMessage(messagePrefix(header.signatureType, header.owner), header, dataHash);
}

describe('data items', () => {
  test('fields that were written are read back, as views of the same bytes', () => {
    const random = seededRandom(1);
    for (let round = 0; round < 500; round++) {
      const bytes = randomItem(random);
      const item = parseItem(bytes);
      assert.ok(typeof item !== 'string');
      const { header, data } = item;
      const again = encodeItem({
        signatureType: header.signatureType,
        signature: header.signature,
        owner: header.owner,
        target: header.target,
        anchor: header.anchor,
        tags: header.tagBytes,
        data,
      });
      assert.ok(again.equals(bytes));
      assert.equal(data.buffer, bytes.buffer);
      assert.equal(header.tags.length, header.tagCount);
      assert.equal(header.idBytes.equals(sha256(header.signature)), true);
    }
  });

  test('a stream in pieces of any size gives what the whole gives', () => {
    const random = seededRandom(2);
    for (let round = 0; round < 400; round++) {
      const bytes = randomItem(random, random.below(3_000));
      const whole = parseItem(bytes);
      assert.ok(typeof whole !== 'string');
      const streamed = stream(random.pieces(bytes, random.pick([1, 3, 70, 700, 5_000])));
      assert.ok(typeof streamed !== 'string', String(streamed));
      assert.ok(streamed.payload.equals(whole.data));
      assert.ok(streamed.header.bytes.equals(whole.header.bytes));
      assert.equal(streamed.payloadBytes, whole.data.length);
      assert.ok(streamedItemMessage(streamed).equals(itemMessage(whole)));
    }
  });

  test('a stream that stops inside the header is truncated, wherever it stops', () => {
    const bytes = randomItem(seededRandom(3), 10);
    const header = parseItemHeader(bytes);
    assert.ok(typeof header !== 'string');
    for (let length = 0; length < header.length; length += 7) {
      assert.equal(stream([bytes.subarray(0, length)]), 'truncated');
    }
    assert.ok(typeof stream([bytes.subarray(0, header.length)]) !== 'string');
  });

  test('a header that claims many tag bytes is refused before they arrive', () => {
    const bytes = encodeItem({
      signatureType: 4,
      signature: Buffer.alloc(64),
      owner: Buffer.alloc(32),
      data: Buffer.alloc(0),
    });
    bytes.writeUInt32LE(4_097, bytes.length - 8);
    assert.equal(stream([bytes]), 'too-many-tag-bytes');
    assert.equal(stream([bytes], { lenient: true }), 'truncated');
    bytes.writeUInt32LE(0xffffffff, bytes.length - 4);
    assert.equal(stream([bytes], { lenient: true }), 'too-many-tag-bytes');
  });

  test('what may not be written throws', () => {
    const good = { signatureType: 4, signature: Buffer.alloc(64), owner: Buffer.alloc(32) } as const;
    assert.ok(encodeItemHeader(good).length === minItemBytes);
    for (const wrong of [
      { ...good, signature: Buffer.alloc(63) },
      { ...good, owner: Buffer.alloc(33) },
      { ...good, target: Buffer.alloc(31) },
      { ...good, anchor: Buffer.alloc(33) },
      { ...good, tags: Array.from({ length: 129 }, () => ({ name: 'a', value: 'b' })) },
      { ...good, tags: [{ name: 'a', value: 'b'.repeat(3_073) }] },
      { ...good, tags: Buffer.from([2]) },
    ]) {
      assert.throws(() => encodeItemHeader(wrong), FormatError);
    }
  });

  test('random and mangled bytes are answered, never thrown, and whole and stream agree', () => {
    const random = seededRandom(4);
    let accepted = 0;
    for (let round = 0; round < 12_000; round++) {
      const sample =
        round % 3 === 0
          ? random.bytes(random.below(400))
          : random.mangle(randomItem(random, random.below(40)));
      if (round % 5 === 0 && sample.length >= 2) sample.writeUInt16LE(random.below(9));
      for (const options of [{}, { lenient: true }]) {
        const whole = parseItem(sample, options);
        const streamed = stream(random.pieces(sample, 500), options);
        if (typeof whole === 'string' || typeof streamed === 'string') {
          assert.equal(streamed, whole);
        } else {
          accepted++;
          assert.ok(streamedItemMessage(streamed).equals(itemMessage(whole)));
        }
      }
    }
    assert.ok(accepted > 100, `${accepted} were well-formed`);
  });
});

describe('bundles', () => {
  test('items are found where the header says', () => {
    const random = seededRandom(5);
    for (let round = 0; round < 60; round++) {
      const items = Array.from({ length: 1 + random.below(12) }, () => randomItem(random));
      const bytes = bundle(items);
      const header = parseBundleHeader(bytes);
      assert.ok(typeof header !== 'string');
      assert.equal(header.bundleBytes, bytes.length);
      assert.equal(header.count, items.length);
      items.forEach((item, index) => {
        const start = header.offsets[index]!;
        assert.ok(bytes.subarray(start, start + header.sizes[index]!).equals(item));
        const whole = parseItem(item);
        assert.ok(typeof whole !== 'string');
        assert.equal(header.id(index), whole.header.id);
      });
    }
  });

  test('a bundle of no items is read but never written', () => {
    const header = parseBundleHeader(Buffer.alloc(32));
    assert.ok(typeof header !== 'string');
    assert.equal(header.count, 0);
    assert.throws(() => encodeBundleHeader([]), FormatError);
  });

  test('items twice and impossible sizes are never written', () => {
    const entry = { id: Buffer.alloc(32, 1), size: 500 };
    assert.throws(() => encodeBundleHeader([entry, entry]), FormatError);
    assert.throws(() => encodeBundleHeader([{ ...entry, size: minItemBytes - 1 }]), FormatError);
    assert.throws(() => encodeBundleHeader([{ ...entry, size: 2 ** 53 }]), FormatError);
    assert.throws(() => encodeBundleHeader([{ ...entry, id: Buffer.alloc(31) }]), FormatError);
  });

  test('counts and sizes that do not fit are refused before anything is allocated', () => {
    const bytes = bundle([randomItem(seededRandom(9))]);
    const changed = (change: (copy: Buffer) => void) => {
      const copy = Buffer.from(bytes);
      change(copy);
      return copy;
    };
    const cases: [Buffer, string][] = [
      [bytes.subarray(0, 31), 'truncated-bundle'],
      [bytes.subarray(0, 95), 'item-count'],
      [changed((copy) => copy.writeUInt32LE(0xffffffff, 0)), 'item-count'],
      [changed((copy) => copy.writeUInt32LE(1, 28)), 'item-count'],
      [changed((copy) => copy.writeUInt32LE(0, 0)), 'trailing-bytes'],
      [changed((copy) => copy.writeUInt32LE(1, 32 + 12)), 'item-size'],
      [changed((copy) => copy.writeUInt32LE(0, 32)), 'item-size'],
      [Buffer.concat([bytes, Buffer.from([0])]), 'trailing-bytes'],
      [bytes.subarray(0, bytes.length - 1), 'item-size'],
    ];
    for (const [sample, problem] of cases) assert.equal(parseBundleHeader(sample), problem);
  });

  test('random and mangled bundles are answered, never thrown', () => {
    const random = seededRandom(10);
    const base = bundle([randomItem(random, 30), randomItem(random, 30)]);
    let itemsRead = 0;
    for (let round = 0; round < 10_000; round++) {
      const sample = round % 4 === 0 ? random.bytes(random.below(300)) : random.mangle(base);
      if (round % 4 === 0 && sample.length > 32) sample.fill(0, 1, 32);
      const header = parseBundleHeader(sample);
      if (typeof header === 'string') continue;
      assert.equal(header.bundleBytes, sample.length);
      for (let index = 0; index < header.count; index++) {
        const item = parseItem(sample.subarray(header.offsets[index]!, header.offsets[index + 1]!));
        if (typeof item !== 'string') itemsRead += 1;
      }
    }
    assert.ok(itemsRead > 100);
  });
});
