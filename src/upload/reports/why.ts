/** How far an item or a bundle is on its way to the chain, and what it waits for: in words, from the facts. */
import type { BundleReport, ItemStep } from '../../formats/admin-answers.ts';
import type { BundleRow } from '../bundler/bundle-rows.ts';
import type { StoredItem } from '../items/item-rows.ts';

/** Tries in a row after which somebody should look. */
export const worryingTries = 3;
/** Longer than a bundle takes on any chain that gets on. */
export const worryingAgeMs = 3 * 3_600_000;

export interface Circumstances {
  readonly now: number;
  /** How long the oldest item waits for its bundle to fill. */
  readonly maxWaitMs: number;
  readonly confirmations: number;
  /** Of the chain; undefined while no node says it. */
  readonly height: number | undefined;
}

interface WaitingGateway {
  readonly host: string;
  readonly lastError: string | null;
}

/** Of an item, beside its row. */
export interface ItemFacts {
  readonly item: Pick<StoredItem, 'state' | 'receivedAt' | 'deadlineHeight' | 'failedReason'>;
  readonly failures: number;
  readonly misses: number;
  /** When it is tried again, where its bytes were not found. */
  readonly notBefore: number | null;
  readonly permanentAt: number | null;
  /** It waited at a restore, and bundles of before are still looked for. */
  readonly isHeldBack: boolean;
  readonly bundle: BundleReport | null;
  /** The gateways that were not told of it; undefined where none is told of items. */
  readonly announcement: { readonly waiting: readonly WaitingGateway[] } | undefined;
}

type BundleFacts = Pick<
  BundleRow,
  | 'plan'
  | 'state'
  | 'tx_id'
  | 'item_count'
  | 'attempts'
  | 'unreadable'
  | 'last_error'
  | 'due_at'
  | 'created_at'
  | 'posted_at'
  | 'changed_at'
  | 'block_height'
  | 'confirmations'
  | 'damage'
  | 'mend_tries'
  | 'look_at'
>;

export function isStuck(bundle: BundleFacts, now: number): boolean {
  const hasEnded = bundle.state === 'permanent' || bundle.state === 'dropped';
  const isTried = bundle.attempts >= worryingTries || bundle.unreadable >= worryingTries;
  return !hasEnded && (isTried || now - bundle.created_at >= worryingAgeMs);
}

export function whyBundle(bundle: BundleFacts, { now, confirmations: needed }: Circumstances): string {
  const name = bundle.tx_id === null ? `Bundle ${bundle.plan}` : `Bundle ${bundle.tx_id}`;
  const items = bundle.item_count === 1 ? '1 item' : `${bundle.item_count} items`;
  switch (bundle.state) {
    case 'planned':
      return `${name} of ${items} is closed, and its transaction is not made yet${tries(bundle, now)}.`;
    case 'prepared':
      return `${name} is signed, and no node has taken its transaction yet${tries(bundle, now)}.`;
    case 'posted':
      return bundle.unreadable > 0
        ? `${name} is mined, but not all of its chunks can be read back: they are given to the network again${tries(bundle, now)}.`
        : `${name} is posted, and its chunks are being given to the network${tries(bundle, now)}.`;
    case 'seeded':
      return bundle.confirmations === null
        ? `${name} was posted at ${clock(bundle.posted_at ?? bundle.created_at, now)} and waits to be mined${tries(bundle, now)}.`
        : `${name} is mined at height ${bundle.block_height}, with ${bundle.confirmations} of ${needed} confirmations${tries(bundle, now)}.`;
    case 'permanent':
      return `${name} is permanent since ${clock(bundle.changed_at, now)}, in the block at height ${bundle.block_height}.${damageOf(bundle, now)}`;
    case 'dropped':
      return `${name} was dropped by the chain at ${clock(bundle.changed_at, now)}; its items go into another.`;
  }
}

function damageOf({ damage, mend_tries, look_at }: BundleFacts, now: number): string {
  if (damage === null) return '';
  const tried = mend_tries <= 1 ? 'once' : `${mend_tries} times`;
  const next = look_at === null ? '' : `; the next look is at ${clock(look_at, now)}`;
  return ` It is damaged: ${damage}. Mending was tried ${tried}${next}.`;
}

/** Nothing where nothing failed since its state last changed. */
function tries({ attempts, last_error, due_at }: BundleFacts, now: number): string {
  if (attempts === 0) return '';
  const times = attempts === 1 ? 'once' : `${attempts} times`;
  return `: tried ${times} in vain, last error "${last_error ?? 'not known'}", next try at ${clock(due_at, now)}`;
}

const failedBecause: Readonly<Record<string, string>> = {
  too_many_failures: 'the chain dropped every bundle that it was in',
  missing_from_object_store: 'its bytes are lost from the store',
};

export function whyItem(facts: ItemFacts, circumstances: Circumstances): string {
  return [main(facts, circumstances), late(facts, circumstances), untold(facts, circumstances)]
    .filter((sentence) => sentence !== '')
    .join(' ');
}

function main(facts: ItemFacts, { now, maxWaitMs }: Circumstances): string {
  const { item, bundle, failures, misses, notBefore, permanentAt } = facts;
  if (item.state === 'failed') {
    const because = failedBecause[item.failedReason ?? ''] ?? item.failedReason ?? 'of an unknown reason';
    return `Not stored, and paid back because ${because}; it may be uploaded again.`;
  }
  if (item.state === 'permanent') {
    const where = bundle === null ? '' : `, in the block at height ${bundle.blockHeight}`;
    return `Permanent since ${clock(permanentAt ?? now, now)}${where}.`;
  }
  if (item.state === 'planned') {
    const unread = misses === 0 ? '' : ` Its own bytes were not found ${times(misses)}.`;
    return `${bundle?.why ?? 'It is in a bundle that is not known any more.'}${unread}`;
  }
  if (misses > 0) {
    const next = notBefore !== null && notBefore > now ? ` at ${clock(notBefore, now)}` : '';
    return `Its bytes were not found, or not those that were uploaded, ${times(misses)}: it is tried again${next}.`;
  }
  if (facts.isHeldBack)
    return 'Waits until it is known whether a bundle of before the restore has it: it would be paid for twice.';
  const dropped = failures === 0 ? '' : ` (the chain dropped ${failures === 1 ? 'one' : failures} before)`;
  const until = item.receivedAt + maxWaitMs;
  return until > now
    ? `Waits for its bundle to fill${dropped}, until ${clock(until, now)} at the latest.`
    : `Waits for the bundler${dropped}: its bundle should have been closed at ${clock(until, now)}.`;
}

const times = (count: number): string => (count === 1 ? 'once' : `${count} times in a row`);

function late({ item, bundle }: ItemFacts, { height }: Circumstances): string {
  const isUnderWay = item.state === 'new' || (item.state === 'planned' && bundle?.blockHeight == null);
  if (!isUnderWay || height === undefined || height <= item.deadlineHeight) return '';
  return `Its receipt promised a block by height ${item.deadlineHeight}, and the chain is at ${height}.`;
}

/** An item is announced within a second or so. */
const soonMs = 5_000;
const mostNamed = 3;

function untold({ announcement, item }: ItemFacts, { now }: Circumstances): string {
  const waiting = announcement?.waiting ?? [];
  if (waiting.length === 0 || now - item.receivedAt < soonMs) return '';
  const whom = waiting.map(({ host, lastError }) => (lastError === null ? host : `${host} (${lastError})`));
  return `Not told of it yet: ${whom.slice(0, mostNamed).join(', ')}${whom.length > mostNamed ? ' and others' : ''}.`;
}

/** The way of an item, step by step. */
export function stepsOf(facts: ItemFacts): ItemStep[] {
  const { item, bundle, announcement, permanentAt } = facts;
  const reached = stageOf(facts);
  const step = (
    id: ItemStep['id'],
    index: number,
    at: number | null,
    note: string | null = null,
  ): ItemStep => ({
    id,
    state: reached > index ? 'done' : reached === index ? nowOf(item.state) : 'waiting',
    at: reached > index ? at : null,
    note,
  });
  const isTold = announcement === undefined ? item.state === 'permanent' : announcement.waiting.length === 0;
  const depth =
    bundle?.confirmations == null
      ? null
      : `${bundle.confirmations} of ${bundle.confirmationsNeeded} confirmations`;
  return [
    step('received', 0, item.receivedAt),
    {
      id: 'announced',
      state: isTold ? 'done' : 'waiting',
      at: null,
      note: announcementNote(announcement),
    },
    step(
      'bundled',
      1,
      bundle?.createdAt ?? null,
      bundle === null ? null : bundle.items === 1 ? '1 item' : `${bundle.items} items`,
    ),
    step('posted', 2, bundle?.postedAt ?? null, reached === 2 ? (bundle?.lastError ?? null) : null),
    step('seeded', 3, bundle?.seededAt ?? null, reached === 3 ? (bundle?.lastError ?? null) : null),
    step('mined', 4, null, bundle?.blockHeight == null ? null : `height ${bundle.blockHeight}`),
    step('permanent', 5, permanentAt, depth),
  ];
}

function announcementNote(announcement: ItemFacts['announcement']): string | null {
  if (announcement === undefined) return 'no gateway is told';
  const hosts = announcement.waiting.map(({ host }) => host).slice(0, mostNamed);
  return hosts.length === 0 ? null : `not yet: ${hosts.join(', ')}`;
}

const nowOf = (state: StoredItem['state']): ItemStep['state'] => (state === 'failed' ? 'failed' : 'now');

/** The step that is under way: 1 waits for a bundle, 6 is past the last. */
function stageOf({ item, bundle }: ItemFacts): number {
  if (item.state === 'permanent') return 6;
  if (item.state !== 'planned' || bundle === null) return 1;
  const stages = { planned: 2, prepared: 2, posted: 3, seeded: 4, permanent: 6, dropped: 1 };
  return bundle.state === 'seeded' && bundle.confirmations !== null ? 5 : stages[bundle.state];
}

/** `12:03 UTC`, with the day where that is another. */
function clock(at: number, now: number): string {
  const [day = '', time = ''] = new Date(at).toISOString().split('T');
  const isToday = new Date(now).toISOString().startsWith(day);
  return `${isToday ? '' : `${day} `}${time.slice(0, 5)} UTC`;
}
