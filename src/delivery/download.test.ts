import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { seededRandom } from '../../test/support/seeded-random.ts';
import type { BlobCache } from '../storage/blobs/cache/cache.ts';
import { openBlobCache } from '../storage/blobs/open.ts';
import {
  Download,
  type DownloadAttempt,
  type DownloadOptions,
  type DownloadResult,
  firstBytesLimit,
} from './download.ts';
import { withMinimumSpeed } from './minimum-speed.ts';

const mebibyte = 1024 * 1024;
const data = seededRandom(11).bytes(16 * mebibyte);
const digest = createHash('sha256').update(data).digest('hex');
const folder = mkdtempSync(join(tmpdir(), 'turnpike-fill-'));
let cache: BlobCache;
before(async () => {
  cache = await openBlobCache({ folder, maxBytes: 1024 * mebibyte });
});
after(async () => {
  await cache.close();
  rmSync(folder, { recursive: true, force: true });
});

/** A download that goes as far as it is told to. */
function startDownload(options: Partial<DownloadOptions & DownloadAttempt> = {}) {
  let allowed = 0;
  let wake: (() => void) | undefined;
  const state = { aborted: false, sent: 0, result: undefined as DownloadResult['kind'] | undefined };
  async function* body(): AsyncGenerator<Buffer> {
    while (state.sent < data.length) {
      while (state.sent >= allowed && !state.aborted) {
        await new Promise<void>((resolve) => {
          wake = resolve;
        });
      }
      if (state.aborted) throw new Error('broken off');
      const piece = data.subarray(state.sent, state.sent + 64 * 1024);
      state.sent += piece.length;
      yield Buffer.from(piece);
    }
  }
  const abort = () => {
    state.aborted = true;
    wake?.();
  };
  const download = new Download({
    cache,
    size: data.length,
    maxLead: 256 * 1024,
    lingerMs: (arrived, isKept) => (isKept && arrived * 2 > data.length ? Number.POSITIVE_INFINITY : 0),
    first: {
      check: { update() {}, finish: (found) => found === digest },
      body: body(),
      resume: async (_start, cause) => {
        throw cause;
      },
      ...options,
    },
    done: (result) => {
      state.result = result.kind;
      if (result.kind !== 'proven') abort();
    },
    cacheFailed: () => {},
    abort,
    ...options,
  });
  return {
    download,
    state,
    allow(bytes: number) {
      allowed = bytes;
      wake?.();
    },
  };
}

class Reader {
  readonly #gone = new AbortController();
  readonly #stream: AsyncGenerator<Buffer>;
  readonly pieces: Buffer[] = [];
  bytes = 0;

  constructor(download: Download) {
    this.#stream = download.read(this.#gone.signal);
  }

  /** Reads until so many bytes are there, or to the end. */
  async read(bytes = Number.POSITIVE_INFINITY): Promise<void> {
    while (this.bytes < bytes) {
      const { value, done } = await this.#stream.next();
      if (done === true || value === undefined) return;
      this.pieces.push(value);
      this.bytes += value.length;
    }
  }

  async leave(): Promise<void> {
    this.#gone.abort(new Error('left'));
    await this.#stream.return(undefined);
  }
}

const whole = ({ pieces }: Reader) => Buffer.concat(pieces).equals(data);

test('a download that whoever opened it does not read is given up, unless somebody else does', async () => {
  const unread = startDownload({ cache: undefined });
  unread.allow(mebibyte);
  unread.download.release(1);
  await assert.rejects(unread.download.finished);
  assert.ok(unread.state.aborted);

  const asked = startDownload({ cache: undefined });
  asked.allow(mebibyte);
  assert.equal(await asked.download.whole(Promise.resolve()), undefined);
  await assert.rejects(asked.download.finished, 'who only asked about it is gone');

  const shared = startDownload();
  shared.download.release(1);
  const whole = shared.download.whole();
  await new Promise((resolve) => setTimeout(resolve, 10));
  shared.allow(data.length);
  assert.equal(await whole, digest);
});

test('one who comes late has everything from the first byte, also when the first reader leaves', async () => {
  for (const leavesAt of [7, 15]) {
    await cache.delete(digest);
    const { download, allow } = startDownload();
    const first = new Reader(download);
    const reading = first.read(5 * mebibyte);
    allow(6 * mebibyte);
    await reading;
    const late = new Reader(download);
    const lateReading = late.read();
    const again = first.read((leavesAt - 1) * mebibyte);
    allow(leavesAt * mebibyte);
    await again;
    await first.leave();
    allow(data.length);
    await lateReading;
    assert.ok(whole(late), `the first left at ${leavesAt} MiB`);
  }
});

test('one that reads nothing holds nobody else up, and gets everything once it does', async () => {
  await cache.delete(digest);
  const { download, allow } = startDownload();
  const idle = new Reader(download);
  const quick = new Reader(download);
  const started = idle.read(1);
  allow(data.length);
  await quick.read();
  await started;
  assert.ok(whole(quick));
  await idle.read();
  assert.ok(whole(idle));
});

test('one that stopped reading holds nobody up who comes after it', async () => {
  await cache.delete(digest);
  const { download, allow, state } = startDownload();
  const idle = new Reader(download);
  allow(data.length);
  await idle.read(1);
  for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
  assert.ok(state.sent < data.length, 'the download waits for the only reader');
  const late = new Reader(download);
  const [, digestOfAll] = await Promise.all([late.read(), download.whole()]);
  assert.ok(whole(late));
  assert.equal(digestOfAll, digest);
  await idle.read();
  assert.ok(whole(idle));
});

test('one reader alone sets the pace: no more is fetched than it is behind', async () => {
  await cache.delete(digest);
  const { download, allow, state } = startDownload();
  const reader = new Reader(download);
  allow(data.length);
  await reader.read(1);
  for (let round = 0; round < 50; round += 1) await new Promise(setImmediate);
  assert.ok(state.sent < 6 * mebibyte, `${state.sent} bytes were fetched for nobody`);
  await reader.read();
  assert.ok(whole(reader));
});

test('what everybody left is given up early on, and finished where most of it is there', async () => {
  for (const [bytes, kept] of [
    [2, false],
    [10, true],
  ] as const) {
    await cache.delete(digest);
    const { download, allow, state } = startDownload();
    const reader = new Reader(download);
    const reading = reader.read((bytes - 1) * mebibyte);
    allow(bytes * mebibyte);
    await reading;
    await reader.leave();
    allow(data.length);
    await download.finished.catch(() => {});
    assert.equal(state.aborted, !kept);
    const found = await cache.open(digest);
    assert.equal(found !== undefined, kept);
    await found?.close();
  }
});

test('one that lags too far and leaves keeps no download alive that nobody wants', {
  timeout: 20_000,
}, async () => {
  await cache.delete(digest);
  const { download, allow, state } = startDownload();
  const idle = new Reader(download);
  const quick = new Reader(download);
  const started = idle.read(1);
  const reading = quick.read(7 * mebibyte);
  allow(7 * mebibyte + 200_000);
  await Promise.all([started, reading]);
  const waiting = idle.read().catch(() => 'left');
  await quick.leave();
  await idle.leave();
  assert.equal(await waiting, 'left');
  await assert.rejects(download.finished);
  assert.ok(state.aborted);
});

test('readers that stopped half-way keep little in memory, however many they are', async () => {
  await cache.delete(digest);
  const downloads = Array.from({ length: 80 }, () => startDownload());
  const readers = await Promise.all(
    downloads.map(async ({ download, allow }) => {
      const reader = new Reader(download);
      const reading = reader.read(3 * mebibyte);
      allow(4 * mebibyte);
      await reading;
      reader.pieces.length = 0;
      return reader;
    }),
  );
  const held = downloads.reduce((sum, { download }) => sum + download.held, 0);
  // What all beginnings share, and what each reader is behind.
  const bound = firstBytesLimit + downloads.length * mebibyte;
  assert.ok(bound < downloads.length * 3 * mebibyte, 'what they would hold without a bound is more');
  assert.ok(held > 0 && held <= bound, `${Math.round(held / mebibyte)} MiB for 80 readers of 3 MiB`);
  for (const reader of readers) await reader.leave();
  await Promise.allSettled(downloads.map(({ download }) => download.finished));
  assert.equal(
    downloads.reduce((sum, { download }) => sum + download.held, 0),
    0,
    'nothing stays of what everybody left',
  );
});

test('a gateway that drips is left for another', async () => {
  await cache.delete(digest);
  async function* drip(): AsyncGenerator<Buffer> {
    for (let at = 0; at < data.length; at += 1) {
      yield data.subarray(at, at + 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  }
  async function* rest(start: number): AsyncGenerator<Buffer> {
    yield data.subarray(start);
  }
  const causes: unknown[] = [];
  const { download } = startDownload({
    body: withMinimumSpeed(drip(), 40),
    async resume(start, cause) {
      causes.push(cause);
      return rest(start);
    },
  });
  const reader = new Reader(download);
  await reader.read();
  assert.ok(whole(reader));
  assert.match(String(causes[0]), /too slowly/);
});

test('a connection that breaks after the last byte has cost nobody anything', async () => {
  await cache.delete(digest);
  const cause = new Error('other side closed');
  async function* body(): AsyncGenerator<Buffer> {
    yield data;
    throw cause;
  }
  const { download, state } = startDownload({
    body: body(),
    resume: () => assert.fail('there is nothing left to ask for'),
  });
  const reader = new Reader(download);
  await reader.read();
  assert.ok(whole(reader));
  assert.equal(state.result, 'proven');
});

test('bytes that are wrong for one id stay in the cache where they are right for another', async () => {
  await cache.put(data);
  const { download, allow, state } = startDownload({ check: { update() {}, finish: () => false } });
  allow(data.length);
  await assert.rejects(download.finished);
  assert.equal(state.result, 'wrong');
  const kept = await cache.open(digest);
  assert.equal(kept?.size, data.length);
  await kept?.close();
});

test('wrong bytes end no reader well, early or late, and are kept under no name', async () => {
  await cache.delete(digest);
  const { download, allow, state } = startDownload({ check: { update() {}, finish: () => false } });
  const first = new Reader(download);
  const reading = first.read(5 * mebibyte);
  allow(6 * mebibyte);
  await reading;
  const late = new Reader(download);
  const endings = Promise.allSettled([first.read(), late.read()]);
  allow(data.length);
  const ends = await endings;
  assert.deepEqual(
    ends.map(({ status }) => status),
    ['rejected', 'rejected'],
  );
  assert.ok(first.bytes < data.length && late.bytes < data.length, 'nobody has all of them');
  assert.equal(state.result, 'wrong');
  assert.equal(await cache.open(digest), undefined);
});
