/**
 * Transactions on an existing token. Where the service is a controller it acts alone; else the owner signs, and is
 * given the rent of what is made and gives back the rent of what is closed, to the lamport.
 */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { type AntRecordMetadata, antRecord, antRecordMetadata } from '../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../formats/solana/address.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { protocolArweave } from '../../formats/solana/name-rules.ts';
import { rentExemptMinimum } from '../../formats/solana/programs.ts';
import { transferLamports } from '../../formats/solana/system.ts';
import type { AntRecordState, AntState } from '../../registry/name-registry.ts';
import type { MetadataChange, RecordRequest } from '../requests/action.ts';
import type { UserAcl } from './acl.ts';
import type { Builders, Plan } from './plan.ts';

/** Whether the service may write the token's records now. */
function serviceActs(ant: AntState, service: SolanaAddress): boolean {
  return ant.owner === service || ant.controllers.includes(service);
}

export function recordPlan(build: Builders, request: RecordRequest, state: AntRecordState): Plan {
  const alone = serviceActs(state.ant, build.service);
  const caller = alone ? build.service : state.ant.owner;
  const { made, closed } = rentOf(request, state);
  const instructions = [recordInstruction(build, request, state, caller)];
  if (alone) return { instructions };
  const [lent, givenBack] = [payRent(build.service, caller, made), payRent(caller, build.service, closed)];
  return { owner: caller, instructions: [...lent, ...instructions, ...givenBack] };
}

function recordInstruction(
  { ant }: Builders,
  request: RecordRequest,
  { ant: { asset, owner }, record, metadata }: AntRecordState,
  caller: SolanaAddress,
): Instruction {
  const undername = asciiLowerCase(request.undername);
  switch (request.action) {
    case 'set-record':
      return ant.setRecord(asset, caller, {
        undername,
        target: request.transactionId,
        protocol: protocolArweave,
        ttlSeconds: request.ttlSeconds,
        priority: undefined,
        // Every write by owner or controller says who owns the record: a delegate stays only if named again.
        recordOwner: record?.lastReconciledOwner === owner ? record.owner : undefined,
      });
    case 'remove-record':
      return ant.removeRecord(asset, caller, undername, metadata !== undefined);
    case 'set-record-metadata':
      return ant.setRecordMetadata(asset, caller, { undername, ...merged(request.change, metadata) });
    case 'remove-record-metadata':
      return ant.removeRecordMetadata(asset, caller, undername);
    case 'transfer-record':
      return ant.transferRecord(asset, caller, undername, request.target);
  }
}

/** The program writes all four fields at once, so what is left alone is written as it stands. */
function merged(change: MetadataChange, before: AntRecordMetadata | undefined) {
  const pick = <T>(asked: T | null | undefined, stands: T | undefined): T | undefined =>
    asked === undefined ? stands : (asked ?? undefined);
  const keywords =
    change.recordKeywords === undefined ? undefined : change.recordKeywords && [...change.recordKeywords];
  return {
    displayName: pick(change.displayName, before?.displayName),
    logo: pick(change.recordLogo, before?.logo),
    description: pick(change.recordDescription, before?.description),
    keywords: pick(keywords, before?.keywords),
  };
}

function rentOf(
  request: RecordRequest,
  { record, metadata }: AntRecordState,
): { made: bigint; closed: bigint } {
  const recordRent = rentExemptMinimum(antRecord.space);
  const metadataRent = rentExemptMinimum(antRecordMetadata.space);
  switch (request.action) {
    case 'set-record':
      return { made: record === undefined ? recordRent : 0n, closed: 0n };
    case 'set-record-metadata':
      return { made: metadata === undefined ? metadataRent : 0n, closed: 0n };
    case 'remove-record':
      return { made: 0n, closed: recordRent + (metadata === undefined ? 0n : metadataRent) };
    case 'remove-record-metadata':
      return { made: 0n, closed: metadataRent };
    case 'transfer-record':
      return { made: 0n, closed: 0n };
  }
}

function payRent(from: SolanaAddress, to: SolanaAddress, lamports: bigint): Instruction[] {
  return lamports === 0n || from === to ? [] : [transferLamports(from, to, lamports)];
}

function signedBy(build: Builders, owner: SolanaAddress, instructions: readonly Instruction[]): Plan {
  return owner === build.service ? { instructions } : { owner, instructions };
}

export function addControllerPlan(build: Builders, ant: AntState, target: UserAcl): Plan {
  const room = target.room(build.ant, build.service);
  return signedBy(build, ant.owner, [
    ...room.prepare,
    ...payRent(build.service, ant.owner, room.growth),
    build.ant.addController(ant.asset, ant.owner, room.place),
  ]);
}

/** An entry that is missing from the controller's list is written first: the program removes both together. */
export function removeControllerPlan(build: Builders, ant: AntState, target: UserAcl): Plan {
  const held = target.holding(ant.asset, 'controller');
  const room = target.room(build.ant, build.service);
  const healing =
    held === undefined
      ? [...room.prepare, build.ant.aclEntry('recordAclController', ant.asset, room.place, build.service)]
      : [];
  return signedBy(build, ant.owner, [
    ...healing,
    build.ant.removeController(ant.asset, ant.owner, held ?? room.place),
  ]);
}

interface TransferLists {
  readonly from: UserAcl;
  readonly to: UserAcl;
  readonly controllers: readonly UserAcl[];
}

/** Moves the token; `tidy` also takes it off the lists of its former controllers. */
export function transferPlan(build: Builders, ant: AntState, lists: TransferLists, tidy: boolean): Plan {
  const { from, to, controllers } = lists;
  const held = from.holding(ant.asset, 'owner');
  const fromRoom = from.room(build.ant, build.service);
  const toRoom = to.room(build.ant, build.service);
  const healing =
    held === undefined
      ? [...fromRoom.prepare, build.ant.aclEntry('recordAclOwner', ant.asset, fromRoom.place, build.service)]
      : [];
  const stale = controllers.flatMap((acl) => {
    const place = acl.holding(ant.asset, 'controller');
    return place ? [build.ant.aclEntry('removeAclController', ant.asset, place, build.service)] : [];
  });
  return signedBy(build, ant.owner, [
    ...healing,
    ...toRoom.prepare,
    ...payRent(build.service, ant.owner, toRoom.growth),
    build.ant.transfer(ant.asset, held ?? fromRoom.place, toRoom.place),
    ...(tidy ? stale : []),
  ]);
}
