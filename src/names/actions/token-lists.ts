/**
 * Room in users' lists of tokens, made before the transactions that need it. A list is made and extended by whoever
 * comes first, so reading it and adding what it lacks is done one at a time. Owners sign much later than their place was
 * chosen, so the places of the service's own list are kept for them until then.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { ChainUnavailable } from '../../registry/errors.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { type AclRoom, type ReservedPlaces, UserAcl } from '../chain/acl.ts';
import { deliver } from '../chain/delivery.ts';
import { signNow } from '../chain/plan.ts';
import { sponsorEmpty } from '../errors.ts';
import type { ActionContext } from './context.ts';

/** Held while a place of the service's own list is chosen and stored. */
export const serviceList = 'service list';

const mostTries = 4;
/** A node may not show yet what another has confirmed. */
const pauseMs = 150;

interface OpenRoom {
  readonly room: AclRoom;
  /** Whether the service had to pay for it now. */
  readonly made: boolean;
}

/** Room in the list of any user; made at the service's cost where there is none. */
export function openRoom(context: ActionContext, user: SolanaAddress): Promise<OpenRoom> {
  return context.locks.hold(`list ${user}`, () => ensureRoom(context, user, new Map()));
}

/**
 * Room in the service's own list. `store` writes down, behind the fence, who takes the place; until that transaction
 * is confirmed or dead nobody else is given it.
 */
export function reserveRoom<T>(context: ActionContext, store: (room: AclRoom) => Promise<T>): Promise<T> {
  return context.locks.hold(serviceList, async () => {
    const reserved = await reservedPlaces(context.sql);
    const { room } = await ensureRoom(context, context.key.address, reserved);
    return store(room);
  });
}

async function reservedPlaces(sql: SqlExecutor): Promise<ReservedPlaces> {
  const rows = await sql.all<{ list_page: number; n: number }>(
    `SELECT list_page, COUNT(*) AS n FROM (
       SELECT list_page FROM arns_action
        WHERE list_page IS NOT NULL AND status IN ('reserved', 'awaiting', 'signed')
       UNION ALL
       SELECT list_page FROM arns_purchase
        WHERE list_page IS NOT NULL AND stage = 'spawning' AND status = 'PENDING') AS places
     GROUP BY list_page`,
  );
  return new Map(rows.map(({ list_page, n }) => [BigInt(list_page), n]));
}

async function ensureRoom(
  context: ActionContext,
  user: SolanaAddress,
  reserved: ReservedPlaces,
): Promise<OpenRoom> {
  const { chain, settings, log } = context;
  const { programs, ant, service } = await context.builders();
  for (let tries = 0; ; tries += 1) {
    const room = (await UserAcl.read(chain, programs, user)).room(ant, service, reserved);
    if (room.prepare.length === 0) return { room, made: false };
    if (tries === mostTries) throw sponsorEmpty();
    const transaction = await signNow(context, { instructions: room.prepare });
    const delivery = await deliver(chain, transaction, settings);
    if (delivery.outcome === 'confirmed') return { room: { ...room, prepare: [] }, made: true };
    if (delivery.outcome === 'unknown')
      throw new ChainUnavailable(`it is not known whether the list of ${user} was extended`);
    // A process that lost the lock may have extended it meanwhile: the list is read again.
    log.warn({ user, delivery }, 'a list of tokens was not extended');
    await sleep(pauseMs);
  }
}
