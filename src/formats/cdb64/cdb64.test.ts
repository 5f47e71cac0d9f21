import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { FormatError } from '../format-error.ts';
import { checkCdb64 } from './check.ts';
import { findInCdb64 } from './find.ts';
import { hashKey, headerBytes } from './layout.ts';
import { decodeRootEntry, encodeRootEntry } from './root-entry.ts';
import { Cdb64Writer } from './writer.ts';

const K = Buffer.from(Array.from({ length: 32 }, (_, index) => index));
const R = Buffer.from(Array.from({ length: 32 }, (_, index) => 0xa0 + index));

/** A file in memory. */
class MemoryFile {
  bytes = Buffer.alloc(0);
  reads = 0;
  async read(buffer: Buffer, offset: number, length: number, position: number) {
    this.reads += 1;
    return {
      bytesRead: this.bytes.copy(buffer, offset, position, Math.min(position + length, this.bytes.length)),
    };
  }
  async write(buffer: Buffer, offset: number, length: number, position: number) {
    const end = position + length;
    if (end > this.bytes.length)
      this.bytes = Buffer.concat([this.bytes, Buffer.alloc(end - this.bytes.length)]);
    buffer.copy(this.bytes, position, offset, offset + length);
    return { bytesWritten: length };
  }
}

async function fileOf(records: readonly (readonly [Buffer, Buffer])[]): Promise<MemoryFile> {
  const file = new MemoryFile();
  const writer = new Cdb64Writer(file);
  for (const [key, value] of records) await writer.add(key, value);
  assert.equal(await writer.finish(), file.bytes.length);
  return file;
}

const find = (file: MemoryFile, key: Buffer) =>
  findInCdb64(
    (position, length) => file.bytes.subarray(position, position + length),
    file.bytes.subarray(0, headerBytes),
    key,
  );

const hashOf = (key: Buffer) => {
  const out = new Uint32Array(2);
  hashKey(out, key, 0, key.length);
  return (BigInt(out[1]!) << 32n) | BigInt(out[0]!);
};

test('the hash is that of the format', () => {
  assert.equal(hashOf(Buffer.alloc(0)), 0x1505n);
  assert.equal(hashOf(Buffer.from('a')), 0x2b5c4n);
  assert.equal(hashOf(K), 0x6650038a522d5d05n);
});

test('entries have one exact form and are read back', () => {
  const r = R.toString('hex');
  const cases: [Parameters<typeof encodeRootEntry>[0], string][] = [
    [{ path: [R] }, `81a172c420${r}`],
    [{ path: [R], offsets: { item: 1024, data: 1536 } }, `83a172c420${r}a169cd0400a164cd0600`],
    [
      { path: [R], offsets: { item: 1024, data: 1536, size: 4096 } },
      `84a172c420${r}a169cd0400a164cd0600a173cd1000`,
    ],
    [
      { path: [R], offsets: { item: 2 ** 32, data: 2 ** 32 + 512 } },
      `83a172c420${r}a169cb41f0000000000000a164cb41f0000020000000`,
    ],
    [
      { path: [R, K], offsets: { item: 5000, data: 5512 } },
      `83a17092c420${r}c420${K.toString('hex')}a169cd1388a164cd1588`,
    ],
  ];
  for (const [entry, hex] of cases) {
    assert.equal(encodeRootEntry(entry).toString('hex'), hex);
    assert.deepEqual(decodeRootEntry(Buffer.from(hex, 'hex')), entry);
  }
  const limit = encodeRootEntry({ path: [R], offsets: { item: 2 ** 32 - 1, data: 2 ** 32 } });
  assert.match(limit.toString('hex'), /a169ceffffffff/);
});

test('an entry that is cut, padded or contradicts itself is refused', () => {
  const good = encodeRootEntry({ path: [R], offsets: { item: 1024, data: 1536, size: 4096 } });
  for (let length = 0; length < good.length; length += 1)
    assert.throws(() => decodeRootEntry(good.subarray(0, length)), FormatError);
  assert.throws(() => decodeRootEntry(Buffer.concat([good, Buffer.of(0)])), FormatError);
  const r = R.toString('hex');
  for (const hex of [
    `83a172c420${r}a169cd0600a164cd0400`, // payload before header
    `83a172c420${r}a16901a16901`, // twice
    `83a172c420${r}a169cbbff0000000000000a16401`, // -1
    `83a172c420${r}a169cb3fe0000000000000a16401`, // 0.5
    `83a172c420${r}a16900a164cfffffffffffffffff`, // beyond 2^53
    '80',
    'c0',
  ])
    assert.throws(() => decodeRootEntry(Buffer.from(hex, 'hex')), FormatError, hex);
});

test('a file with one record is byte for byte the known one', async () => {
  const file = await fileOf([[K, encodeRootEntry({ path: [R], offsets: { item: 1024, data: 1536 } })]]);
  assert.equal(file.bytes.length, 4223);
  assert.equal(
    createHash('sha256').update(file.bytes).digest('hex'),
    '5e9a6a2b9fe1dc18236180e546de3e29f7b43934787f2dae5b05dc4f54359444',
  );
});

test('every record of a large file is found, nothing else is, and the first of two wins', async () => {
  const records = Array.from({ length: 20_000 }, (_, index) => {
    const key = createHash('sha256').update(`key ${index}`).digest();
    return [key, Buffer.from(`value ${index}`)] as const;
  });
  const again = [records[5]![0], Buffer.from('second')] as const;
  const file = await fileOf([...records, again]);
  for (const [key, value] of records) assert.deepEqual(await find(file, key), value);
  for (let index = 0; index < 1000; index += 1) {
    const key = createHash('sha256').update(`absent ${index}`).digest();
    assert.equal(await find(file, key), undefined);
  }
  assert.equal(await checkCdb64(file, file.bytes.length, { keyBytes: 32 }), 20_001);
});

test('values longer than the guess are read whole', async () => {
  const value = Buffer.alloc(60_000, 7);
  const file = await fileOf([[K, value]]);
  assert.deepEqual(await find(file, K), value);
});

test('an empty file is sound and holds nothing', async () => {
  const file = await fileOf([]);
  assert.equal(file.bytes.length, headerBytes);
  assert.equal(await find(file, K), undefined);
  assert.equal(await checkCdb64(file, headerBytes), 0);
});

test('a change of any byte that matters, a cut or a longer file is found by the check', async () => {
  const records = Array.from({ length: 40 }, (_, index) => {
    const key = createHash('sha256').update(String(index)).digest();
    key[0] = 0;
    return [key, encodeRootEntry({ path: [R], offsets: { item: index, data: index + 600 } })] as const;
  });
  const { bytes } = await fileOf(records);
  const check = (changed: Buffer) => {
    const file = new MemoryFile();
    file.bytes = Buffer.from(changed);
    return checkCdb64(file, changed.length, {
      keyBytes: 32,
      prefix: 0,
      maxValueBytes: 4096,
      value: (value) => void decodeRootEntry(value),
    });
  };
  assert.equal(await check(bytes), 40);
  for (let at = 0; at < bytes.length; at += 13) {
    const changed = Buffer.from(bytes);
    changed[at] = changed[at]! ^ 0x80;
    const inValue = await check(changed).then(
      () => true,
      (error: unknown) => {
        assert.ok(error instanceof FormatError);
        return false;
      },
    );
    // Only the bytes of an id or an offset may be others in a file that is sound; the digest covers those.
    if (inValue) assert.ok(at > headerBytes && at < bytes.readUInt32LE(0));
  }
  for (const size of [0, 100, headerBytes, bytes.length - 1])
    await assert.rejects(check(bytes.subarray(0, size)), FormatError);
  await assert.rejects(check(Buffer.concat([bytes, Buffer.alloc(16)])), FormatError);
});

test('keys that were made to collide do not make the check endless', async () => {
  const file = await fileOf(Array.from({ length: 11_000 }, () => [K, R] as const));
  await assert.rejects(checkCdb64(file, file.bytes.length), /same hash/);
  const few = await fileOf(Array.from({ length: 1_000 }, () => [K, R] as const));
  assert.equal(await checkCdb64(few, few.bytes.length), 1_000);
});
