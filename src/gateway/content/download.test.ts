import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { mountSmallDisk } from '../../../test/support/small-disk.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import { openBlobCache } from '../../storage/blobs/open.ts';
import { downloadContent } from './download.ts';
import type { SourceBytes } from './sources/source.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-fill-'));
const cache = await openBlobCache({ folder, maxBytes: 256 * 1024 * 1024 });
after(async () => {
  await cache.close();
  rmSync(folder, { recursive: true, force: true });
});

const staying = new AbortController().signal;
const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('base64url');

function source(
  stream: AsyncIterable<Buffer>,
  size: number,
  options: Partial<SourceBytes> = {},
): SourceBytes {
  const nothing = { contentType: undefined, contentEncoding: undefined, hops: 0, hash: undefined };
  return { ...nothing, size, proven: true, stream, ...options };
}

async function* pieces(bytes: Buffer, piece = 64 * 1024, failAt = Number.POSITIVE_INFINITY) {
  for (let at = 0; at < bytes.length; at += piece) {
    if (at >= failAt) throw new Error('the source broke');
    yield bytes.subarray(at, at + piece);
  }
}

async function collect(stream: AsyncIterable<Buffer>): Promise<Buffer> {
  const all: Buffer[] = [];
  for await (const piece of stream) all.push(piece);
  return Buffer.concat(all);
}

function downloadOf(
  first: SourceBytes,
  others: SourceBytes[] = [],
  expected?: string,
  into: BlobStore = cache,
  all?: Buffer,
) {
  const rests: number[] = [];
  const failures = { count: 0 };
  const noted: { hash: string; proven: boolean }[] = [];
  const starts: number[] = [];
  const download = downloadContent({
    cache: into,
    expected,
    first,
    next: async (start) => {
      starts.push(start);
      return others.shift();
    },
    rest: async (start) => {
      assert.ok(all !== undefined);
      rests.push(start);
      return pieces(all.subarray(start));
    },
    uncached: () => {
      failures.count += 1;
    },
    done: async (hash, proven) => void noted.push({ hash, proven }),
  });
  return { download, noted, starts, rests, failures };
}

describe('downloadContent', () => {
  test('every reader gets every byte, and the cache keeps them', async () => {
    const bytes = randomBytes(1_000_000);
    const { download, noted } = downloadOf(source(pieces(bytes), bytes.length));
    for (const got of await Promise.all([1, 2, 3].map(() => collect(download.read(staying)))))
      assert.ok(got.equals(bytes));
    assert.deepEqual(noted, [{ hash: sha256(bytes), proven: true }]);
    const reader = await cache.open(Buffer.from(sha256(bytes), 'base64url').toString('hex'));
    assert.equal(reader?.size, bytes.length);
    await reader?.close();
  });

  test('a reader that takes nothing holds nobody up and reads from the cache later', async () => {
    const bytes = randomBytes(12 * 1024 * 1024);
    const { download } = downloadOf(source(pieces(bytes), bytes.length));
    const slow = download.read(staying);
    const first = await slow.next();
    assert.ok((await collect(download.read(staying))).equals(bytes));
    const rest = await collect({ [Symbol.asyncIterator]: () => slow });
    assert.ok(Buffer.concat([first.value ?? Buffer.alloc(0), rest]).equals(bytes));
  });

  test('a fetch that nobody waits for any more is let go, one that somebody waits for is not', async () => {
    const bytes = randomBytes(6 * 1024 * 1024);
    let stop = () => {};
    const stopped = new Promise<void>((resolve) => {
      stop = resolve;
    });
    async function* stalling() {
      yield bytes.subarray(0, 5 * 1024 * 1024);
      yield bytes.subarray(5 * 1024 * 1024, bytes.length - 1);
      await stopped;
      throw new Error('let go');
    }
    let abandoned = 0;
    const download = downloadContent({
      cache,
      expected: undefined,
      first: source(stalling(), bytes.length),
      next: async () => undefined,
      rest: () => assert.fail(),
      uncached: () => {},
      done: async () => {},
      lingerMs: 1,
      abandoned: () => {
        abandoned += 1;
        stop();
      },
    });
    const [one, two] = [new AbortController(), new AbortController()];
    // Both fell behind and wait for the end.
    const reading = [one, two].map(({ signal }) => collect(download.read(signal)));
    one.abort(new Error('one left'));
    await assert.rejects(reading[0] ?? assert.fail(), /one left/);
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.equal(abandoned, 0, 'somebody waits');
    two.abort(new Error('two left'));
    await assert.rejects(reading[1] ?? assert.fail(), /two left/);
    await assert.rejects(download.finished, /let go/);
    assert.equal(abandoned, 1);
  });

  test('a reader who comes late gets it all', async () => {
    const bytes = randomBytes(6 * 1024 * 1024);
    const { download } = downloadOf(source(pieces(bytes), bytes.length));
    await download.finished;
    assert.ok((await collect(download.read(staying))).equals(bytes));
  });

  test('the next source goes on where one broke', async () => {
    const bytes = randomBytes(500_000);
    const from = 3 * 64 * 1024;
    const rest = source(pieces(bytes.subarray(from)), bytes.length, { proven: false });
    const { download, noted, starts } = downloadOf(source(pieces(bytes, 64 * 1024, from), bytes.length), [
      rest,
    ]);
    assert.ok((await collect(download.read(staying))).equals(bytes));
    assert.deepEqual(starts, [from]);
    assert.equal(noted[0]?.proven, false, 'it is proven only when all of it was');
  });

  test('bytes with the wrong hash never look complete and are not kept', async () => {
    const bytes = randomBytes(300_000);
    const wrong = Buffer.from(bytes);
    wrong[299_999] = (wrong[299_999] ?? 0) ^ 1;
    const { download, noted } = downloadOf(
      source(pieces(wrong), bytes.length, { proven: false }),
      [],
      sha256(bytes),
    );
    let got = 0;
    await assert.rejects(async () => {
      for await (const piece of download.read(staying)) got += piece.length;
    });
    assert.ok(got < bytes.length);
    assert.deepEqual(noted, []);
    assert.equal(await cache.open(Buffer.from(sha256(wrong), 'base64url').toString('hex')), undefined);
  });

  test('a source that ends early, sends too much, or lies about its digest fails', async () => {
    const bytes = randomBytes(100_000);
    const short = downloadOf(source(pieces(bytes.subarray(0, 90_000)), bytes.length));
    await assert.rejects(collect(short.download.read(staying)));
    const long = downloadOf(source(pieces(bytes), 90_000));
    await assert.rejects(collect(long.download.read(staying)));
    const liar = downloadOf(
      source(pieces(bytes), bytes.length, { proven: false, hash: sha256(Buffer.from('x')) }),
    );
    await assert.rejects(collect(liar.download.read(staying)));
  });

  test('a disk that fills up fails no reader, fast or slow, and leaves nothing behind', async (context) => {
    const disk = mountSmallDisk();
    if (disk === undefined) return context.skip('needs the right to mount');
    const small = await openBlobCache({ folder: disk.folder, maxBytes: 1024 ** 3 });
    try {
      const bytes = randomBytes(14 * 1024 * 1024);
      const { download, noted, rests, failures } = downloadOf(
        source(pieces(bytes), bytes.length),
        [],
        undefined,
        small,
        bytes,
      );
      const slow = download.read(staying);
      const first = (await slow.next()).value ?? Buffer.alloc(0);
      for (const got of await Promise.all([1, 2].map(() => collect(download.read(staying)))))
        assert.ok(got.equals(bytes));
      assert.deepEqual(noted, [{ hash: sha256(bytes), proven: true }]);
      assert.equal(failures.count, 1, 'it is told once');
      const rest = await collect({ [Symbol.asyncIterator]: () => slow });
      assert.ok(Buffer.concat([first, rest]).equals(bytes), 'who fell behind reads the rest elsewhere');
      assert.deepEqual(rests, [first.length]);
      assert.ok((await collect(download.read(staying))).equals(bytes), 'who comes late too');
      const fits = randomBytes(500_000);
      const next = downloadOf(source(pieces(fits), fits.length), [], undefined, small);
      assert.ok((await collect(next.download.read(staying))).equals(fits));
      assert.equal(next.failures.count, 0, 'the disk has room again');
    } finally {
      await small.close();
      disk.remove();
    }
  });
});
