/**
 * Rows of the index as the objects that the schema's fields are read from. What is stable never changes, so its
 * edges are kept ready; signatures and keys are large and fetched only when a query selects them.
 */
import { LRUCache } from 'lru-cache';
import type { QueryAmount, QueryNode } from '../../formats/arweave/query-node.ts';
import { atMost } from '../../kernel/at-most.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import { toSummary } from '../chain-index/blocks.ts';
import type { BlockSummary } from '../chain-index/gateway-index.ts';
import { DATA_ITEM, type FoundKey, type PlaceKey, tieOf } from '../chain-index/order.ts';
import type { Selected } from '../chain-index/records.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { unpackTags } from '../chain-index/tags.ts';
import { ClockCache } from './clock-cache.ts';
import { transactionCursor } from './cursor.ts';
import type { WrittenRow } from './row-writer.ts';

export interface TransactionNode extends QueryNode, WrittenRow {
  readonly parent: { readonly id: string } | null;
  /** null for what is of another network's index. */
  readonly ingested_at: number | null;
}

export interface TransactionEdge extends WrittenRow {
  readonly cursor: string;
  readonly node: TransactionNode;
}

/** An edge, and what is looked up only when it is asked for. */
interface Built {
  readonly edge: TransactionEdge;
  readonly record: number;
  readonly owner: number;
  /** Where it is in the history, if it was moved there. */
  readonly place: PlaceKey;
}

/** A record; of one of the history, as a search found it. */
type WantedRecord = Pick<FoundKey, 'record'> & Partial<FoundKey>;

/** What the query selects anywhere, by field name; too much only costs time. */
export type Wants = ReadonlySet<string>;

const columns =
  'record, id, kind, height, block_index, pos, indexed_at, owner, signature_type, target, anchor, quantity, reward, data_size, content_type, tags, parent';
type NodeRow = Selected<typeof columns>;

const none = '';
/** The schema's fields are not null: what is not stored is said so. */
const notFound = '<not-found>';
const noAmount: QueryAmount = { winston: '0', ar: '0.000000000000' };
/** Memory for edges of stable records, which never change. */
const keptBytes = 16 * 1024 * 1024;

export class Nodes {
  readonly #index: SqlGatewayIndex;
  readonly #edges = new ClockCache<number, Built>(keptBytes);
  readonly #blocks = new LRUCache<number, BlockSummary>(atMost(10_000));
  /** Records of stable ids; until this process prunes, and for a minute, since another one may. */
  readonly #records = new LRUCache<string, number>({ ...atMost(20_000), ttl: 60_000 });
  #prunes = 0;
  readonly #ids = new LRUCache<number, { id: string }>(atMost(10_000));

  constructor(index: SqlGatewayIndex) {
    this.#index = index;
  }

  /** Edges of the records, in their order; a record that went away meanwhile is left out. */
  async edges(keys: readonly WantedRecord[], wants: Wants): Promise<TransactionEdge[]> {
    const inOrder: Built[] = [];
    for (const { record } of keys) {
      const kept = this.#edges.get(record);
      if (kept !== undefined) inOrder.push(kept);
    }
    if (inOrder.length < keys.length) await this.#complete(inOrder, keys);
    if (!wants.has('signature') && !wants.has('key')) return inOrder.map(({ edge }) => edge);
    return this.#withProofs(inOrder, wants);
  }

  /** Reads what is not there yet, and puts it where it belongs. */
  async #complete(inOrder: Built[], keys: readonly WantedRecord[]): Promise<void> {
    const found = new Map(inOrder.map((built) => [built.record, built]));
    const unknown = keys.filter(({ record }) => !found.has(record));
    const moved = unknown.flatMap(({ minedAt, tie }) =>
      minedAt === undefined || tie === undefined ? [] : [{ pos: minedAt, tie }],
    );
    const rows = await selectIn<NodeRow>(
      this.#index.sql,
      `SELECT ${columns} FROM records WHERE record IN ({in})`,
      unknown.filter(({ minedAt }) => minedAt === undefined).map(({ record }) => record),
    );
    for (const built of await this.#build(rows)) found.set(built.record, built);
    if (moved.length > 0) {
      const movedRows = (await this.#index.history?.rowsAt(moved)) ?? [];
      for (const built of await this.#build(movedRows)) found.set(built.record, built);
    }
    inOrder.splice(0, inOrder.length, ...keys.flatMap(({ record }) => found.get(record) ?? []));
  }

  /** The node of an id, at once where it is remembered. */
  node(id: string, wants: Wants): TransactionNode | Promise<TransactionNode | undefined> {
    const { prunes } = this.#index;
    if (prunes !== this.#prunes) {
      this.#prunes = prunes;
      this.#records.clear();
    }
    const known = this.#records.get(id);
    const built = known === undefined ? undefined : this.#edges.get(known);
    return built === undefined ? this.#readNode(id, wants) : this.#nodeOf(built, wants);
  }

  async #readNode(id: string, wants: Wants): Promise<TransactionNode | undefined> {
    const { prunes } = this.#index;
    const row = await this.#index.sql.get<NodeRow>(
      `SELECT ${columns} FROM records WHERE id = ?`,
      Buffer.from(id, 'base64url'),
    );
    const found = row ?? (await this.#index.history?.byIds([Buffer.from(id, 'base64url')]))?.[0];
    const built = found && (await this.#build([found]))[0];
    if (built === undefined) return undefined;
    const isKept = this.#edges.get(built.record) !== undefined;
    if (isKept && prunes === this.#index.prunes) this.#records.set(id, built.record);
    return this.#nodeOf(built, wants);
  }

  #nodeOf(built: Built, wants: Wants): TransactionNode | Promise<TransactionNode> {
    const { edge } = built;
    if (!wants.has('signature') && !wants.has('key')) return edge.node;
    return this.#withProofs([built], wants).then(([proven = edge]) => proven.node);
  }

  async #build(rows: readonly NodeRow[]): Promise<Built[]> {
    const addresses = await this.#index.terms.ownerAddresses(rows.map((row) => row.owner));
    const blocks = await this.#blocksOf(rows);
    const parents = await this.#parentsOf(rows);
    return rows.map((row) => {
      const bundle = row.parent === null ? null : (parents.get(row.parent) ?? null);
      const id = row.id.toString('base64url');
      const node: TransactionNode = {
        id,
        anchor: row.anchor === null ? none : row.anchor.toString('base64url'),
        signature: notFound,
        signatureType: row.signature_type,
        recipient: row.target === null ? none : row.target.toString('base64url'),
        owner: { address: addresses.get(row.owner) ?? none, key: notFound },
        fee: amount(row.reward),
        quantity: amount(row.quantity),
        data: { size: String(row.data_size), type: row.content_type },
        tags: unpackTags(row.tags),
        block: row.height === null ? null : (blocks.get(row.height) ?? null),
        parent: bundle,
        bundledIn: bundle,
        ingested_at: row.indexed_at,
        written: undefined,
      };
      const cursor = transactionCursor(
        row.height,
        row.block_index,
        row.kind === DATA_ITEM,
        id,
        row.indexed_at,
      );
      const place = { pos: row.pos, tie: tieOf(row.id) };
      const edge: TransactionEdge = { cursor, node, written: undefined };
      const built = { edge, record: row.record, owner: row.owner, place };
      if (row.height !== null && row.height <= this.#index.stableHeight) {
        // With the text that is written of it.
        this.#edges.set(row.record, built, 2_048 + 5 * row.tags.length);
      }
      return built;
    });
  }

  async #withProofs(built: readonly Built[], wants: Wants): Promise<TransactionEdge[]> {
    const signatures = wants.has('signature') ? await this.#signaturesOf(built) : undefined;
    const keys = wants.has('key')
      ? await this.#index.terms.ownerKeys(built.map(({ owner }) => owner))
      : undefined;
    return built.map(({ edge: { cursor, node }, record, owner }) => ({
      cursor,
      node: {
        ...node,
        written: undefined,
        signature: signatures?.get(record) ?? notFound,
        owner: { address: node.owner.address, key: keys?.get(owner) ?? notFound },
      },
    }));
  }

  async #blocksOf(rows: readonly NodeRow[]): Promise<ReadonlyMap<number, BlockSummary>> {
    const blocks = new Map<number, BlockSummary>();
    const unknown = new Set<number>();
    for (const { height } of rows) {
      if (height === null || blocks.has(height)) continue;
      const cached = this.#blocks.get(height);
      if (cached === undefined) unknown.add(height);
      else blocks.set(height, cached);
    }
    const found = await selectIn<Parameters<typeof toSummary>[0]>(
      this.#index.sql,
      'SELECT height, id, previous, timestamp FROM blocks WHERE height IN ({in})',
      [...unknown],
    );
    for (const row of found) {
      const block = toSummary(row);
      blocks.set(row.height, block);
      // Blocks above can still be replaced by a fork.
      if (row.height <= this.#index.stableHeight) this.#blocks.set(row.height, block);
    }
    return blocks;
  }

  /** Ids of parents; the id of a record never changes. */
  async #parentsOf(rows: readonly NodeRow[]): Promise<ReadonlyMap<number, { id: string }>> {
    const parents = new Map<number, { id: string }>();
    const unknown = new Set<number>();
    for (const { parent } of rows) {
      if (parent === null || parents.has(parent)) continue;
      const cached = this.#ids.get(parent);
      if (cached === undefined) unknown.add(parent);
      else parents.set(parent, cached);
    }
    const found = await selectIn<{ record: number; id: Buffer }>(
      this.#index.sql,
      'SELECT record, id FROM records WHERE record IN ({in})',
      [...unknown],
    );
    for (const row of found) {
      const parent = { id: row.id.toString('base64url') };
      this.#ids.set(row.record, parent);
      parents.set(row.record, parent);
    }
    return parents;
  }

  async #signaturesOf(built: readonly Built[]): Promise<ReadonlyMap<number, string>> {
    const found = await selectIn<{ record: number; signature: Buffer }>(
      this.#index.sql,
      'SELECT record, signature FROM signatures WHERE record IN ({in})',
      built.map(({ record }) => record),
    );
    const signatures = new Map(found.map((row) => [row.record, row.signature.toString('base64url')]));
    const others = built.filter(({ record }) => !signatures.has(record)).map(({ place }) => place);
    for (const [record, signature] of (await this.#index.history?.signatures(others)) ?? []) {
      signatures.set(record, signature.toString('base64url'));
    }
    return signatures;
  }
}

/** An amount in winston and in AR with twelve decimals. */
export function amount(winston: string): QueryAmount {
  if (winston === '0') return noAmount;
  const digits = winston.padStart(13, '0');
  return { winston, ar: `${digits.slice(0, -12)}.${digits.slice(-12)}` };
}
