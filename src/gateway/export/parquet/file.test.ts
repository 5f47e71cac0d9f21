import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, it } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { parquetMetadata, parquetReadObjects } from 'hyparquet';
import { seededRandom } from '../../../../test/support/seeded-random.ts';
import { Column } from './column.ts';
import { ParquetFile } from './file.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-parquet-'));
after(() => rmSync(folder, { recursive: true }));

let made = 0;
/** Writes rows in groups, and reads the file with a library that is not ours. */
async function roundTrip(columns: readonly Column[], groups: readonly (() => void)[]) {
  made += 1;
  const path = join(folder, `${made}.parquet`);
  const file = new ParquetFile(`${path}.part`, columns);
  for (const fill of groups) {
    fill();
    file.addGroup();
  }
  file.finish();
  file.moveTo(path);
  const bytes = new Uint8Array(readFileSync(path)).buffer;
  const rows = await parquetReadObjects({
    file: bytes,
    utf8: false,
    compressors: { ZSTD: (input) => new Uint8Array(zstdDecompressSync(input)) },
  });
  return { rows, metadata: parquetMetadata(bytes) };
}
const bytesOf = (value: unknown) =>
  value instanceof Uint8Array ? Buffer.from(value).toString('hex') : value;

describe('a Parquet file', () => {
  it('gives back numbers up to the largest, and their least and greatest for each group', async () => {
    const columns = [
      new Column('big', 'uint64'),
      new Column('signed', 'int64', { required: true }),
      new Column('word', 'uint32'),
      new Column('short', 'uint16'),
      new Column('byte', 'uint8'),
    ];
    const [big, signed, word, short, byte] = columns;
    const rows = [
      [0, 1, 2 ** 32 - 1, 65_535, 255],
      [2 ** 32, 2, 0, 0, 0],
      [Number.MAX_SAFE_INTEGER, 2 ** 40 + 3, null, 7, null],
      [null, 0, 2 ** 31, null, 128],
    ];
    const read = await roundTrip(columns, [
      () => {
        for (const row of rows) {
          [big, signed, word, short, byte].forEach((column, at) => {
            column?.number(row[at] ?? null);
          });
        }
      },
    ]);
    assert.deepEqual(
      read.rows.map((row) => Object.values(row).map((value) => (value === null ? null : Number(value)))),
      rows,
    );
    const statistics = read.metadata.row_groups[0]?.columns[0]?.meta_data?.statistics;
    assert.deepEqual(
      [statistics?.min_value, statistics?.max_value, statistics?.null_count],
      [0n, BigInt(Number.MAX_SAFE_INTEGER), 1n],
    );
  });

  it('gives back blobs, texts, truth and decimals through dictionaries of any width and several groups', async () => {
    const next = seededRandom(7).fraction;
    for (const distinct of [1, 2, 3, 5, 17, 200, 300, 5_000]) {
      const columns = [
        new Column('plain', 'blob', { required: true }),
        new Column('shared', 'blob', { dictionary: true }),
        new Column('text', 'text', { dictionary: true }),
        new Column('truth', 'bool', { required: true }),
        new Column('amount', 'decimal'),
      ];
      const [plain, shared, text, truth, amount] = columns;
      const expected: unknown[][] = [];
      const pool = Array.from({ length: distinct }, (_, at) => Buffer.from(`value ${at}`));
      const fill = (count: number) => () => {
        for (let row = 0; row < count; row += 1) {
          const one = Buffer.alloc(Math.floor(next() * 60), row & 255);
          const two = next() < 0.1 ? null : (pool[Math.floor(next() * distinct)] ?? null);
          const three = next() < 0.5 ? null : `ü ${Math.floor(next() * distinct)}`;
          const four = next() < 0.3;
          const five = next() < 0.2 ? null : String(10n ** BigInt(Math.floor(next() * 20)) - 1n);
          plain?.blob(one);
          shared?.blob(two);
          text?.text(three);
          truth?.bool(four);
          if (five === null) amount?.none();
          else amount?.decimal(five);
          expected.push([
            one.toString('hex'),
            two?.toString('hex') ?? null,
            three,
            four,
            five === null ? null : Number(five),
          ]);
        }
      };
      const read = await roundTrip(columns, [fill(1_001), fill(1), fill(7)]);
      assert.equal(read.metadata.row_groups.length, 3);
      assert.deepEqual(
        read.rows.map((row) => Object.values(row).map(bytesOf)),
        expected,
        `${distinct} distinct values`,
      );
    }
  });

  it('holds columns without any value, and blobs cut from a larger buffer', async () => {
    const columns = [
      new Column('none', 'blob', { dictionary: true }),
      new Column('part', 'blob', { dictionary: true }),
    ];
    const [none, part] = columns;
    const source = Buffer.from('alphabetaalpha');
    const read = await roundTrip(columns, [
      () => {
        for (const [start, end] of [
          [0, 5],
          [5, 9],
          [8, 13],
        ]) {
          none?.none();
          part?.blob(source, start, end);
        }
      },
    ]);
    assert.deepEqual(
      read.rows.map(({ none, part }) => [none, Buffer.from(part).toString()]),
      [
        [null, 'alpha'],
        [null, 'beta'],
        [null, 'aalph'],
      ],
    );
  });

  it('refuses what a column cannot hold, and rows that are not whole', () => {
    assert.throws(() => new Column('a', 'uint16').number(65_536), /a cannot hold 65536/);
    assert.throws(() => new Column('a', 'uint64').number(-1), RangeError);
    assert.throws(() => new Column('a', 'uint64').number(1.5), RangeError);
    assert.throws(() => new Column('a', 'decimal').decimal('1'.repeat(21)), RangeError);
    assert.throws(() => new Column('a', 'blob', { required: true }).blob(null), /a needs a value/);
    const columns = [new Column('a', 'uint8'), new Column('b', 'uint8')];
    columns[0]?.number(1);
    const file = new ParquetFile(join(folder, 'uneven'), columns);
    assert.throws(() => file.addGroup(), /b has 0 of 1 values/);
    file.discard();
  });
});
