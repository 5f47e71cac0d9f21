/** Chain transactions and stored records that are bundles, put into the queue where the unbundle filter lets them through. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { TRANSACTION } from '../chain-index/order.ts';
import { columnsOf, type Header, type Selected } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { unpackRawTags } from '../chain-index/tags.ts';
import type { Predicate } from '../filters/match.ts';
import { isBundle, subjectOf } from '../unbundle/bundle-tags.ts';
import { type BundleQueue, ranks } from '../unbundle/queue.ts';

/** What decides about a bundle. */
export interface BundleIntake {
  readonly queue: BundleQueue;
  /** The unbundle filter. */
  readonly unbundles: Predicate;
}

/** Of a block at this height; answers whether it is queued. The caller notifies the queue after its transaction. */
export async function queueBundle(
  tx: SqlExecutor,
  { queue, unbundles }: BundleIntake,
  header: Header,
  height: number,
): Promise<boolean> {
  if (!isBundle(header.tags)) return false;
  return queue.add(tx, {
    id: header.id,
    root: header.id,
    depth: 0,
    height,
    rank: ranks.chain,
    matches: unbundles(subjectOf(header)),
    bypass: false,
    again: false,
  });
}

/** Judges a record of the index by today's filter; answers whether it is queued now. */
export async function queueKnownBundle(
  index: SqlGatewayIndex,
  { queue, unbundles }: BundleIntake,
  id: string,
  rank: number,
  { depth, again = false }: { readonly depth?: number; readonly again?: boolean } = {},
): Promise<boolean> {
  const found = await readHeader(index, id);
  if (found === undefined || !isBundle(found.header.tags)) return false;
  const { header, parent, root, height } = found;
  return index.sql.transaction((tx) =>
    queue.add(tx, {
      id: header.id,
      root: root ?? header.id,
      depth: depth ?? (root === undefined ? 0 : 1),
      height,
      rank,
      matches: unbundles(subjectOf(header, parent?.toString('base64url'), root?.toString('base64url'))),
      bypass: false,
      again,
    }),
  );
}

const headerColumns =
  'id, kind, height, format, signature_type, target, anchor, quantity, reward, denomination, data_size, data_root, tags';

interface HeaderRow extends Selected<typeof headerColumns> {
  readonly address: Buffer;
  readonly key: Buffer | null;
  readonly signature: Buffer | null;
  readonly parent_id: Buffer | null;
  readonly root_id: Buffer | null;
}

interface KnownHeader {
  readonly header: Header;
  readonly parent: Buffer | undefined;
  readonly root: Buffer | undefined;
  readonly height: number | null;
}

/** The header of a chain transaction that the index has, mined or not. */
export async function readTransaction(index: SqlGatewayIndex, id: string): Promise<Header | undefined> {
  const header = (await readHeader(index, id))?.header;
  return header?.kind === TRANSACTION ? header : undefined;
}

/** A stored record's header, as filters want it. */
export async function readHeader(index: SqlGatewayIndex, id: string): Promise<KnownHeader | undefined> {
  const row = await index.sql.get<HeaderRow>(
    `SELECT ${columnsOf('r', headerColumns)}, o.hash AS address, o.value AS key, s.signature,
       parent.id AS parent_id, root.id AS root_id
     FROM records r JOIN terms o ON o.term = r.owner LEFT JOIN signatures s ON s.record = r.record
       LEFT JOIN records parent ON parent.record = r.parent LEFT JOIN records root ON root.record = r.root
     WHERE r.id = ?`,
    Buffer.from(id, 'base64url'),
  );
  if (row === undefined) return undefined;
  return {
    header: {
      ...row,
      ownerKey: row.key,
      ownerAddress: row.address,
      signatureType: row.signature_type,
      dataSize: row.data_size,
      dataRoot: row.data_root,
      tags: unpackRawTags(row.tags),
    },
    parent: row.parent_id ?? undefined,
    root: row.root_id ?? undefined,
    height: row.height,
  };
}
