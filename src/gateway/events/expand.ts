/** Rows of the event log become events: the records are looked up as the index has them now. */
import type { LoggedEvent } from '../../events/event-log.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import { type RecordsChange, unpackChanges } from '../chain-index/event-batch.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import {
  BlockEvent,
  type ChainEvent,
  type EventRow,
  eventColumns,
  type InChain,
  type Named,
  RecordEvent,
} from './chain-event.ts';

/** The events of a row, in order. What was pruned since is left out, and leaves a gap in the indexes. */
export async function expandChanges(index: SqlGatewayIndex, row: LoggedEvent): Promise<ChainEvent[]> {
  const changes = unpackChanges(row);
  const lists = changes.flatMap((change) => ('records' in change ? [change] : []));
  const found = await findRecords(index, [...new Set(lists.flatMap(({ records }) => records))]);
  const blockIds = await findBlocks(index, lists);
  const events: ChainEvent[] = [];
  let at = 0;
  for (const change of changes) {
    if ('block' in change) {
      events.push(new BlockEvent({ index: at, time: row.madeAt, state: change.state }, change.block));
      at += 1;
      continue;
    }
    const place: InChain = {
      height: change.height,
      blockId: change.blockId ?? blockIds.get(change.height ?? -1),
    };
    for (const record of change.records) {
      const known = found.get(record);
      if (known !== undefined) {
        const given = { index: at, time: row.madeAt, state: change.state };
        events.push(new RecordEvent(given, known.row, known.named, place));
      }
      at += 1;
    }
  }
  return events;
}

interface Found {
  readonly row: EventRow;
  readonly named: Named;
}

async function findRecords(
  index: SqlGatewayIndex,
  records: readonly number[],
): Promise<ReadonlyMap<number, Found>> {
  const rows = await selectIn<EventRow>(
    index.sql,
    `SELECT ${eventColumns} FROM records WHERE record IN ({in})`,
    records,
  );
  const owners = await index.terms.ownerAddresses(rows.map(({ owner }) => owner));
  const bundles = new Set(rows.flatMap(({ root, parent }) => [root, parent]).filter((key) => key !== null));
  const ids = new Map(
    (
      await selectIn<{ record: number; id: Buffer }>(
        index.sql,
        'SELECT record, id FROM records WHERE record IN ({in})',
        [...bundles],
      )
    ).map(({ record, id }) => [record, id.toString('base64url')]),
  );
  const idOf = (record: number | null) => (record === null ? undefined : ids.get(record));
  return new Map(
    rows.map((row) => [
      row.record,
      {
        row,
        named: {
          ownerAddress: owners.get(row.owner) ?? '',
          parentId: idOf(row.parent),
          rootId: idOf(row.root),
        },
      },
    ]),
  );
}

/** Blocks that were not known when the row was written, because theirs is the last row of a block. */
async function findBlocks(
  index: SqlGatewayIndex,
  lists: readonly RecordsChange[],
): Promise<ReadonlyMap<number, Buffer>> {
  const unknown = lists.flatMap(({ state, height, blockId }) =>
    height === undefined || blockId !== undefined || state === 'reverted' ? [] : [height],
  );
  if (unknown.length === 0) return new Map();
  const rows = await selectIn<{ height: number; id: Buffer }>(
    index.sql,
    'SELECT height, id FROM blocks WHERE height IN ({in})',
    [...new Set(unknown)],
  );
  return new Map(rows.map(({ height, id }) => [height, id]));
}
