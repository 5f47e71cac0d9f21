import assert from 'node:assert/strict';
import { mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { type ExportBench, openExportBench } from '../../../test/support/export-dataset.ts';
import { heightsNeeded } from './needed.ts';

describe('heights that exports still need', () => {
  let bench: ExportBench;
  let folder: string;
  before(async () => {
    bench = await openExportBench(undefined, { records: 100, heights: 50 });
    folder = join(dirname(bench.folder), 'exports');
    const write = async (name: string, endHeight: number, startHeight = 0) => {
      const outputDir = join(folder, name);
      mkdirSync(outputDir, { recursive: true });
      assert.equal((await bench.run({ outputDir, startHeight, endHeight })).status, 'completed');
    };
    await write('latest', 34);
    await write('by/hand', 44, 20);
  });
  after(() => bench.close());

  const all = { from: 0, to: 47 };
  const latest = { outputDir: 'latest', startHeight: 0 };
  const byHand = (from: number, to: number) => ({ dataset: 'by/hand', heights: [{ from, to }] });

  it('are those of partitions that are not complete, within the range', async () => {
    const lateOnes = { dataset: 'latest', heights: [{ from: 30, to: 39 }] };
    const { leftOut, endangered } = await heightsNeeded(folder, all, undefined);
    assert.deepEqual(leftOut, []);
    assert.deepEqual(
      endangered.toSorted((a, b) => (a.dataset < b.dataset ? -1 : 1)),
      [byHand(40, 47), lateOnes],
    );
    assert.deepEqual(await heightsNeeded(folder, { from: 0, to: 29 }, undefined), {
      leftOut: [],
      endangered: [],
    });
    assert.deepEqual(await heightsNeeded(folder, { from: 41, to: 43 }, undefined), {
      leftOut: [],
      endangered: [byHand(41, 43)],
    });
  });

  it('are all that the growing one does not have in a complete partition', async () => {
    assert.deepEqual(await heightsNeeded(folder, all, latest), {
      leftOut: [{ from: 30, to: 47 }],
      endangered: [],
    });
    const hole = { from: 5, to: 12 };
    assert.deepEqual(await heightsNeeded(folder, hole, latest), { leftOut: [], endangered: [] });
    const later = { outputDir: 'by/hand', startHeight: 10 };
    assert.deepEqual((await heightsNeeded(folder, all, later)).leftOut, [
      { from: 10, to: 19 },
      { from: 40, to: 47 },
    ]);
  });

  it('are everything where the growing one is not there or cannot be read', async () => {
    const nothing = { outputDir: 'never', startHeight: 7 };
    assert.deepEqual((await heightsNeeded(folder, all, nothing)).leftOut, [{ from: 7, to: 47 }]);
    assert.deepEqual(await heightsNeeded(join(folder, 'nowhere'), all, undefined), {
      leftOut: [],
      endangered: [],
    });
    const table = join(folder, 'latest', 'blocks');
    renameSync(table, `${table}.away`);
    writeFileSync(table, 'in the way');
    assert.deepEqual((await heightsNeeded(folder, all, latest)).leftOut, [all]);
    rmSync(table);
    renameSync(`${table}.away`, table);
    assert.deepEqual((await heightsNeeded(folder, all, latest)).leftOut, [{ from: 30, to: 47 }]);
  });
});
