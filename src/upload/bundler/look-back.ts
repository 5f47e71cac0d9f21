/**
 * After a restore: looks on the chain for bundles that the service's wallet has posted and that are not here. Items that wait
 * here and are in one of them are taken into it, and the bundle goes on from there like any other: it is judged until it is
 * permanent, or dropped and its items planned anew.
 *
 * The look is over when a gateway knows all blocks from the backup up to one in which nothing can be mined any more that was
 * signed before the restore. Of processes that share a database one looks at a time.
 */
import { randomUUID } from 'node:crypto';
import {
  type BundleHeader,
  bundleTags,
  measureBundleHeader,
  parseBundleHeader,
} from '../../formats/ans104/bundle-header.ts';
import type { Transaction } from '../../formats/arweave/transaction.ts';
import { parseTransactionJson, transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { ownerAddress, verifyTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import { encodeBase64url } from '../../formats/base64url.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import {
  indexedBlocks,
  listTransactions,
  type TransactionFilter,
} from '../../outside/arweave/list-transactions.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import { Lease, LostLease } from '../../storage/sql/lease.ts';
import { selectIn } from '../../storage/sql/many-rows.ts';
import type { Sql, SqlExecutor, SqlReader } from '../../storage/sql/sql.ts';
import { tellBundle } from '../items/notices.ts';
import { endRestore, findRestore, noteFirstLook, type Restore } from './after-restore.ts';
import { maxBackoffMs } from './bundle-rows.ts';
import { type BundleData, chunksOf, decided, placeOf, provenChunk } from './chain-chunks.ts';

export interface LookBackDeps {
  readonly sql: Sql;
  readonly nodes: ArweaveNodes;
  readonly log: Logger;
  readonly now: () => number;
  readonly pollMs: number;
  /** List transactions, which nodes do not. */
  readonly gatewayUrls: readonly string[];
  /** Of the service, with those from before. */
  readonly wallets: readonly string[];
  /** Blocks after which nothing is mined any more that was signed before. */
  readonly blocksToWait: number;
}

/** A look that others cut off is taken up by another process within this. */
const leaseMs = 60_000;
/** Nobody's items wait longer than this for gateways that do not answer, or are far behind. */
const longestLookMs = 6 * 3_600_000;
const stuckAfterMs = 2 * 3_600_000;
/** The list of a bundle of 250,000 items, more than anybody bundles. */
const maxListBytes = 16 * 1024 * 1024;

export class LookBack {
  readonly #deps: LookBackDeps;
  readonly #lease: Lease;
  /** Bundles none of whose items was ever here. */
  readonly #foreign = new Set<string>();
  #looks = 0;
  #isStopping = false;
  readonly #task = new WakeableTask({
    name: 'look for bundles of before the restore',
    stuckAfterMs,
    run: () => this.turn(),
    failed: (error, failures) => {
      if (!(error instanceof LostLease))
        this.#deps.log.warn({ err: error }, 'bundles of before the restore could not be looked for');
      return this.#pauseMs(failures);
    },
  });

  constructor(deps: LookBackDeps) {
    this.#deps = deps;
    this.#lease = new Lease(deps.sql, { table: 'upload_leases', name: 'look-back', leaseMs });
  }

  start(): void {
    this.#task.start();
  }

  async stop(): Promise<void> {
    this.#isStopping = true;
    await this.#task.stop();
    await this.#lease.release().catch(() => {});
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  async problems(): Promise<readonly string[]> {
    if (this.#task.failures === 0 || (await findRestore(this.#deps.sql)) === undefined) return [];
    return [
      'Bundles that were posted between the backup and the restore cannot be looked for: what waited then is not bundled yet.',
    ];
  }

  #pauseMs(times: number): number {
    return backoffMs({ firstMs: this.#deps.pollMs, longestMs: maxBackoffMs }, times);
  }

  /** One look; answers after how many milliseconds another follows, undefined where none does. */
  async turn(): Promise<number | undefined> {
    const restore = await findRestore(this.#deps.sql);
    if (restore === undefined) return undefined;
    const isOver = (await this.#lease.renew()) && (await this.#look(restore));
    if (isOver) return undefined;
    this.#looks += 1;
    return this.#pauseMs(this.#looks);
  }

  /** True when it was the last look. */
  async #look(restore: Restore): Promise<boolean> {
    const { now, nodes, blocksToWait, log } = this.#deps;
    const top = await nodes.height();
    const first = await this.#firstHeight(restore, top);
    // By the chain as well: a clock that is ahead makes nothing late.
    const isLate = now() - restore.restoredAt > longestLookMs && top >= first + blocksToWait;
    let seen: Seen;
    try {
      seen = await this.#lookAtAll(restore.since, first + blocksToWait);
    } catch (error) {
      if (!isLate || this.#isStopping || error instanceof LostLease) throw error;
      log.error(
        { err: error },
        'bundles of before the restore were not found in time: what waits is bundled, perhaps once more',
      );
      await this.#end();
      return true;
    }
    if (!isLate && !(seen.isComplete && seen.pending.length === 0)) return false;
    for (const tx of [...seen.pending, ...seen.unread])
      log.error(
        { tx },
        'a bundle of before the restore cannot be read: items of it that wait are bundled anew',
      );
    if (!seen.isComplete)
      log.error('no gateway knows all blocks since the backup: what waits is bundled, perhaps once more');
    await this.#end();
    log.info(
      { looks: this.#looks + 1 },
      'bundles of before the restore were looked for: what waits is bundled',
    );
    return true;
  }

  /** Of the chain at the first look; noted anew where a node had said far more than there is. */
  async #firstHeight({ height: noted }: Restore, top: number): Promise<number> {
    if (noted !== undefined && noted <= top + this.#deps.blocksToWait) return noted;
    await this.#lease.fenced.transaction((tx) => noteFirstLook(tx, top));
    return top;
  }

  #end(): Promise<number> {
    return this.#lease.fenced.transaction(endRestore);
  }

  /**
   * At what gateways list since a moment; complete where one knows all blocks up to that height. Throws where none lists, or it
   * could not be found out whose items a bundle has.
   */
  async #lookAtAll(since: number, height: number): Promise<Seen> {
    const { gatewayUrls } = this.#deps;
    const ids = new Set<string>();
    const failures: unknown[] = [];
    let isComplete = false;
    for (const url of gatewayUrls) {
      try {
        // First: what is listed then is of these blocks, and of later ones.
        const blocks = await indexedBlocks(url);
        for await (const { id } of listTransactions(url, this.#filter, since)) ids.add(id);
        isComplete ||= blocks.height >= height && blocks.since <= since;
      } catch (error) {
        failures.push(error);
      }
    }
    if (failures.length === gatewayUrls.length)
      throw new AggregateError(failures, 'no gateway lists bundles', { cause: failures[0] });
    return { isComplete, ...(await this.#takeAll(ids)) };
  }

  get #filter(): TransactionFilter {
    const [format] = bundleTags;
    return { owners: this.#deps.wallets, tags: [{ name: format.name, values: [format.value] }] };
  }

  /** Answers those that are not taken. One that fails holds up no other. */
  async #takeAll(ids: ReadonlySet<string>): Promise<Pick<Seen, 'pending' | 'unread'>> {
    const [pending, unread]: [string[], string[]] = [[], []];
    const failures: unknown[] = [];
    for (const id of ids) {
      if (this.#isStopping) throw new Error('the service stops');
      if (!(await this.#lease.hold())) throw new LostLease('another process looks back');
      try {
        const outcome = await this.#take(id);
        if (outcome === 'unread') unread.push(id);
        if (outcome === 'pending') pending.push(id);
      } catch (error) {
        if (error instanceof LostLease) throw error;
        failures.push(error);
      }
    }
    if (failures.length > 0)
      throw new AggregateError(failures, 'not all bundles could be read', {
        cause: failures[0],
      });
    return { pending, unread };
  }

  /** Takes the items that wait here into their bundle, where it is mined and the chain gives its list. */
  async #take(id: string): Promise<'done' | 'pending' | 'unread'> {
    const { sql, nodes, wallets, now, log } = this.#deps;
    if (this.#foreign.has(id) || (await hasBundle(sql, id))) return 'done';
    const status = decided(await nodes.txStatus(id));
    if (status.state === 'absent') return 'unread';
    if (status.value.state === 'pending') return 'pending';
    const transaction = await readTransaction(nodes, id);
    if (transaction === undefined) return 'unread';
    if (!(await isOurs(transaction, id, wallets))) {
      this.#foreign.add(id);
      return 'done';
    }
    const list = await readList(nodes, {
      txId: id,
      size: transaction.dataSize,
      root: transaction.dataRoot,
    });
    if (list === 'unread') return 'unread';
    const entries = list === 'no list' ? [] : entriesOf(list);
    const known = await selectIn<WaitingItem>(
      sql,
      'SELECT id, size, state FROM upload_items WHERE id IN ({in})',
      entries.map((entry) => entry.id),
    );
    if (known.length === 0) {
      this.#foreign.add(id);
      return 'done';
    }
    const sizes = new Map(known.flatMap((item) => (item.state === 'new' ? [[item.id, item.size]] : [])));
    const waiting = entries.filter((entry) => sizes.get(entry.id) === entry.size);
    if (waiting.length === 0) return 'done';
    const found: FoundBundle = {
      transaction,
      txId: id,
      blockHeight: status.value.blockHeight,
      items: waiting,
      count: entries.length,
    };
    const items = await this.#lease.fenced.transaction((tx) => insertFound(tx, found, now()));
    log.info(
      { tx: id, items, others: entries.length - items },
      'items that waited are in a bundle on the chain',
    );
    return 'done';
  }
}

interface Seen {
  /** A gateway knows all blocks that count. */
  readonly isComplete: boolean;
  /** Bundles that are not mined yet. */
  readonly pending: readonly string[];
  readonly unread: readonly string[];
}

interface WaitingItem {
  readonly id: string;
  readonly size: number;
  readonly state: string;
}

interface ListedItem {
  readonly id: string;
  readonly size: number;
  readonly position: number;
  readonly offset: number;
}

interface FoundBundle {
  readonly transaction: Transaction;
  readonly txId: string;
  readonly blockHeight: number;
  /** Those that wait here. */
  readonly items: readonly ListedItem[];
  /** Of the whole bundle. */
  readonly count: number;
}

const hasBundle = async (sql: SqlReader, txId: string): Promise<boolean> =>
  (await sql.get('SELECT 1 AS one FROM upload_bundles WHERE tx_id = ?', txId)) !== undefined;

/** Undefined where no node has its header. */
async function readTransaction(nodes: ArweaveNodes, id: string): Promise<Transaction | undefined> {
  const answer = decided(await nodes.transaction(id));
  return answer.state === 'absent' ? undefined : parseTransactionJson(answer.value.header);
}

/** Whoever lists it may say anything: its signature tells whose it is, and what its data is. */
async function isOurs(transaction: Transaction, id: string, wallets: readonly string[]): Promise<boolean> {
  const owner = ownerAddress(transaction);
  return (
    owner !== undefined &&
    wallets.includes(encodeBase64url(owner)) &&
    encodeBase64url(transaction.id) === id &&
    transaction.format === 2 &&
    (await verifyTransactionAsync(transaction))
  );
}

/** Reads the list at the start of a bundle, each chunk of it proven. */
async function readList(nodes: ArweaveNodes, data: BundleData): Promise<BundleHeader | 'unread' | 'no list'> {
  const place = await placeOf(nodes, data);
  if (place === undefined) return 'unread';
  let bytes: Buffer = Buffer.alloc(0);
  for (const range of chunksOf(data.size)) {
    const answer = decided(await provenChunk(nodes, data, place, range));
    if (answer.state === 'absent') return 'unread';
    bytes = Buffer.concat([bytes, answer.value.chunk]);
    const length = measureBundleHeader(bytes, data.size);
    if (typeof length === 'string' || length > maxListBytes) return 'no list';
    if (length <= bytes.length) break;
  }
  const list = parseBundleHeader(bytes, data.size);
  return typeof list === 'string' ? 'no list' : list;
}

const entriesOf = (list: BundleHeader): ListedItem[] =>
  Array.from(list.sizes, (size, position) => ({
    ...{ id: list.id(position), size, position },
    offset: list.offsets[position] ?? 0,
  }));

/**
 * As if it had been made here and its chunks given; answers how many items it took. Its anchor is older than its block, so
 * that it counts as lost later rather than sooner.
 */
async function insertFound(tx: SqlExecutor, found: FoundBundle, now: number): Promise<number> {
  const { transaction, txId, blockHeight, count } = found;
  if (await hasBundle(tx, txId)) return 0;
  const plan = randomUUID();
  let items = 0;
  for (const { id, position, offset } of found.items) {
    items += await tx.run(
      `UPDATE upload_items SET state = 'planned', bundle = ?, position = ?, bundle_offset = ?
       WHERE id = ? AND state = 'new'`,
      plan,
      position,
      offset,
      id,
    );
  }
  if (items === 0) return 0;
  await tx.run(
    `INSERT INTO upload_bundles (plan, state, item_count, others, size, tx_id, told_tx_id, tx, anchor_height,
       posted_at, seeded_at, seedings, attempts, due_at, created_at, changed_at)
     VALUES (?, 'seeded', ?, ?, ?, ?, ?, ?, ?, ?, ?, 0, 0, ?, ?, ?)`,
    plan,
    items,
    count - items,
    transaction.dataSize,
    txId,
    txId,
    JSON.stringify(transactionToJson(transaction, 'header')),
    blockHeight,
    now,
    now,
    now,
    now,
    now,
  );
  await tellBundle(tx, 'upload.bundled', plan, { bundle: txId }, now);
  return items;
}
