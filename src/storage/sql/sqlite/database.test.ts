import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  existsSync,
  fdatasync,
  mkdtempSync,
  readdirSync,
  readlinkSync,
  rmSync,
  statSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { Worker } from 'node:worker_threads';
import { mountSmallDisk } from '../../../../test/support/small-disk.ts';
import { Metrics } from '../../../kernel/metrics.ts';
import { DatabaseUnavailable } from '../sql.ts';
import type { SqliteDatabase, SqliteOptions } from './database.ts';
import { openSqlite } from './open.ts';

const migrations = [{ id: 'test-001', up: 'CREATE TABLE rows (n BIGINT PRIMARY KEY, text TEXT);' }];

describe('SQLite', () => {
  let folder: string;
  let path: string;
  const opened: SqliteDatabase[] = [];
  const open = (options?: SqliteOptions): SqliteDatabase => {
    const sql = openSqlite(path, migrations, options);
    opened.push(sql);
    return sql;
  };
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-sqlite-'));
    path = join(folder, 'test.db');
  });
  afterEach(async () => {
    for (const sql of opened.splice(0)) await sql.close();
    rmSync(folder, { recursive: true, force: true });
  });
  const insert = (sql: SqliteDatabase, n: number): Promise<number> =>
    sql.run('INSERT INTO rows (n) VALUES (?)', n);
  const numbers = async (sql: SqliteDatabase): Promise<number[]> =>
    (await sql.all<{ n: number }>('SELECT n FROM rows ORDER BY n')).map((row) => row.n);

  describe('on disk', { skip: process.platform === 'win32' && 'Windows has no modes' }, () => {
    const modes = () =>
      ['', '-wal', '-shm'].map((end) => (statSync(`${path}${end}`).mode & 0o777).toString(8));

    it('is for its owner alone, whatever the umask', async () => {
      path = join(folder, 'made', 'for it', 'test.db');
      const umask = process.umask(0);
      try {
        await insert(open(), 1);
      } finally {
        process.umask(umask);
      }
      assert.deepEqual(modes(), ['600', '600', '600']);
      for (const made of [join(folder, 'made'), join(folder, 'made', 'for it')]) {
        assert.equal((statSync(made).mode & 0o777).toString(8), '700');
      }
    });

    it('is closed to others when it is opened, if an earlier version left it open', async () => {
      await insert(open(), 1);
      for (const end of ['', '-wal', '-shm']) chmodSync(`${path}${end}`, 0o664);
      assert.deepEqual(await numbers(open()), [1]);
      assert.deepEqual(modes(), ['600', '600', '600']);
    });
  });

  it('shares one sync among transactions that wait at the same time', async () => {
    let syncs = 0;
    const sql = open({
      datasync(descriptor, done) {
        syncs += 1;
        fdatasync(descriptor, done);
      },
      // However long the machine is busy elsewhere.
      limits: { batchMs: 600_000 },
    });
    await Promise.all(Array.from({ length: 100 }, (_, n) => insert(sql, n)));
    assert.ok(syncs <= 2, `${syncs} syncs`);
    const before = syncs;
    await numbers(sql);
    assert.equal(syncs, before, 'a read syncs nothing');
  });

  it('answers neither a transaction nor a read of its rows before they are on disk', async () => {
    const held: (() => void)[] = [];
    let isHeld = true;
    const sql = open({
      datasync(_descriptor, done) {
        if (isHeld) held.push(() => done(null));
        else setImmediate(done, null);
      },
    });
    const answers: string[] = [];
    const wrote = insert(sql, 1).then(() => answers.push('write'));
    for (let turn = 0; held.length === 0 && turn < 10_000; turn += 1) await new Promise(setImmediate);
    const read = numbers(sql).then((rows) => answers.push(`read ${rows}`));
    const got = sql.get<{ n: number }>('SELECT n FROM rows').then((row) => answers.push(`get ${row?.n}`));
    const streamed = (async () => {
      for await (const row of sql.stream<{ n: number }>('SELECT n FROM rows'))
        answers.push(`stream ${row.n}`);
    })();
    const refused = insert(sql, 1).catch(() => answers.push('refused'));
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    const early = [...answers];
    // Before anything is asserted: what is held would keep a failed test from its end.
    isHeld = false;
    for (const release of held.splice(0)) release();
    assert.deepEqual(early, []);
    await Promise.all([wrote, read, got, streamed, refused]);
    assert.deepEqual(answers.sort(), ['get 1', 'read 1', 'refused', 'stream 1', 'write']);
  });

  it('answers one that has seen rows of another process once those are on disk', async () => {
    const held: (() => void)[] = [];
    let isHeld = false;
    const sql = open({
      datasync(_descriptor, done) {
        if (isHeld) held.push(() => done(null));
        else setImmediate(done, null);
      },
    });
    await insert(sql, 1);
    isHeld = true;
    const other = new DatabaseSync(path);
    other.exec('INSERT INTO rows (n) VALUES (2)');
    other.close();
    let seen: number | undefined;
    const answered = sql.transaction(async (tx) => {
      seen = (await tx.all('SELECT n FROM rows')).length;
    });
    let isAnswered = false;
    answered.then(() => {
      isAnswered = true;
    }, assert.fail);
    while (seen === undefined) await new Promise(setImmediate);
    for (let turn = 0; turn < 20; turn += 1) await new Promise(setImmediate);
    const [early, syncs] = [isAnswered, held.length];
    for (const release of held.splice(0)) release();
    assert.deepEqual({ early, syncs, seen }, { early: false, syncs: 1, seen: 2 });
    await answered;
  });

  it('refuses all work after a failed sync', async () => {
    const sql = open({ datasync: (_descriptor, done) => setImmediate(done, new Error('EIO')) });
    await assert.rejects(insert(sql, 1), DatabaseUnavailable);
    await assert.rejects(insert(sql, 2), DatabaseUnavailable);
    await assert.rejects(numbers(sql), DatabaseUnavailable);
    await assert.rejects(sql.get('SELECT n FROM rows'), DatabaseUnavailable);
    const other = new DatabaseSync(path);
    assert.deepEqual(other.prepare('SELECT n FROM rows WHERE n = 2').all(), []);
    other.close();
  });

  it('survives a full disk: refuses what does not fit, keeps the rest, and works on', async (t) => {
    const small = mountSmallDisk();
    if (small === undefined) return t.skip('needs root to mount a small disk');
    path = join(small.folder, 'test.db');
    const ballast = join(small.folder, 'ballast');
    try {
      const sql = open();
      await insert(sql, 1);
      // So that not even one of them fits, however they are put together.
      writeFileSync(ballast, Buffer.alloc(1_850_000));
      const filler = 'x'.repeat(200_000);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 10 }, (_, index) =>
          sql.transaction((tx) => tx.run('INSERT INTO rows VALUES (?, ?)', 10 + index, filler)),
        ),
      );
      assert.ok(
        outcomes.every(
          (outcome) => outcome.status === 'rejected' && outcome.reason instanceof DatabaseUnavailable,
        ),
      );
      assert.deepEqual(await numbers(sql), [1]);
      unlinkSync(ballast);
      await insert(sql, 2);
      assert.deepEqual(await numbers(sql), [1, 2]);
      await sql.close();
    } finally {
      small.remove();
    }
  });

  it('ends a stream when it is closed', async () => {
    const sql = open();
    await insert(sql, 1);
    await insert(sql, 2);
    await assert.rejects(async () => {
      for await (const _ of sql.stream('SELECT n FROM rows')) await sql.close();
    }, DatabaseUnavailable);
  });

  it('cuts off a transaction that awaits something foreign, and only that one', async () => {
    const sql = open({ limits: { foreignWaitMs: 20 } });
    const stuck = sql.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (1)');
      await new Promise(() => {});
    });
    let inner: Promise<number> | undefined;
    const nested = sql.transaction(async (tx) => {
      await tx.run('INSERT INTO rows (n) VALUES (2)');
      inner = insert(sql, 3);
      await inner;
    });
    const fine = insert(sql, 4);
    await assert.rejects(stuck, /other than its own statements/);
    await assert.rejects(nested, /other than its own statements/);
    assert.equal(await fine, 1);
    // It waited behind all of them, perhaps for another batch.
    assert.equal(await inner, 1);
    assert.deepEqual(await numbers(sql), [3, 4]);
  });

  it('undoes the first of a batch alone, and one in its middle', async () => {
    const sql = open();
    const work = (n: number, fail: boolean): Promise<unknown> =>
      sql.transaction(async (tx) => {
        await tx.run('INSERT INTO rows (n) VALUES (?)', n);
        if (fail) throw new Error('no');
      });
    const outcomes = await Promise.allSettled([work(1, true), work(2, false), work(3, true), work(4, false)]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['rejected', 'fulfilled', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(await numbers(sql), [2, 4]);
  });

  it('runs a batch again when one of it fails after it wrote, and the next batches need not be', async () => {
    const sql = open();
    const runs = new Map<number, number>();
    const work = (n: number, fails: boolean) =>
      sql.transaction(async (tx) => {
        runs.set(n, (runs.get(n) ?? 0) + 1);
        await tx.run('INSERT INTO rows (n) VALUES (?)', n);
        if (fails) throw new Error(`no ${n}`);
        return n;
      });
    const batch = async (from: number) => {
      const works = [0, 1, 2, 3].map((at) => work(from + at, at === 2));
      const outcomes = await Promise.allSettled(works);
      return outcomes.map((outcome) =>
        outcome.status === 'fulfilled' ? outcome.value : outcome.reason.message,
      );
    };
    assert.deepEqual(await batch(10), [10, 11, 'no 12', 13]);
    assert.deepEqual(await batch(20), [20, 21, 'no 22', 23]);
    assert.deepEqual(await numbers(sql), [10, 11, 13, 20, 21, 23]);
    assert.deepEqual(Object.fromEntries(runs), { 10: 2, 11: 2, 12: 2, 13: 1, 20: 1, 21: 1, 22: 1, 23: 1 });
  });

  it('undoes a single statement of a batch that fails, and a work that only read, without the others', async () => {
    const sql = open();
    const outcomes = await Promise.allSettled([
      insert(sql, 1),
      insert(sql, 1),
      sql.transaction(async (tx) => {
        await tx.all('SELECT n FROM rows');
        throw new Error('no');
      }),
      insert(sql, 2),
    ]);
    assert.deepEqual(
      outcomes.map((outcome) => outcome.status),
      ['fulfilled', 'rejected', 'rejected', 'fulfilled'],
    );
    assert.deepEqual(await numbers(sql), [1, 2]);
  });

  it('lets go of its files when it is closed', { skip: process.platform !== 'linux' }, async () => {
    const held = () =>
      readdirSync('/proc/self/fd').filter((fd) => {
        try {
          return readlinkSync(`/proc/self/fd/${fd}`).startsWith(path);
        } catch {
          return false;
        }
      }).length;
    const sql = open();
    await insert(sql, 1);
    const reading = sql.stream('SELECT n FROM rows');
    await reading.next();
    assert.ok(held() > 0);
    await sql.close();
    assert.equal(held(), 0);
  });

  it('answers a transaction that is asked for at any moment of another', async () => {
    const sql = open();
    const asked: Promise<number>[] = [];
    const askAfter = async (ticks: number): Promise<void> => {
      for (let tick = 0; tick < ticks; tick += 1) await undefined;
      asked.push(insert(sql, ticks));
    };
    for (let ticks = 1; ticks <= 40; ticks += 1) {
      await sql.transaction(async () => {
        void askAfter(ticks);
      });
    }
    assert.equal((await Promise.all(asked)).length, 40);
    assert.equal((await numbers(sql)).length, 40);
  });

  it('refuses more waiting transactions than it may hold', async () => {
    const sql = open({ limits: { maxQueued: 10 } });
    const outcomes = await Promise.allSettled(Array.from({ length: 15 }, (_, n) => insert(sql, n)));
    assert.equal(outcomes.filter((outcome) => outcome.status === 'rejected').length, 5);
    assert.equal((await numbers(sql)).length, 10);
  });

  it('says that it is unavailable while another process keeps the write lock', async () => {
    const sql = open({ limits: { lockMs: 30 } });
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    await assert.rejects(insert(sql, 1), DatabaseUnavailable);
    assert.deepEqual(await numbers(sql), [], 'reads go on');
    other.exec('ROLLBACK');
    other.close();
    assert.equal(await insert(sql, 2), 1);
    assert.deepEqual(await numbers(sql), [2]);
  });

  it('waits for another process to let go of the write lock', async () => {
    const sql = open();
    const other = new DatabaseSync(path);
    other.exec('BEGIN IMMEDIATE');
    const waiting = insert(sql, 1);
    // It is refused the lock meanwhile, and looks again.
    for (let turn = 0; turn < 50; turn += 1) await new Promise(setImmediate);
    other.exec('COMMIT');
    other.close();
    assert.equal(await waiting, 1);
  });

  it('waits for its turn to write among several processes', async () => {
    const shared = join(folder, 'shared.db');
    const writer = join(import.meta.dirname, '../../../../test/support/sqlite-writer.ts');
    const codes = await Promise.all(
      Array.from(
        { length: 3 },
        () =>
          new Promise((resolve) => {
            spawn(process.execPath, [writer, shared, '30'], { stdio: ['ignore', 'ignore', 'inherit'] }).on(
              'close',
              resolve,
            );
          }),
      ),
    );
    assert.deepEqual(codes, [0, 0, 0]);
    const database = new DatabaseSync(shared);
    assert.deepEqual(
      { ...database.prepare('SELECT count(*) AS n, count(DISTINCT process) AS p FROM rows').get() },
      { n: 3 * 16 * 30 * 2, p: 3 },
    );
    database.close();
  });

  it('keeps the log short beside a busy writer, and empties it at the end', async () => {
    const sql = open({ checkpointFrames: 100 });
    const filler = 'x'.repeat(3_000);
    let count = 0;
    let pages = 0;
    // Each round fills 100 pages; the log stays at a fraction of them, or this would never end.
    while (pages < 1_000 || statSync(`${path}-wal`).size > (pages * 4_096) / 2) {
      await Promise.all(
        Array.from({ length: 100 }, () => sql.run('INSERT INTO rows VALUES (?, ?)', count++, filler)),
      );
      pages += 100;
      assert.ok(pages < 50_000, 'the log only grows');
    }
    await sql.close();
    assert.ok(!existsSync(`${path}-wal`));
    assert.equal((await numbers(open())).length, count);
  });

  /** Frames in the log now. */
  const frames = (): number => {
    const other = new DatabaseSync(path);
    try {
      return Number(other.prepare('PRAGMA wal_checkpoint(NOOP)').get()?.log);
    } finally {
      other.close();
    }
  };
  /** A page for each row. */
  const fill = (sql: SqliteDatabase, from: number, rows = 100) =>
    Promise.all(
      Array.from({ length: rows }, (_, n) =>
        sql.run('INSERT INTO rows VALUES (?, ?)', from + n, 'x'.repeat(3_000)),
      ),
    );

  it('keeps the log short beside somebody else who never stops writing', async () => {
    const sql = open({ checkpointFrames: 100 });
    const commits = new Int32Array(new SharedArrayBuffer(4));
    const other = new Worker(
      `const { workerData: { path, commits } } = require('node:worker_threads');
       const database = new (require('node:sqlite').DatabaseSync)(path, { timeout: 10_000 });
       database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
       const insert = database.prepare('INSERT INTO rows VALUES (?, ?)');
       const never = new Int32Array(new SharedArrayBuffer(4));
       for (let n = -2; commits[0] >= 0; n -= 1) {
         insert.run(n, 'x'.repeat(3_000));
         Atomics.add(commits, 0, 1);
         if (n % 8 === 0) Atomics.wait(never, 0, 0, 0.1);
       }`,
      { eval: true, workerData: { path, commits } },
    );
    const ended = once(other, 'exit');
    let rows = 0;
    const pages = () => rows + Atomics.load(commits, 0);
    try {
      while (pages() < 2_000 || frames() > pages() / 4) {
        await fill(sql, rows, 10);
        rows += 10;
        assert.ok(pages() < 20_000, `${frames()} frames of ${pages()} pages: the log only grows`);
      }
    } finally {
      Atomics.store(commits, 0, -2_000_000_000);
    }
    assert.deepEqual(await ended, [0]);
  });

  it('goes on while somebody keeps an old snapshot, says so, and shortens the log afterwards', async () => {
    const warnings: { database: string; logBytes: number }[] = [];
    const log = { warn: (details: object) => void warnings.push(details as (typeof warnings)[number]) };
    const sql = open({ checkpointFrames: 100, log });
    await insert(sql, -1);
    const reader = new DatabaseSync(path, { readOnly: true });
    reader.exec('BEGIN');
    reader.prepare('SELECT count(*) FROM rows').get();
    let written = 0;
    for (; warnings.length === 0 && written < 20_000; written += 100) await fill(sql, written);
    assert.equal(warnings[0]?.database, path);
    assert.ok((warnings[0]?.logBytes ?? 0) >= 1_600 * 4_096, JSON.stringify(warnings));
    const shown = /^database_log_bytes\{database="test"\} (\d+)$/m.exec(await new Metrics().text())?.[1];
    assert.ok(Number(shown) >= 1_600 * 4_096, `${shown} bytes are shown`);
    reader.exec('COMMIT');
    reader.close();
    for (; frames() > 1_000 && written < 50_000; written += 100) await fill(sql, written);
    assert.ok(frames() <= 1_000, `${frames()} frames`);
    assert.equal((await numbers(sql)).length, written + 1);
  });

  it('ends a stream before its snapshot makes the log too long', async () => {
    const sql = open({ checkpointFrames: 100, maxLogBytes: 4_000 * 4_096 });
    for (let from = 0; from < 1_000; from += 100) await fill(sql, from);
    const read = async (act: (row: number) => Promise<void>): Promise<number> => {
      let rows = 0;
      for await (const _ of sql.stream('SELECT n FROM rows')) await act(++rows);
      return rows;
    };
    assert.equal(await read(async () => {}), 1_000);
    let last = 0;
    const writing = read(async (row) => {
      last = row;
      if (row !== 10) return;
      for (let from = 1_000; from < 6_000; from += 100) await fill(sql, from);
    });
    await assert.rejects(writing, /a stream took too long: the write-ahead log has grown to \d+ MiB/);
    assert.ok(last < 1_000, 'before its end');
    assert.equal((await numbers(sql)).length, 6_000, 'others go on');
  });

  it('gives a stream one moment in time, and reads the present beside it', async () => {
    const sql = open();
    await sql.transaction(async (tx) => {
      for (let n = 0; n < 1_000; n += 1) await tx.run('INSERT INTO rows (n) VALUES (?)', n);
    });
    const seen: number[] = [];
    for await (const { n } of sql.stream<{ n: number }>('SELECT n FROM rows ORDER BY n')) {
      if (n === 10) {
        await sql.run('DELETE FROM rows WHERE n > 500');
        assert.equal((await numbers(sql)).length, 501);
      }
      seen.push(n);
    }
    assert.equal(seen.length, 1_000);
  });

  it('lets others have their turn while it streams', async () => {
    const sql = open();
    await sql.transaction(async (tx) => {
      for (let n = 0; n < 1_000; n += 1) await tx.run('INSERT INTO rows (n) VALUES (?)', n);
    });
    let turns = 0;
    const turn = () => {
      turns += 1;
      next = setImmediate(turn);
    };
    let next = setImmediate(turn);
    try {
      for await (const _ of sql.stream('SELECT n FROM rows'));
    } finally {
      clearImmediate(next);
    }
    assert.ok(turns >= 3, `${turns} turns in a thousand rows`);
  });

  it('streams nothing but queries', async () => {
    const sql = open();
    await assert.rejects(async () => {
      for await (const _ of sql.stream('DELETE FROM rows RETURNING n')) assert.fail();
    }, /only a query/);
  });
});
