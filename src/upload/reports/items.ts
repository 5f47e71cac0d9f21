/** Items for operators: lists, and all that is known of one. */
import { type Static, Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import type { ItemReport, ItemSummary } from '../../formats/admin-answers.ts';
import { type Page, type PageRequest, pageOf } from '../../kernel/admin/paging.ts';
import { selection } from '../../storage/sql/columns.ts';
import type { Row, Sql, SqlValue } from '../../storage/sql/sql.ts';
import {
  amountText,
  flag,
  integerOrNull,
  readInteger,
  rowReader,
  textOrNull,
} from '../../storage/sql/typed-rows.ts';
import type { Announcer } from '../announcer/announcer.ts';
import { waitingGateways } from '../announcer/waiting-announcements.ts';
import { findRestore } from '../bundler/after-restore.ts';
import { findItem } from '../items/item-rows.ts';
import { reportBundle } from './bundles.ts';
import { type Circumstances, type ItemFacts, stepsOf, whyItem } from './why.ts';

const lists = ['new', 'planned', 'failed'] as const;
export type ItemList = (typeof lists)[number];
export const isItemList = (text: string): text is ItemList => lists.some((list) => list === text);

const storedSummary = Type.Object({
  id: Type.String(),
  state: Type.Enum(['new', 'planned', 'permanent', 'failed']),
  signer: Type.String(),
  size: Type.Integer(),
  contentType: Type.String(),
  winc: amountText,
  receivedAt: Type.Integer(),
  bundle: textOrNull,
  position: integerOrNull,
  failures: Type.Integer(),
  failedReason: textOrNull,
  announceAt: integerOrNull,
  waits: flag,
});
const readSummary = rowReader('an uploaded item', storedSummary);
const columns = selection(Object.keys(storedSummary.properties).filter((name) => name !== 'waits'));
const waits = `CASE WHEN EXISTS (SELECT 1 FROM upload_announcements a WHERE a.id = upload_items.id) THEN 1 ELSE 0 END`;

type Summary = Static<typeof storedSummary>;

const byTime = (row: Summary) => ({ at: row.receivedAt, id: row.id });

/** Those that wait: the oldest first. Those that failed: the newest first. Those in bundles: bundle by bundle. */
export async function listItems(sql: Sql, list: ItemList, page: PageRequest): Promise<Page<ItemSummary>> {
  const rows = await selectItems(sql, list, page);
  const cursorOf =
    list === 'planned' ? (row: Summary) => ({ at: row.position ?? 0, id: row.bundle ?? '' }) : byTime;
  return summaries(pageOf(rows, page.limit, cursorOf));
}

async function selectItems(sql: Sql, list: ItemList, { before, limit }: PageRequest): Promise<Summary[]> {
  const select = (rest: string, ...values: SqlValue[]) => read(sql, rest, [...values, limit + 1]);
  if (list === 'new') {
    const after = before ?? { at: 0, id: '' };
    return select(
      "state = 'new' AND (received_at, id) > (?, ?) ORDER BY received_at, id",
      after.at,
      after.id,
    );
  }
  if (list === 'failed') {
    const { at, id } = before ?? { at: Number.MAX_SAFE_INTEGER, id: '' };
    return select(
      "state = 'failed' AND (received_at, id) < (?, ?) ORDER BY received_at DESC, id DESC",
      at,
      id,
    );
  }
  // By the index of bundles: items that are permanent are by far the most.
  const after = before ?? { at: -1, id: '' };
  return select(
    `bundle IN (SELECT plan FROM upload_bundles WHERE state <> 'permanent' AND state <> 'dropped')
     AND (bundle, position) > (?, ?) ORDER BY bundle, position`,
    after.id,
    after.at,
  );
}

/** In the order of the bundle. */
export async function itemsOfBundle(
  sql: Sql,
  plan: string,
  { before, limit }: PageRequest,
): Promise<Page<ItemSummary>> {
  const rows = await read(sql, 'bundle = ? AND position > ? ORDER BY bundle, position', [
    plan,
    before?.at ?? -1,
    limit + 1,
  ]);
  return summaries(pageOf(rows, limit, (row) => ({ at: row.position ?? 0, id: '' })));
}

async function read(sql: Sql, rest: string, values: readonly SqlValue[]): Promise<Summary[]> {
  const rows = await sql.all<Row>(
    `SELECT ${columns}, ${waits} AS waits FROM upload_items WHERE ${rest} LIMIT ?`,
    ...values,
  );
  return rows.map(readSummary);
}

const summaries = (page: Page<Summary>): Page<ItemSummary> => ({ ...page, items: page.items.map(summaryOf) });

const summaryOf = ({ size, position: _position, announceAt, waits, ...row }: Summary): ItemSummary => ({
  ...row,
  bytes: size,
  announced: announceAt === null && waits === 0,
});

export interface ItemDeps {
  readonly sql: Sql;
  readonly credits: Pick<Credits, 'spending'>;
  readonly isBlocked: (id: string) => boolean;
  /** Undefined where no gateway is told of items. */
  readonly announcer: Pick<Announcer, 'gateways' | 'toldOf'> | undefined;
}

const readRest = rowReader(
  'an uploaded item',
  Type.Object({
    failures: Type.Integer(),
    misses: Type.Integer(),
    notBefore: integerOrNull,
    permanentAt: integerOrNull,
    announceAt: integerOrNull,
  }),
);

/** Undefined where there is no such item here. */
export async function reportItem(
  deps: ItemDeps,
  id: string,
  circumstances: Circumstances,
): Promise<ItemReport | undefined> {
  const { sql } = deps;
  const item = await findItem(sql, id);
  const row = await sql.get(
    `SELECT ${selection(['failures', 'misses', 'notBefore', 'permanentAt', 'announceAt'])} FROM upload_items WHERE id = ?`,
    id,
  );
  if (item === undefined || row === undefined) return undefined;
  const { failures, misses, notBefore, permanentAt, announceAt } = readRest(row);
  const bundle =
    item.bundle === null ? null : ((await reportBundle(sql, item.bundle, circumstances)) ?? null);
  const restore = await findRestore(sql);
  const gateways = deps.announcer?.gateways ?? [];
  const numbers = await waitingGateways(sql, id);
  const waiting = gateways.filter(({ number }) => announceAt !== null || numbers.includes(number));
  const facts: ItemFacts = {
    ...{ item, failures, misses, notBefore, permanentAt, bundle },
    isHeldBack: restore !== undefined && item.receivedAt <= restore.newestAt,
    announcement: deps.announcer && {
      waiting: waiting.map(({ host, status }) => ({ host, lastError: status.lastError })),
    },
  };
  return {
    id,
    state: item.state,
    signer: item.signer,
    bytes: item.size,
    contentType: item.contentType,
    winc: item.winc.toString(),
    receivedAt: item.receivedAt,
    bundle: item.bundle,
    failures,
    failedReason: item.failedReason,
    announced: waiting.length === 0,
    owner: item.owner,
    signatureType: item.signatureType,
    payloadBytes: item.size - item.payloadStart,
    deadlineHeight: item.deadlineHeight,
    paid: await paymentOf(deps, id, item.answer),
    inBundle: bundle,
    bundleOffset: item.bundleOffset,
    held: item.held,
    permanentAt,
    misses,
    blocked: deps.isBlocked(id),
    toldTo: deps.announcer?.toldOf(item.told).map(({ host }) => host) ?? [],
    waitingFor: waiting.map(({ host }) => host),
    steps: stepsOf(facts),
    why: whyItem(facts, circumstances),
  };
}

async function paymentOf(
  { credits }: ItemDeps,
  id: string,
  answer: Readonly<Record<string, unknown>>,
): Promise<ItemReport['paid']> {
  const spending = await credits.spending('upload', id);
  if (spending === undefined) return { how: 'free', winc: '0', shares: [] };
  const how = 'x402Payment' in answer ? 'x402' : 'credits';
  return {
    how: spending.state === 'refunded' ? 'given back' : how,
    winc: spending.amount.toString(),
    shares: spending.split.map(({ payer, amount, approvalId = null }) => ({
      payer,
      winc: amount.toString(),
      approval: approvalId,
    })),
  };
}

export async function countItems(sql: Sql) {
  const count = async (where: string): Promise<number> => {
    const row = await sql.get(`SELECT COUNT(*) AS n FROM ${where}`);
    return readInteger(row?.n);
  };
  return {
    waiting: await count("upload_items WHERE state = 'new'"),
    failed: await count("upload_items WHERE state = 'failed'"),
    unannounced:
      (await count('upload_items WHERE announce_at IS NOT NULL')) + (await count('upload_announcements')),
    sessions: await count("upload_sessions WHERE state IN ('open', 'finalizing', 'UNDERFUNDED')"),
  };
}
