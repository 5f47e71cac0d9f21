import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { flipByte } from '../../test/support/damage.ts';
import { Metrics } from '../kernel/metrics.ts';
import { silentLog } from '../kernel/testing.ts';
import { BlobDamaged, digestPath } from './blobs/blobs.ts';
import { createBlobCache } from './blobs/cache/cache.ts';
import { files } from './blobs/disk/files.ts';
import { DiskBlobStore } from './blobs/disk/store.ts';
import { readAll, rottingFiles, seededBytes } from './blobs/testing.ts';
import { Pace, type PaceClock } from './pace.ts';
import { createScrubMetrics, Scrub, type Scrubbable } from './scrub.ts';

/** A clock on which sleeping takes no time, and work as much as it says. */
class TestClock implements PaceClock {
  worked = 0;
  slept = 0;

  now(): number {
    return this.worked + this.slept;
  }

  async sleep(milliseconds: number): Promise<void> {
    this.slept += milliseconds;
  }
}

let folder: string;
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-scrub-'));
});
afterEach(() => rmSync(folder, { recursive: true, force: true }));

function scrubOf(scrubbed: Scrubbable, given: { now?: () => number; everyMs?: number } = {}) {
  const metrics = new Metrics();
  const scrub = new Scrub({
    store: 'test',
    files: scrubbed,
    stateFile: join(folder, 'scrub.json'),
    percent: 2,
    everyMs: given.everyMs ?? 0,
    metrics: createScrubMetrics(metrics),
    log: silentLog,
    pace: new Pace(new TestClock()),
    ...(given.now && { now: given.now }),
  });
  const count = async (name: string): Promise<number> => {
    const text = await metrics.registry.metrics();
    return Number(new RegExp(`^scrub_${name}\\{store="test"\\} (\\S+)$`, 'm').exec(text)?.[1] ?? 0);
  };
  return { scrub, count };
}

describe('a scrub', () => {
  it('finds what rotted in a cache though no stamp tells, and removes it', async () => {
    const store = await DiskBlobStore.open({ folder, durable: false, files: rottingFiles() });
    const cache = createBlobCache(store, { maxBytes: 10_000_000 });
    const damaged: string[] = [];
    cache.onDamaged((digest) => damaged.push(digest));
    const sound = await cache.put(seededBytes(700_000, 1));
    const rotten = await cache.put(seededBytes(700_000, 2));
    flipByte(join(folder, digestPath(rotten.digest)), 650_000);
    const reader = await cache.open(rotten.digest);
    assert.notEqual(reader, undefined, 'no stamp tells');
    await reader?.close();
    const { scrub, count } = scrubOf(cache.scrubbed);
    await scrub.pass();
    assert.deepEqual(damaged, [rotten.digest]);
    assert.equal(await cache.open(rotten.digest), undefined);
    assert.equal(await cache.size(sound.digest), 700_000);
    assert.deepEqual(
      [await count('files_total'), await count('bytes_total'), await count('corrupt_total')],
      [2, 1_400_000, 1],
    );
    assert.ok((await count('last_pass_timestamp_seconds')) > 0);
    await cache.close();
  });

  it('never deletes what is the only copy, which is then not served and can be put again', async () => {
    const store = await DiskBlobStore.open({ folder, files: rottingFiles() });
    const bytes = seededBytes(50_000, 3);
    const { digest } = await store.put(bytes);
    flipByte(join(folder, digestPath(digest)));
    await scrubOf(store.scrubbed).scrub.pass();
    assert.equal(await store.size(digest), 50_000);
    await assert.rejects(store.open(digest), BlobDamaged);
    await store.put(bytes);
    const reader = await store.open(digest);
    assert.ok((await readAll(reader!.stream())).equals(bytes));
    await reader?.close();
    await store.close();
  });

  it('goes on where it was after a restart, and waits between two passes', async () => {
    const store = await DiskBlobStore.open({ folder });
    for (let seed = 0; seed < 20; seed += 1) await store.put(seededBytes(100, seed));
    const seen: string[] = [];
    let endAfter = 8;
    const watched: Scrubbable = {
      namesAfter: (after, steps) => store.namesAfter(after, steps),
      inspect: async (name, steps) => {
        if (seen.length === endAfter) void first.scrub.stop();
        const found = await store.inspect(name, steps);
        seen.push(name);
        return found;
      },
    };
    let time = 1_000_000_000;
    const settings = { now: () => time, everyMs: 3_600_000 };
    const first = scrubOf(watched, settings);
    await first.scrub.pass();
    assert.equal(seen.length, 8);
    endAfter = -1;
    assert.equal(await scrubOf(watched, settings).scrub.pass(), 3_600_000);
    assert.deepEqual(seen, [...new Set(seen)].sort(), 'each once, in order');
    assert.equal(seen.length, 20);
    time += 1_000;
    assert.equal(await scrubOf(watched, settings).scrub.pass(), 3_599_000);
    assert.equal(seen.length, 20);
    time += 3_599_000;
    await scrubOf(watched, settings).scrub.pass();
    assert.equal(seen.length, 40);
    await store.close();
  });

  it('leaves a folder alone that another process reads, for as long as that lives', async () => {
    const store = await DiskBlobStore.open({ folder });
    await store.put(seededBytes(100, 1));
    let time = 1_000_000;
    let waits: number | undefined;
    const other = scrubOf(store.scrubbed, { now: () => time });
    const { scrub } = scrubOf(
      {
        namesAfter: (after, steps) => store.namesAfter(after, steps),
        inspect: async () => {
          waits = await other.scrub.pass();
          return undefined;
        },
      },
      { now: () => time },
    );
    await scrub.pass();
    assert.equal(waits, 120_000);
    assert.equal(await other.count('files_total'), 0);
    time += 120_000;
    await other.scrub.pass();
    assert.equal(await other.count('files_total'), 1);
    await store.close();
  });

  it('goes on past a file that cannot be read, and is not stopped by a state that makes no sense', async () => {
    const store = await DiskBlobStore.open({
      folder,
      files: {
        ...files,
        read: async (...piece) => {
          if (piece[1].byteLength === 201) throw Object.assign(new Error('broken'), { syscall: 'read' });
          return files.read(...piece);
        },
      },
    });
    for (const size of [100, 200, 300]) await store.put(seededBytes(size, size));
    const { scrub, count } = scrubOf(store.scrubbed);
    const state = join(folder, 'scrub.json');
    writeFileSync(state, '{"after":7,"endedAt":1e300,"holder":[],"heldUntil":"tomorrow"}');
    await scrub.pass();
    assert.deepEqual([await count('files_total'), await count('failures_total')], [2, 1]);
    assert.ok(JSON.parse(readFileSync(state, 'utf8')).endedAt > 0);
    assert.ok(statSync(state).size < 1_000);
    await store.close();
  });
});

describe('the pace of background work', () => {
  it('lets all work together take its share of the time, however long the steps are', async () => {
    const clock = new TestClock();
    const pace = new Pace(clock);
    const { signal } = new AbortController();
    const work = async (milliseconds: number): Promise<void> => {
      const steps = pace.steps(0.02, signal);
      for (let step = 0; step < 100; step += 1) {
        await steps(async () => {
          clock.worked += milliseconds * (1 + (step % 3));
        });
      }
    };
    await Promise.all([work(0.2), work(5), work(40)]);
    // The pause after the last step.
    await work(0);
    const share = clock.worked / clock.now();
    assert.ok(share <= 0.02 && share > 0.015, `${share}`);
  });

  it('waits a minute at most, and ends when it is told to', async () => {
    const clock = new TestClock();
    const ending = new AbortController();
    const steps = new Pace(clock).steps(0.02, ending.signal);
    await steps(async () => {
      clock.worked += 3_600_000;
    });
    await steps(async () => {});
    assert.equal(clock.slept, 60_000);
    ending.abort(new Error('enough'));
    await assert.rejects(
      steps(async () => {}),
      /enough/,
    );
  });
});
