/** A folder of exports is one dataset, whatever happens to the exports. Also on TEST_DATABASE_URL. */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import {
  cpSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { EVERY_TERM } from '../../src/gateway/chain-index/terms.ts';
import { tableNames } from '../../src/gateway/export/tables.ts';
import { eventually } from '../support/eventually.ts';
import { type ExportBench, filesOf, openExportBench, readRows } from '../support/export-dataset.ts';
import { createDatabase, engines } from '../support/local-gateway.ts';

const heights = 100;
const records = 1_000;
const perHeight = records / heights;

for (const engine of engines)
  describe(`a dataset of exports from ${engine.name}`, () => {
    let bench: ExportBench;
    let drop = async () => {};
    beforeEach(async () => {
      const database =
        engine.options.postgres === undefined ? undefined : await createDatabase(engine.options.postgres);
      drop = async () => database?.drop();
      bench = await openExportBench(database?.url, { records, heights });
    });
    afterEach(async () => {
      await bench.close();
      await drop();
    });

    /** As a reader who takes all files of a table finds it. */
    async function expectRows(exportedTo: number): Promise<void> {
      const rows = await readRows(bench.folder, 'transactions');
      const ids = new Set(rows.map(({ id }) => Buffer.from(id as Uint8Array).toString('hex')));
      assert.deepEqual([rows.length, ids.size], [(exportedTo + 1) * perHeight, (exportedTo + 1) * perHeight]);
      assert.equal((await readRows(bench.folder, 'blocks')).length, exportedTo + 1);
      expectManifest();
    }

    /** The manifest names the files that are there, with their hashes, and no other. */
    function expectManifest(): void {
      const manifest = bench.manifest();
      for (const table of tableNames) {
        const named = manifest.partitions.flatMap(({ from, to, files }) =>
          files
            .filter((file) => file.table === table)
            .map(({ name, sha256 }) => {
              const path = join(bench.folder, table, 'data', `height=${from}-${to}`, name);
              assert.equal(hash('sha256', readFileSync(path)), sha256);
              return path;
            }),
        );
        assert.deepEqual(filesOf(bench.folder, table).sort(), named.sort());
      }
    }

    it('holds each id once after ten runs on a growing chain, with a cancel and a kill between them', async () => {
      const ends = [24, 31, 31, 39, 45, 58, 60, 72, 88, 99];
      for (const [run, endHeight] of ends.entries()) {
        const options = { endHeight, resume: run % 3 !== 0, maxFileRows: run % 2 === 0 ? 35 : 0 };
        if (run === 4) {
          const before = bench.manifest();
          await bench.runAndKill({ ...options, resume: false });
          // Whichever moment it was killed at, what is there is whole.
          await expectRows(bench.manifest().version === before.version ? 39 : endHeight);
        }
        if (run === 7) {
          const { ended } = bench.exporter.start(bench.request({ ...options, heightPartitionSize: 10 }));
          await bench.exporter.cancel();
          await ended;
          assert.match(bench.exporter.status.status, /^(cancelled|completed)$/);
          assert.equal(bench.exporter.status.error, undefined);
          expectManifest();
        }
        const { status, error, exportedToHeight } = await bench.run(options);
        assert.deepEqual([status, error, exportedToHeight], ['completed', undefined, endHeight]);
        await expectRows(endHeight);
      }
      const names = readdirSync(join(bench.folder, 'transactions', 'data')).sort();
      assert.deepEqual(
        names,
        Array.from({ length: 10 }, (_, at) => `height=${at * 10}-${at * 10 + 9}`),
      );
      const { complete, heights: covered, partitions, rows } = bench.manifest();
      assert.deepEqual([complete, covered, partitions.length], [true, [{ from: 0, to: 99 }], 10]);
      assert.deepEqual([rows.blocks, rows.transactions], [heights, records]);
    });

    it('tells how far its last partition is, and writes only that one again', async () => {
      await bench.run({ endHeight: 24 });
      const first = bench.manifest();
      assert.deepEqual(
        first.partitions.map(({ from, to, exportedTo, complete }) => [from, to, exportedTo, complete]),
        [
          [0, 9, 9, true],
          [10, 19, 19, true],
          [20, 29, 24, false],
        ],
      );
      assert.deepEqual([first.complete, first.heights], [false, [{ from: 0, to: 24 }]]);
      const status = await bench.run({ endHeight: 27, resume: true });
      assert.deepEqual(status.rows?.blocks, 8);
      const second = bench.manifest();
      assert.deepEqual(second.partitions.slice(0, 2), first.partitions.slice(0, 2));
      // What is asked for again with less stays as it is.
      assert.equal((await bench.run({ endHeight: 22 })).exportedToHeight, 27);
      await expectRows(27);
      const nothing = await bench.run({ endHeight: 27, resume: true });
      assert.deepEqual(
        [nothing.status, nothing.rows?.blocks, nothing.exportedToHeight],
        ['completed', 0, 27],
      );
    });

    it('is not there where no height was to be exported, and nobody is told of one', async () => {
      for (const startHeight of [0, 50]) {
        const { status, exportedToHeight } = await bench.run({ startHeight, endHeight: startHeight - 1 });
        assert.deepEqual([status, exportedToHeight], ['completed', null]);
        assert.equal(existsSync(join(bench.folder, '.current')), false);
      }
    });

    it('leaves the version that was current before until the next export begins', async () => {
      await bench.run({ endHeight: 15 });
      const { folder } = bench.manifest();
      await bench.run({ endHeight: 25 });
      const before = join(bench.folder, folder);
      assert.equal((await readRows(before, 'blocks')).length, 16);
      await bench.run({ endHeight: 35 });
      assert.equal(existsSync(before), false);
    });

    it('goes on with what a killed export had finished', async () => {
      await bench.runAndKill();
      const status = await bench.run({ resume: true });
      assert.equal(status.status, 'completed');
      assert.ok((status.rows?.blocks ?? heights) < heights, `wrote ${status.rows?.blocks} blocks again`);
      await expectRows(heights - 1);
      assert.equal(readdirSync(join(bench.folder, '.versions')).length, 1);
    });

    it('is whole whichever step of making a version current was the last', async () => {
      await bench.run({ endHeight: 15 });
      const old = bench.manifest();
      await bench.run({ endHeight: 25 });
      const next = bench.manifest();
      // Everything is written, and the link is not moved.
      rmSync(join(bench.folder, '.current'));
      symlinkSync(old.folder, join(bench.folder, '.current'));
      await expectRows(15);
      await bench.run({ endHeight: 25, resume: true });
      await expectRows(25);
      assert.equal(existsSync(join(bench.folder, next.folder)), false);
      // The link is moved, and those that readers use are not made yet.
      for (const name of ['transactions', 'tags', 'manifest.json']) rmSync(join(bench.folder, name));
      await bench.run({ endHeight: 25, resume: true });
      await expectRows(25);
      await bench.run({ endHeight: 26, resume: true });
      await expectRows(26);
      // A link was being made.
      symlinkSync('nowhere', join(bench.folder, '.link.writing'));
      await bench.run({ endHeight: 27, resume: true });
      await expectRows(27);
    });

    it('takes in what was indexed late, and never loses what was pruned', async () => {
      const { sql } = bench;
      const some = await sql.get<{ pos: number; tie: number; record: number }>(
        'SELECT pos, tie, record FROM postings WHERE term = ? ORDER BY pos LIMIT 1',
        EVERY_TERM,
      );
      assert.ok(some);
      const take = () =>
        sql.run('DELETE FROM postings WHERE term = ? AND record = ?', EVERY_TERM, some.record);
      await take();
      await bench.run();
      assert.equal(bench.manifest().rows.transactions, records - 1);
      await sql.run(
        'INSERT INTO postings (term, pos, tie, record) VALUES (?, ?, ?, ?)',
        EVERY_TERM,
        some.pos,
        some.tie,
        some.record,
      );
      const late = await bench.run({ resume: true });
      assert.deepEqual([late.status, late.rows?.blocks], ['completed', 10]);
      await expectRows(heights - 1);

      await take();
      const before = bench.manifest();
      const refused = await bench.run();
      assert.equal(refused.status, 'errored');
      assert.match(refused.error ?? '', /^The partition of heights 0 to 9 holds 100 records, .* has 99 left/);
      assert.deepEqual(bench.manifest().partitions[0], before.partitions[0]);
      assert.equal((await bench.run({ resume: true })).status, 'completed');
      await expectRows(heights - 1);
    });

    it('refuses what does not lie on its grid, and changes nothing', async () => {
      await bench.run({ startHeight: 5, endHeight: 40 });
      const before = readlinkSync(join(bench.folder, '.current'));
      for (const changes of [
        { startHeight: 0 },
        { startHeight: 5, heightPartitionSize: 20 },
        { startHeight: 6 },
        { startHeight: 10 },
        { startHeight: 5, heightPartitionSize: 7 },
      ]) {
        const { status, error } = await bench.run(changes);
        assert.equal(status, 'errored', JSON.stringify(changes));
        assert.match(error ?? '', /^the folder holds partitions of 10 heights from 5 on: /);
      }
      const many = await bench.run({ startHeight: 5, endHeight: 400_000 });
      assert.match(many.error ?? '', /at most 20000 partitions/);
      assert.equal(readlinkSync(join(bench.folder, '.current')), before);
      assert.deepEqual(
        readdirSync(join(bench.folder, 'blocks', 'data')).sort(),
        ['height=15-24', 'height=25-34', 'height=35-44', 'height=5-14'].sort(),
      );
      assert.equal((await bench.run({ startHeight: 35, endHeight: 60 })).exportedToHeight, 60);
      // A gap is told.
      await bench.run({ startHeight: 85, endHeight: 90 });
      assert.deepEqual(bench.manifest().heights, [
        { from: 5, to: 60 },
        { from: 85, to: 90 },
      ]);
    });

    it('takes the place of folders of earlier releases that it covers, and refuses others', async () => {
      await bench.run({ endHeight: 18 });
      const version = join(bench.folder, bench.manifest().folder);
      const earlier = join(bench.folder, '..', 'earlier');
      const asEarlier = () => {
        rmSync(earlier, { recursive: true, force: true });
        mkdirSync(join(earlier, '.done'), { recursive: true });
        for (const table of tableNames) {
          for (const [to, name] of [
            [12, 'height=10-12'],
            [18, 'height=10-18'],
          ] as const) {
            const folder = join(earlier, table, 'data', name);
            cpSync(join(version, table, 'data', 'height=10-19'), folder, { recursive: true });
            for (const file of readdirSync(folder)) {
              renameSync(join(folder, file), join(folder, file.replace('_10_19_', `_10_${to}_`)));
            }
            writeFileSync(join(folder, `.${table}_10_${to}_0_run.parquet.part`), '');
          }
        }
      };
      asEarlier();
      assert.equal(
        (await readRows(earlier, 'blocks').catch(() => [])).length,
        0,
        'unfinished files are there',
      );
      const outputDir = earlier;
      for (const changes of [
        { outputDir, startHeight: 20, endHeight: 40 },
        { outputDir, endHeight: 15 },
      ]) {
        const { error } = await bench.run(changes);
        assert.match(
          error ?? '',
          /holds height=10-1[28] of an earlier release, which this export does not cover/,
        );
      }
      for (const [path, content] of [
        [join(earlier, 'tags', 'data', 'height=10-12', 'mine.txt'), 'mine'],
        [join(earlier, 'tags', 'mine.parquet'), 'mine'],
      ] as const) {
        writeFileSync(path, content);
        const { error } = await bench.run({ outputDir, endHeight: 30 });
        assert.match(error ?? '', /tags is in the way and was not made by an export/);
        assert.equal(readFileSync(path, 'utf8'), content);
        rmSync(path);
      }
      assert.ok(existsSync(join(earlier, 'tags', 'data', 'height=10-12')));
      assert.equal((await bench.run({ outputDir, endHeight: 30 })).status, 'completed');
      assert.equal((await readRows(earlier, 'transactions')).length, 31 * perHeight);
      assert.deepEqual(readdirSync(earlier).sort(), [
        '.current',
        '.versions',
        'blocks',
        'manifest.json',
        'tags',
        'transactions',
      ]);

      // Killed before everything was covered, an export leaves the earlier folders to readers.
      asEarlier();
      await bench.exporter.start(bench.request({ outputDir, endHeight: 30, heightPartitionSize: 1 }));
      await eventually('a partition is finished', () => (bench.exporter.status.partitionsDone ?? 0) > 0);
      await bench.exporter.cancel();
      if (bench.exporter.status.status === 'cancelled' && !existsSync(join(earlier, '.current'))) {
        assert.ok(existsSync(join(earlier, 'tags', 'data', 'height=10-12')));
      }
      const whole = await bench.run({ outputDir, endHeight: 30, heightPartitionSize: 1, resume: true });
      assert.deepEqual([whole.status, whole.exportedToHeight], ['completed', 30]);
      assert.equal((await readRows(earlier, 'transactions')).length, 31 * perHeight);
    });

    it('writes again what somebody took out of it', async () => {
      await bench.run();
      const [file = ''] = filesOf(bench.folder, 'tags');
      rmSync(file);
      const status = await bench.run({ resume: true });
      assert.deepEqual([status.status, status.rows?.blocks], ['completed', 10]);
      await expectRows(heights - 1);
    });

    it('leaves alone what is not its own', async () => {
      mkdirSync(bench.folder);
      for (const name of ['manifest.json', '.current', '.versions', 'blocks']) {
        writeFileSync(join(bench.folder, name), 'mine');
        const { status, error } = await bench.run();
        assert.equal(status, 'errored');
        assert.match(error ?? '', /is in the way and was not made by an export: use another folder$/);
        assert.equal(readFileSync(join(bench.folder, name), 'utf8'), 'mine');
        assert.deepEqual(readdirSync(bench.folder), [name]);
        rmSync(join(bench.folder, name));
      }
      for (const [name, target] of [
        ['.current', '/tmp'],
        ['.versions', '/tmp'],
        ['tags', '/tmp'],
      ] as const) {
        symlinkSync(target, join(bench.folder, name));
        assert.match((await bench.run()).error ?? '', /is in the way/);
        rmSync(join(bench.folder, name));
      }
    });
  });
