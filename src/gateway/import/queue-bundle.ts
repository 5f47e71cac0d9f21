/** Chain transactions and stored records that are bundles, put into the queue where the unbundle filter lets them through. */
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import type { Header } from '../chain-index/records.ts';
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

/** Answers whether it is queued. The caller notifies the queue after its transaction. */
export async function queueBundle(
  tx: SqlExecutor,
  { queue, unbundles }: BundleIntake,
  header: Header,
): Promise<boolean> {
  if (!isBundle(header.tags)) return false;
  return queue.add(tx, {
    id: header.id,
    root: header.id,
    depth: 0,
    rank: ranks.chain,
    matches: unbundles(subjectOf(header)),
    bypass: false,
  });
}

/** Judges a record of the index by today's filter; answers whether it is queued now. */
export async function queueKnownBundle(
  index: SqlGatewayIndex,
  { queue, unbundles }: BundleIntake,
  id: string,
  rank: number,
  depth?: number,
): Promise<boolean> {
  const found = await readHeader(index, id);
  if (found === undefined || !isBundle(found.header.tags)) return false;
  const { header, parent, root } = found;
  return index.sql.transaction((tx) =>
    queue.add(tx, {
      id: header.id,
      root: root ?? header.id,
      depth: depth ?? (root === undefined ? 0 : 1),
      rank,
      matches: unbundles(subjectOf(header, parent?.toString('base64url'), root?.toString('base64url'))),
      bypass: false,
    }),
  );
}

/** A stored record's header, as filters want it. */
async function readHeader(
  index: SqlGatewayIndex,
  id: string,
): Promise<{ header: Header; parent: Buffer | undefined; root: Buffer | undefined } | undefined> {
  const row = await index.sql.get<{
    id: Buffer;
    kind: 0 | 1;
    format: number;
    signature_type: number;
    target: Buffer | null;
    anchor: Buffer | null;
    quantity: string;
    reward: string;
    denomination: number;
    data_size: number;
    data_root: Buffer | null;
    tags: Buffer;
    address: Buffer;
    key: Buffer | null;
    signature: Buffer | null;
    parent_id: Buffer | null;
    root_id: Buffer | null;
  }>(
    `SELECT r.id, r.kind, r.format, r.signature_type, r.target, r.anchor, r.quantity, r.reward, r.denomination,
       r.data_size, r.data_root, r.tags, o.hash AS address, o.value AS key, s.signature,
       parent.id AS parent_id, root.id AS root_id
     FROM records r JOIN terms o ON o.term = r.owner LEFT JOIN signatures s ON s.record = r.record
       LEFT JOIN records parent ON parent.record = r.parent LEFT JOIN records root ON root.record = r.root
     WHERE r.id = ?`,
    Buffer.from(id, 'base64url'),
  );
  if (row === undefined) return undefined;
  return {
    header: {
      id: row.id,
      kind: row.kind,
      ownerKey: row.key,
      ownerAddress: row.address,
      signature: row.signature,
      signatureType: row.signature_type,
      format: row.format,
      target: row.target,
      anchor: row.anchor,
      quantity: row.quantity,
      reward: row.reward,
      denomination: row.denomination,
      dataSize: row.data_size,
      dataRoot: row.data_root,
      tags: unpackRawTags(row.tags),
    },
    parent: row.parent_id ?? undefined,
    root: row.root_id ?? undefined,
  };
}
