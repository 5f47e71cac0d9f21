/**
 * Rows of the index as the objects that the schema's fields are read from. Only what the query selects is
 * fetched and built; owners' addresses and stable blocks come from caches.
 */
import { LRUCache } from 'lru-cache';
import { toSummary } from '../index/blocks.ts';
import type { BlockSummary } from '../index/gateway-index.ts';
import { DATA_ITEM } from '../index/order.ts';
import { selectIn } from '../index/rows.ts';
import type { SqlGatewayIndex } from '../index/sql-index.ts';
import { type Tag, unpackTags } from '../index/tags.ts';

export interface TransactionNode {
  readonly id: string;
  readonly anchor: string;
  readonly signature: string;
  readonly signatureType: number;
  readonly recipient: string;
  readonly owner: { readonly address: string; readonly key: string };
  readonly fee: AmountNode;
  readonly quantity: AmountNode;
  readonly data: { readonly size: string; readonly type: string | null };
  readonly tags: readonly Tag[];
  readonly block: BlockSummary | null;
  readonly parent: { readonly id: string } | null;
  readonly bundledIn: { readonly id: string } | null;
  readonly ingested_at: number;
}

interface AmountNode {
  readonly winston: string;
  readonly ar: string;
}

export interface NodeRow {
  readonly record: number;
  readonly id: Buffer;
  readonly kind: number;
  readonly height: number | null;
  readonly block_index: number | null;
  readonly indexed_at: number;
  readonly owner: number;
  readonly signature_type: number;
  readonly target: Buffer | null;
  readonly anchor: Buffer | null;
  readonly quantity: string;
  readonly reward: string;
  readonly data_size: number;
  readonly content_type: string | null;
  readonly tags: Buffer | null;
  readonly parent: number | null;
}

/** What the query selects anywhere, by field name; too much only costs time. */
export type Wants = ReadonlySet<string>;

const none = '';
/** The schema's fields are not null: what is not stored is said so. */
const notFound = '<not-found>';
const noAmount: AmountNode = { winston: '0', ar: '0.000000000000' };

export class Nodes {
  readonly #index: SqlGatewayIndex;
  readonly #blocks = new LRUCache<number, BlockSummary>({ max: 10_000 });

  constructor(index: SqlGatewayIndex) {
    this.#index = index;
  }

  /** Rows of the records, in their order; a record that went away meanwhile is left out. */
  async rows(records: readonly number[], wants: Wants): Promise<NodeRow[]> {
    const rows = await selectIn<NodeRow>(
      this.#index.sql,
      `SELECT record, id, kind, height, block_index, indexed_at, owner, signature_type, target, anchor, quantity,
         reward, data_size, content_type, ${wants.has('tags') ? 'tags' : 'NULL AS tags'}, parent
       FROM records WHERE record IN ({in})`,
      records,
    );
    const byRecord = new Map(rows.map((row) => [row.record, row]));
    return records.flatMap((record) => byRecord.get(record) ?? []);
  }

  async build(rows: readonly NodeRow[], wants: Wants): Promise<TransactionNode[]> {
    const { terms } = this.#index;
    const addresses = wants.has('address')
      ? await terms.ownerAddresses(rows.map((row) => row.owner))
      : undefined;
    const keys = wants.has('key') ? await terms.ownerKeys(rows.map((row) => row.owner)) : undefined;
    const blocks = wants.has('block') ? await this.#blocksOf(rows) : undefined;
    const parents = wants.has('bundledIn') || wants.has('parent') ? await this.#parentsOf(rows) : undefined;
    const signatures = wants.has('signature') ? await this.#signaturesOf(rows) : undefined;
    const nodes: TransactionNode[] = [];
    for (const row of rows) {
      const bundle = row.parent === null ? null : (parents?.get(row.parent) ?? null);
      nodes.push({
        id: row.id.toString('base64url'),
        anchor: row.anchor === null ? none : row.anchor.toString('base64url'),
        signature: signatures?.get(row.record) ?? notFound,
        signatureType: row.signature_type,
        recipient: row.target === null ? none : row.target.toString('base64url'),
        owner: { address: addresses?.get(row.owner) ?? none, key: keys?.get(row.owner) ?? notFound },
        fee: amount(row.reward),
        quantity: amount(row.quantity),
        data: { size: String(row.data_size), type: row.content_type },
        tags: row.tags === null ? [] : unpackTags(row.tags),
        block: row.height === null ? null : (blocks?.get(row.height) ?? null),
        parent: bundle,
        bundledIn: bundle,
        ingested_at: row.indexed_at,
      });
    }
    return nodes;
  }

  async #blocksOf(rows: readonly NodeRow[]): Promise<ReadonlyMap<number, BlockSummary>> {
    const blocks = new Map<number, BlockSummary>();
    const unknown: number[] = [];
    for (const { height } of rows) {
      if (height === null || blocks.has(height)) continue;
      const cached = this.#blocks.get(height);
      if (cached !== undefined) blocks.set(height, cached);
      else if (unknown.at(-1) !== height) unknown.push(height);
    }
    if (unknown.length === 0) return blocks;
    const found = await selectIn<Parameters<typeof toSummary>[0]>(
      this.#index.sql,
      'SELECT height, id, previous, timestamp FROM blocks WHERE height IN ({in})',
      [...new Set(unknown)],
    );
    for (const row of found) {
      const block = toSummary(row);
      blocks.set(row.height, block);
      // Blocks above can still be replaced by a fork.
      if (row.height <= this.#index.stableHeight) this.#blocks.set(row.height, block);
    }
    return blocks;
  }

  async #parentsOf(rows: readonly NodeRow[]): Promise<ReadonlyMap<number, { id: string }>> {
    const keys = new Set<number>();
    for (const { kind, parent } of rows) if (kind === DATA_ITEM && parent !== null) keys.add(parent);
    const found = await selectIn<{ record: number; id: Buffer }>(
      this.#index.sql,
      'SELECT record, id FROM records WHERE record IN ({in})',
      [...keys],
    );
    return new Map(found.map((row) => [row.record, { id: row.id.toString('base64url') }]));
  }

  async #signaturesOf(rows: readonly NodeRow[]): Promise<ReadonlyMap<number, string>> {
    const found = await selectIn<{ record: number; signature: Buffer }>(
      this.#index.sql,
      'SELECT record, signature FROM signatures WHERE record IN ({in})',
      rows.map((row) => row.record),
    );
    return new Map(found.map((row) => [row.record, row.signature.toString('base64url')]));
  }
}

/** An amount in winston and in AR with twelve decimals. */
export function amount(winston: string): AmountNode {
  if (winston === '0') return noAmount;
  const digits = winston.padStart(13, '0');
  return { winston, ar: `${digits.slice(0, -12)}.${digits.slice(-12)}` };
}
