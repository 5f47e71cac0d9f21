/** An index with as many rows as an export of months has, written in bulk: what import does per record is not measured. */

import { minedPos, tieOf } from '../../src/gateway/chain-index/order.ts';
import { packTags } from '../../src/gateway/chain-index/tags.ts';
import { EVERY_TERM, termKinds } from '../../src/gateway/chain-index/terms.ts';
import { digest, rawTags } from '../../src/gateway/chain-index/testing.ts';
import type { Sql, SqlValue } from '../../src/storage/sql/sql.ts';

export interface Filling {
  readonly records: number;
  /** Heights 0 to this, exclusive. */
  readonly heights: number;
}

/** Tags of each record. */
export const tagsPerRecord = 4;
const perStatement = 200;
const perTransaction = 20_000;
const owners = 100;

/** Three of four records are data items of one bundle per block. */
export async function fillIndex(sql: Sql, { records, heights }: Filling): Promise<void> {
  await sql.transaction(async (tx) => {
    for (let owner = 1; owner <= owners; owner += 1) {
      const key = digest(`owner ${owner}`);
      await tx.run(
        'INSERT INTO terms (kind, hash, value) VALUES (?, ?, ?)',
        termKinds.owner,
        digest(`address ${owner}`),
        key,
      );
    }
    for (let height = 0; height < heights; height += 1) {
      await tx.run(
        'INSERT INTO blocks (height, id, previous, timestamp, tx_count, block_size, weave_size) VALUES (?, ?, ?, ?, ?, ?, ?)',
        height,
        digest(`block ${height}`),
        digest(`block ${height - 1}`),
        1_700_000_000 + height,
        Math.ceil(records / heights),
        '1000',
        '1000',
      );
    }
    await tx.run('INSERT INTO block_ranges (first, last) VALUES (0, ?)', heights - 1);
  });
  for (let at = 0; at < records; at += perTransaction) {
    await sql.transaction(async (tx) => {
      for (let first = at; first < Math.min(records, at + perTransaction); first += perStatement) {
        const count = Math.min(perStatement, records - first);
        const numbers = Array.from({ length: count }, (_, offset) => first + offset);
        const made = numbers.map((number) => recordOf(number, records, heights));
        const values = (row: readonly SqlValue[]) => `(${row.map(() => '?').join(', ')})`;
        const insert = (into: string, rows: readonly (readonly SqlValue[])[]) =>
          tx.run(`INSERT INTO ${into} VALUES ${rows.map(values).join(', ')}`, ...rows.flat());
        await insert(
          `records (record, id, kind, height, block_index, pos, indexed_at, owner, format, signature_type, target,
           anchor, quantity, reward, denomination, data_size, content_type, tags, root, parent, parent_offset,
           item_offset, data_offset, item_size, terms, verified)`,
          made.map(({ record }) => record),
        );
        await insert(
          'postings (term, pos, tie, record)',
          made.map(({ posting }) => posting),
        );
        await insert(
          'signatures (record, signature)',
          made.map(({ signature }) => signature),
        );
      }
    });
  }
}

const empty = Buffer.alloc(0);
const signature = Buffer.alloc(64, 7);

function recordOf(number: number, records: number, heights: number) {
  const key = number + 1;
  const perHeight = records / heights;
  const height = Math.floor(number / perHeight);
  const index = number % 1_000;
  const isItem = number % 4 !== 0;
  const bundle = isItem ? Math.ceil(height * perHeight) + 1 : null;
  const id = digest(`record ${number}`);
  const pos = minedPos(height, index, isItem ? 1 : 0);
  const tags = packTags(
    rawTags({
      'Content-Type': number % 3 === 0 ? 'image/png' : 'application/json',
      'App-Name': `app ${number % 50}`,
      'App-Version': `1.${number % 9}`,
      'Unix-Time': String(1_700_000_000 + number),
    }),
  );
  const place = isItem ? [1_000 * index, 1_000 * index, 200, 900] : [null, null, null, null];
  return {
    record: [
      ...[key, id, isItem ? 1 : 0, height, index, pos, 1_700_000_000 + number, 1 + (number % owners)],
      ...[
        isItem ? 0 : 2,
        isItem ? 2 : 1,
        digest(`target ${number % 1_000}`),
        id,
        isItem ? '0' : '12',
        '34567890',
      ],
      ...[1, number, 'application/json', tags, bundle, bundle, ...place, empty, 1],
    ],
    posting: [EVERY_TERM, pos, tieOf(id), key],
    signature: [key, signature],
  };
}
