/**
 * The `GatewayIndex` over SQL. Reads go straight to the database: the rows are small, found by one or two
 * look-ups, and the engine's own cache holds what is hot.
 */
import type { Sql } from '../../storage/sql/sql.ts';
import * as blocks from './blocks.ts';
import { CombinedSearch } from './combined-search.ts';
import type {
  BlockSummary,
  ChainTransaction,
  GatewayIndex,
  Id,
  Located,
  Placement,
  Proof,
  StatusInBlock,
} from './gateway-index.ts';
import { type History, type HistoryRow, HistoryUnavailable } from './history.ts';
import { PENDING_POS, TRANSACTION, tieOf } from './order.ts';
import { findPlaces } from './places.ts';
import { columnsOf, type Selected } from './records.ts';
import { unpackRawTags, unpackTags } from './tags.ts';
import { CHAIN_TERM, Terms } from './terms.ts';
import { IndexWriter } from './writer.ts';

const locatedColumns =
  'id, kind, height, owner, signature_type, target, anchor, data_size, data_root, end_offset, content_type, content_encoding, tags, root, parent_offset, item_offset, data_offset, item_size, hash, verified';

interface LocatedRow extends Selected<typeof locatedColumns> {
  readonly root_id: Buffer | null;
  readonly root_size: number | null;
  readonly root_data_root: Buffer | null;
  readonly root_end_offset: number | null;
  readonly root_verified: number | null;
  readonly parent_id: Buffer | null;
}

const locate = `SELECT ${columnsOf('r', locatedColumns)},
    root.id AS root_id, root.data_size AS root_size, root.data_root AS root_data_root,
    root.end_offset AS root_end_offset, root.verified AS root_verified, parent.id AS parent_id
  FROM records r LEFT JOIN records root ON root.record = r.root
    LEFT JOIN records parent ON parent.record = r.parent
  WHERE r.id = ?`;

interface BundleRow {
  readonly parent_id: Buffer;
  readonly parent_offset: number;
  readonly height: number | null;
  readonly root_id: Buffer;
  readonly root_size: number;
  readonly root_data_root: Buffer | null;
  readonly root_end_offset: number | null;
  readonly content_type: string | null;
  readonly content_encoding: string | null;
}

/** The bundle that a place names, its root, and what a type stands for. */
const bundleOfPlace = `SELECT b.id AS parent_id, coalesce(b.parent_offset + b.data_offset, 0) AS parent_offset, b.height,
    root.id AS root_id, root.data_size AS root_size, root.data_root AS root_data_root,
    root.end_offset AS root_end_offset, t.content_type, t.content_encoding
  FROM records b JOIN records root ON root.record = coalesce(b.root, b.record)
    LEFT JOIN place_types t ON t.type = ?
  WHERE b.record = ?`;

const transactionColumns =
  'format, owner, signature_type, target, anchor, quantity, reward, denomination, data_size, data_root, tags';

/** ECDSA transactions carry no owner: the key is recovered from the signature. */
export const ECDSA_SIGNATURE = 3;

export class SqlGatewayIndex implements GatewayIndex {
  readonly sql: Sql;
  readonly terms: Terms;
  readonly writer: IndexWriter;
  readonly search: CombinedSearch;
  /** Where stable items may have been moved to. */
  readonly history: History | undefined;
  /** Grows with every batch of stable records that this process removes: what is remembered of them is void. */
  prunes = 0;
  #height = -1;
  #stableHeight = -1;

  /**
   * `onEvents` is called when something was appended to the event log, before its transaction is over. `walkedFirst`:
   * candidates that a search looks at before it asks the segments.
   */
  constructor(sql: Sql, now?: () => number, onEvents?: () => void, history?: History, walkedFirst?: number) {
    this.sql = sql;
    this.history = history;
    this.terms = new Terms(sql);
    this.writer = new IndexWriter(this.terms, now, onEvents, history);
    this.search = new CombinedSearch(sql, history, walkedFirst);
  }

  get height(): number {
    return this.#height;
  }

  get stableHeight(): number {
    return this.#stableHeight;
  }

  /** Reads how far the chain is imported; another process may be the one that imports. */
  async refresh(): Promise<void> {
    const newest = await this.sql.get<{ height: number | null }>('SELECT max(height) AS height FROM blocks');
    this.#height = newest?.height ?? -1;
    const stable = await this.sql.get<{ value: number }>(
      "SELECT value FROM chain_state WHERE name = 'stable_height'",
    );
    this.#stableHeight = stable?.value ?? -1;
  }

  async locate(id: Id): Promise<Located | undefined> {
    const row = await this.sql.get<LocatedRow>(locate, bytesOf(id));
    if (row !== undefined && (row.kind === TRANSACTION || row.root_id !== null)) {
      return this.#located(id, row);
    }
    // Also of an item that is announced again: what was read from a bundle counts more.
    const [pruned] = await this.locatePruned(id);
    if (pruned === undefined) return row && this.#located(id, row);
    return (await this.#locateMoved(id)) ?? pruned;
  }

  /** An item of the history. Where that does not answer, the place of the item says enough to read it. */
  async #locateMoved(id: Id): Promise<Located | undefined> {
    const moved = await this.#moved(id);
    return moved && { ...(await this.#located(id, await this.#withBundles(moved))), isMoved: true };
  }

  async #moved(id: Id): Promise<HistoryRow | undefined> {
    try {
      return (await this.history?.byIds([bytesOf(id)]))?.[0];
    } catch (error) {
      if (error instanceof HistoryUnavailable) return undefined;
      throw error;
    }
  }

  /** With what SQL says about the bundles that it is in. */
  async #withBundles(moved: HistoryRow): Promise<LocatedRow> {
    const root = await this.sql.get<Pick<LocatedRow, `root_${string}` & keyof LocatedRow>>(
      `SELECT id AS root_id, data_size AS root_size, data_root AS root_data_root, end_offset AS root_end_offset,
         verified AS root_verified FROM records WHERE record = ?`,
      moved.root,
    );
    const parent = await this.sql.get<{ id: Buffer }>(
      'SELECT id FROM records WHERE record = ?',
      moved.parent,
    );
    return {
      ...{ root_id: null, root_size: null, root_data_root: null, root_end_offset: null, root_verified: null },
      ...moved,
      ...root,
      ...{ hash: null, verified: 0, parent_id: parent?.id ?? null },
    };
  }

  async #located(id: Id, row: LocatedRow): Promise<Located> {
    const address = (await this.terms.ownerAddresses([row.owner])).get(row.owner);
    const isTransaction = row.kind === TRANSACTION;
    return {
      id,
      kind: isTransaction ? 'transaction' : 'item',
      size: row.data_size,
      contentType: row.content_type ?? undefined,
      contentEncoding: row.content_encoding ?? undefined,
      ownerAddress: address ?? '',
      signatureType: row.signature_type,
      target: base64url(row.target),
      anchor: base64url(row.anchor),
      tags: unpackTags(row.tags),
      placement: isTransaction ? undefined : placementOf(row, await this.#parentOf(row)),
      dataRoot: base64url(isTransaction ? row.data_root : row.root_data_root),
      rootSize: (isTransaction ? row.data_size : row.root_size) ?? undefined,
      rootEndOffset: (isTransaction ? row.end_offset : row.root_end_offset) ?? undefined,
      height: row.height ?? undefined,
      stable: row.height !== null && row.height <= this.#stableHeight,
      hash: row.hash?.toString('base64url'),
      verified: row.hash !== null && row.verified === 1 && (isTransaction || row.root_verified === 1),
    };
  }

  /** Wherever an item lies whose record was pruned: in as many bundles as its records were in, one after the other. */
  async locatePruned(id: Id): Promise<Located[]> {
    const found: Located[] = [];
    for (const place of await findPlaces(this.sql, bytesOf(id))) {
      const bundle = await this.sql.get<BundleRow>(bundleOfPlace, place.type, place.parent);
      if (bundle === undefined) continue;
      const { itemOffset, headerSize, dataSize } = place;
      const parentOffsetInRoot = bundle.parent_offset;
      found.push({
        id,
        kind: 'item',
        isPruned: true,
        size: dataSize,
        contentType: bundle.content_type ?? undefined,
        contentEncoding: bundle.content_encoding ?? undefined,
        ownerAddress: '',
        signatureType: 0,
        target: '',
        anchor: '',
        tags: [],
        placement: {
          root: base64url(bundle.root_id),
          parent: base64url(bundle.parent_id),
          parentOffsetInRoot,
          itemOffset,
          dataOffset: itemOffset + headerSize,
          itemSize: headerSize + dataSize,
          itemOffsetInRoot: parentOffsetInRoot + itemOffset,
          dataOffsetInRoot: parentOffsetInRoot + itemOffset + headerSize,
        },
        dataRoot: base64url(bundle.root_data_root),
        rootSize: bundle.root_size,
        rootEndOffset: bundle.root_end_offset ?? undefined,
        height: bundle.height ?? undefined,
        stable: bundle.height !== null && bundle.height <= this.#stableHeight,
        hash: undefined,
        verified: false,
      });
    }
    return found;
  }

  /**
   * The bundle that holds an item directly. Earlier versions pruned the records of bundles; where it was read again it
   * has another record, in the same root at the same place.
   */
  async #parentOf(row: LocatedRow): Promise<Buffer | null> {
    if (row.parent_id !== null || row.root === null) return row.parent_id;
    const found = await this.sql.get<{ id: Buffer }>(
      'SELECT id FROM records WHERE root = ? AND parent_offset + data_offset = ? AND data_size > 0 LIMIT 1',
      row.root,
      row.parent_offset,
    );
    return found?.id ?? null;
  }

  async proof(id: Id): Promise<Proof | undefined> {
    const row = await this.sql.get<{ signature: Buffer | null; key: Buffer | null }>(
      `SELECT s.signature, o.value AS key FROM records r LEFT JOIN signatures s ON s.record = r.record
         LEFT JOIN terms o ON o.term = r.owner WHERE r.id = ?`,
      bytesOf(id),
    );
    if (row === undefined) return this.#proofOfMoved(id);
    if (row.signature === null) return undefined;
    return { signature: base64url(row.signature), owner: base64url(row.key) };
  }

  async #proofOfMoved(id: Id): Promise<Proof | undefined> {
    // Whatever was moved has a place.
    if (this.history === undefined || (await findPlaces(this.sql, bytesOf(id))).length === 0)
      return undefined;
    const moved = await this.#moved(id);
    if (moved === undefined) return undefined;
    const key = (await this.terms.ownerKeys([moved.owner])).get(moved.owner);
    try {
      const signatures = await this.history.signatures([{ pos: moved.pos, tie: tieOf(moved.id) }]);
      const signature = signatures.get(moved.record);
      return signature && { signature: base64url(signature), owner: key ?? '' };
    } catch (error) {
      if (error instanceof HistoryUnavailable) return undefined;
      throw error;
    }
  }

  async chainTransaction(id: Id): Promise<ChainTransaction | undefined> {
    const row = await this.sql.get<Selected<typeof transactionColumns> & { signature: Buffer | null }>(
      `SELECT ${columnsOf('r', transactionColumns)}, s.signature
       FROM records r LEFT JOIN signatures s ON s.record = r.record WHERE r.id = ? AND r.kind = ?`,
      bytesOf(id),
      TRANSACTION,
    );
    if (row === undefined || row.signature === null) return undefined;
    const key = (await this.terms.ownerKeys([row.owner])).get(row.owner);
    const recovered = row.signature_type === ECDSA_SIGNATURE;
    if (key === undefined && !recovered) return undefined;
    return {
      format: row.format,
      id,
      last_tx: base64url(row.anchor),
      owner: recovered ? '' : (key ?? ''),
      tags: unpackRawTags(row.tags).map(({ name, value }) => ({
        name: base64url(name),
        value: base64url(value),
      })),
      target: base64url(row.target),
      quantity: row.quantity,
      data_size: String(row.data_size),
      data_root: base64url(row.data_root),
      reward: row.reward,
      signature: base64url(row.signature),
      ...(row.denomination > 0 && { denomination: String(row.denomination) }),
    };
  }

  async transactionsWithDataRoot(dataRoot: string): Promise<Id[]> {
    const bytes = bytesOf(dataRoot);
    // Never a join key: transactions without data have none.
    if (bytes.length !== 32) return [];
    const rows = await this.sql.all<{ id: Buffer }>(
      'SELECT id FROM records WHERE data_root = ? ORDER BY record DESC LIMIT 100',
      bytes,
    );
    return rows.map((row) => base64url(row.id));
  }

  async statusInBlock(id: Id): Promise<StatusInBlock | undefined> {
    const row = await this.sql.get<{ height: number; id: Buffer }>(
      'SELECT b.height, b.id FROM records r JOIN blocks b ON b.height = r.height WHERE r.id = ?',
      bytesOf(id),
    );
    if (row !== undefined) return { height: row.height, blockId: base64url(row.id) };
    const located = await this.locate(id);
    const block = located?.height === undefined ? undefined : await this.blockAt(located.height);
    return block && { height: block.height, blockId: block.id };
  }

  blockAt(height: number): Promise<BlockSummary | undefined> {
    return blocks.blockAt(this.sql, height);
  }

  blockById(id: string): Promise<BlockSummary | undefined> {
    return blocks.blockById(this.sql, bytesOf(id));
  }

  async blockJson(key: number | string): Promise<string | undefined> {
    const height = typeof key === 'number' ? key : (await this.blockById(key))?.height;
    return height === undefined ? undefined : blocks.blockJson(this.sql, height);
  }

  async noteVerified(id: Id, hash: string, verified: boolean): Promise<boolean> {
    const changed = await this.sql.run(
      'UPDATE records SET hash = ?, verified = ? WHERE id = ? AND (verified = 0 OR hash IS NULL OR ? = 1)',
      bytesOf(hash),
      verified ? 1 : 0,
      bytesOf(id),
      verified ? 1 : 0,
    );
    if (changed > 0) return true;
    const row = await this.sql.get('SELECT 1 AS one FROM records WHERE id = ?', bytesOf(id));
    return row !== undefined;
  }

  async forgetHash(id: Id): Promise<void> {
    await this.sql.run('UPDATE records SET hash = NULL, verified = 0 WHERE id = ?', bytesOf(id));
  }

  async noteEndOffset(id: Id, endOffset: number): Promise<void> {
    await this.sql.run(
      'UPDATE records SET end_offset = ? WHERE id = ? AND kind = ?',
      endOffset,
      bytesOf(id),
      TRANSACTION,
    );
  }

  async unverified(limit: number): Promise<Id[]> {
    const rows = await this.sql.all<{ id: Buffer }>(
      `SELECT id FROM records WHERE verified = 0 AND kind = ? AND data_size > 0 AND height IS NOT NULL
       ORDER BY record DESC LIMIT ?`,
      TRANSACTION,
      limit,
    );
    return rows.map((row) => base64url(row.id));
  }

  /** Chain transactions that are known and not mined, oldest first. */
  async pendingTransactions(limit: number): Promise<Id[]> {
    const rows = await this.sql.all<{ id: Buffer }>(
      `SELECT r.id FROM (SELECT record, pos, tie FROM postings WHERE term = ? AND pos >= ? ORDER BY pos, tie, record
         LIMIT ?) p JOIN records r ON r.record = p.record ORDER BY p.pos, p.tie`,
      CHAIN_TERM,
      PENDING_POS,
      limit,
    );
    return rows.map((row) => base64url(row.id));
  }

  /** The record key of an id. */
  async recordOf(id: Id): Promise<number | undefined> {
    const bytes = bytesOf(id);
    const row = await this.sql.get<{ record: number }>('SELECT record FROM records WHERE id = ?', bytes);
    return row?.record ?? (await this.history?.byIds([bytes]))?.[0]?.record;
  }
}

function placementOf(row: LocatedRow, parent: Buffer | null): Placement | undefined {
  const { root_id, parent_offset, item_offset, data_offset, item_size } = row;
  if (
    root_id === null ||
    parent_offset === null ||
    item_offset === null ||
    data_offset === null ||
    item_size === null
  ) {
    return undefined;
  }
  return {
    root: base64url(root_id),
    parent: base64url(parent),
    parentOffsetInRoot: parent_offset,
    itemOffset: item_offset,
    dataOffset: data_offset,
    itemSize: item_size,
    itemOffsetInRoot: parent_offset + item_offset,
    dataOffsetInRoot: parent_offset + data_offset,
  };
}

function base64url(bytes: Buffer | null): string {
  return bytes === null ? '' : bytes.toString('base64url');
}

function bytesOf(text: string): Buffer {
  return Buffer.from(text, 'base64url');
}
