/** Transactions of the four purchases: making a token, and what the registry is paid for. */
import { antAddresses } from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import { antProgramTrait } from '../../formats/solana/core-asset.ts';
import { createAsset } from '../../formats/solana/core-instructions.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { defaultLogo } from '../../formats/solana/name-rules.ts';
import { transferLamports } from '../../formats/solana/system.ts';
import { aclEntryRent, openingRent } from '../prices/lamports.ts';
import type { AntOpening, Purchase } from '../requests/action.ts';
import type { AclRoom } from './acl.ts';
import type { Builders, Plan } from './plan.ts';
import type { SolanaKey } from './service-key.ts';

export interface Spawn {
  readonly name: string;
  readonly asset: SolanaKey;
  readonly owner: SolanaAddress;
  readonly opening: AntOpening;
  readonly defaultTarget: string;
}

/** Rent of the three accounts that the owner, who calls `initialize`, pays for. */
const ownRent = openingRent - aclEntryRent;

/** Where the lists take the new token's entries; what is still to be prepared for the owner is done in the same transaction. */
interface SpawnRooms {
  readonly owner: AclRoom;
  /** Of the service's own list, which is ready. */
  readonly service: AclRoom;
}

/**
 * The sponsored mint that the owner signs: the service lends the rent to the lamport, pays for the asset, writes the
 * token into the owner's list, and the owner names the service a controller.
 */
export function spawnPlan(build: Builders, spawn: Spawn, rooms: SpawnRooms): Plan {
  const { ant, service } = build;
  const { asset, owner } = spawn;
  return {
    owner,
    keys: [asset],
    instructions: [
      ...rooms.owner.prepare,
      transferLamports(service, owner, ownRent + rooms.service.growth),
      assetInstruction(build, spawn),
      ant.initialize(asset.address, owner, openingArguments(spawn)),
      ant.aclEntry('recordAclOwner', asset.address, rooms.owner.place, service),
      ant.aclEntry('recordAclController', asset.address, rooms.owner.place, service),
      ant.addController(asset.address, owner, rooms.service.place),
    ],
  };
}

/** A token the service holds itself, for a buyer who has no Solana wallet (yet). `room`: of its own list, which is ready. */
export function custodialSpawnPlan(build: Builders, spawn: Omit<Spawn, 'owner'>, room: AclRoom): Plan {
  const { ant, service } = build;
  const own = { ...spawn, owner: service };
  return {
    keys: [spawn.asset],
    instructions: [
      assetInstruction(build, own),
      ant.initialize(spawn.asset.address, service, openingArguments(own)),
      ant.aclEntry('recordAclOwner', spawn.asset.address, room.place, service),
    ],
  };
}

/** What the registry is paid for; anybody may, so the service alone signs. */
export function registryPlan(build: Builders, purchase: Purchase, ant: SolanaAddress | null): Plan {
  return { instructions: [registryInstruction(build, purchase, ant)] };
}

function registryInstruction(
  { arns, service }: Builders,
  purchase: Purchase,
  ant: SolanaAddress | null,
): Instruction {
  switch (purchase.action) {
    case 'buy-name': {
      // The program takes any address: a name bound to none could never be managed.
      if (ant === null) throw new Error('a name is bought for a token');
      const { name, type, years } = purchase;
      return arns.buyName(service, { name, type, years, ant });
    }
    case 'extend-lease':
      return arns.extendLease(service, purchase.name, purchase.years);
    case 'upgrade-name':
      return arns.upgradeName(service, purchase.name);
    case 'increase-undername-limit':
      return arns.increaseUndernameLimit(service, purchase.name, purchase.quantity);
  }
}

/** Writes name, type and limit into the token's traits, where marketplaces look. */
export function traitsPlan(build: Builders, asset: SolanaAddress, name: string): Plan {
  return { instructions: [build.ant.syncAttributes(asset, build.service, name)] };
}

function assetInstruction(
  { programs, service }: Builders,
  { asset, owner, name, opening }: Spawn,
): Instruction {
  return createAsset({
    asset: asset.address,
    payer: service,
    owner,
    updateAuthority: antAddresses(programs.ant).authority(asset.address).address,
    name,
    uri: `ar://${opening.logo ?? defaultLogo}`,
    traits: [{ key: antProgramTrait, value: programs.ant }],
  });
}

function openingArguments({ name, opening, defaultTarget }: Spawn) {
  return {
    name,
    ticker: opening.ticker,
    target: opening.transactionId ?? defaultTarget,
    protocol: opening.targetProtocol,
    logo: opening.logo ?? '',
    description: opening.description ?? '',
    keywords: [...(opening.keywords ?? [])],
  };
}
