/**
 * Leases of names that were bought here: their owners are told 30, 7 and 1 days before a lease ends, and when the days of
 * grace are over too. The chain is asked when the next of these days comes, so that a lease that was extended elsewhere is
 * known, and a name that was sold is told to whom it belongs now. Each step is told once: the row moves on in the
 * transaction that tells it, and only from where it stood.
 */
import { tellWallets } from '../../events/wallet-events.ts';
import { gracePeriodSeconds } from '../../formats/solana/name-prices.ts';
import type { Logger } from '../../kernel/log.ts';
import { isChainFailure } from '../../registry/errors.ts';
import type { NameRegistry } from '../../registry/name-registry.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { type Locks, LockTimeout } from '../locks.ts';
import { custodialPayer } from '../receipts.ts';

export interface LeaseDeps {
  readonly sql: Sql;
  readonly registry: Pick<NameRegistry, 'name' | 'ant'>;
  readonly locks: Locks;
  /** The service's own address: tokens that it has are kept for their buyers. */
  readonly service: string;
  readonly log: Logger;
  /** Unix milliseconds. */
  readonly now: () => number;
}

const dayMs = 86_400_000;
const graceMs = gracePeriodSeconds * 1_000;
/** Days before the end of a lease, in the order they come; each is a step, the last one is the end of grace. */
const daysBefore = [30, 7, 1] as const;
const lapsedStep = daysBefore.length + 1;
/** The shortest lease is a year: the chain has surely shown a purchase by then. */
const firstLookMs = dayMs;
const namesAtOnce = 100;
const lockWaitMs = 1_000;

interface WatchedRow {
  readonly name: string;
  readonly ant_id: string | null;
  readonly owner: string | null;
  readonly ends_at: number | null;
  readonly step: number;
  readonly look_at: number;
}

/** A name was bought here, or something for it. One that is bought again has another token than before. */
export async function watchLease(tx: SqlExecutor, name: string, isNew: boolean, now: number): Promise<void> {
  const anew = isNew ? 'step = 0, ant_id = NULL, owner = NULL, ends_at = NULL,' : '';
  await tx.run(
    `INSERT INTO arns_leases (name, step, look_at) VALUES (?, 0, ?)
     ON CONFLICT (name) DO UPDATE SET ${anew} look_at = excluded.look_at`,
    name,
    now + firstLookMs,
  );
}

/** Looks at every lease whose day has come; answers how many wallets were told. */
export async function tellLapsing(deps: LeaseDeps): Promise<number> {
  try {
    return await deps.locks.hold('leases', () => lookAtDue(deps), lockWaitMs);
  } catch (error) {
    if (error instanceof LockTimeout) return 0; // another process is at it
    throw error;
  }
}

async function lookAtDue(deps: LeaseDeps): Promise<number> {
  let told = 0;
  for (;;) {
    const due = await deps.sql.all<WatchedRow>(
      `SELECT name, ant_id, owner, ends_at, step, look_at FROM arns_leases WHERE look_at <= ?
       ORDER BY look_at, name LIMIT ?`,
      deps.now(),
      namesAtOnce,
    );
    for (const row of due) if (await look(deps, row)) told += 1;
    if (due.length < namesAtOnce) return told;
  }
}

async function look(deps: LeaseDeps, row: WatchedRow): Promise<boolean> {
  try {
    const seen = await leaseOnChain(deps, row);
    return await deps.sql.transaction((tx) => moveOn(tx, row, seen, deps.now()));
  } catch (error) {
    if (!isChainFailure(error)) throw error;
    deps.log.warn({ err: error, name: row.name }, 'the chain did not say when a lease ends');
    const again = deps.now() + dayMs / 24;
    await deps.sql.run(
      'UPDATE arns_leases SET look_at = ? WHERE name = ? AND look_at = ?',
      again,
      row.name,
      row.look_at,
    );
    return false;
  }
}

interface Lease {
  readonly antId: string;
  readonly owner: string | null;
  readonly endsAt: number;
}

/** The lease as it stands; as it last stood where the name is somebody else's by now; undefined where there is none. */
async function leaseOnChain(deps: LeaseDeps, row: WatchedRow): Promise<Lease | undefined> {
  const last =
    row.ant_id === null || row.ends_at === null
      ? undefined
      : { antId: row.ant_id, owner: row.owner, endsAt: row.ends_at };
  const { record } = await deps.registry.name(row.name);
  const isAnothers = record !== undefined && last !== undefined && record.ant !== last.antId;
  if (record === undefined || isAnothers) {
    return last !== undefined && deps.now() >= last.endsAt + graceMs ? last : undefined;
  }
  if (record.end === undefined) return undefined;
  const holder = (await deps.registry.ant(record.ant))?.owner;
  const owner = holder === deps.service ? await custodialPayer(deps.sql, record.ant) : holder;
  return { antId: record.ant, owner: owner ?? null, endsAt: record.end * 1_000 };
}

/** In one transaction with what is told; false where nothing was, or another process did. */
async function moveOn(
  tx: SqlExecutor,
  row: WatchedRow,
  lease: Lease | undefined,
  now: number,
): Promise<boolean> {
  const step = lease === undefined ? lapsedStep : stepAt(lease.endsAt, now);
  const where = 'WHERE name = ? AND look_at = ? AND step = ?';
  const moved =
    lease === undefined || step === lapsedStep
      ? await tx.run(`DELETE FROM arns_leases ${where}`, row.name, row.look_at, row.step)
      : await tx.run(
          `UPDATE arns_leases SET ant_id = ?, owner = ?, ends_at = ?, step = ?, look_at = ? ${where}`,
          lease.antId,
          lease.owner,
          lease.endsAt,
          step,
          nextLook(lease.endsAt, step),
          row.name,
          row.look_at,
          row.step,
        );
  const toldBefore = lease?.endsAt === row.ends_at ? row.step : 0;
  if (moved === 0 || lease === undefined || lease.owner === null || step <= toldBefore) return false;
  const data = {
    name: row.name,
    antId: lease.antId,
    endsAt: new Date(lease.endsAt).toISOString(),
    graceEndsAt: new Date(lease.endsAt + graceMs).toISOString(),
    ...(step < lapsedStep && { daysLeft: Math.max(0, Math.ceil((lease.endsAt - now) / dayMs)) }),
  };
  const type = step === lapsedStep ? 'name.lapsed' : 'name.lapsing';
  await tellWallets(tx, [{ type, wallet: lease.owner, data }], now);
  return true;
}

/** 0 before the first. Days that nobody looked on are passed over: only the newest is told. */
function stepAt(endsAt: number, now: number): number {
  if (now >= endsAt + graceMs) return lapsedStep;
  return daysBefore.filter((days) => now >= endsAt - days * dayMs).length;
}

function nextLook(endsAt: number, step: number): number {
  const days = daysBefore[step];
  return days === undefined ? endsAt + graceMs : endsAt - days * dayMs;
}
