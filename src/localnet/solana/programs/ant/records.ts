/** Records of an ANT: where each undername points, who looks after it, what is said about it. */
import { type AntRecord, antRecord, antRecordMetadata } from '../../../../formats/solana/accounts-ant.ts';
import { hashName, schemaVersion } from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import {
  antInstructions,
  type SetRecord,
  type SetRecordMetadata,
} from '../../../../formats/solana/instructions-ant.ts';
import {
  areKeywords,
  byteLength,
  isArweaveId,
  isTarget,
  isTtl,
  isUndername,
  maxDescriptionLength,
  maxDisplayNameLength,
  rootUndername,
} from '../../../../formats/solana/name-rules.ts';
import { type AnchorCall, type Handler, handler, type Typed } from '../anchor.ts';
import { at, type Governed, insist, mayAct, takeGoverned } from './context.ts';

export const recordHandlers: readonly Handler[] = [
  handler(antInstructions.setRecord, 35_000, setRecord),
  handler(antInstructions.removeRecord, 25_000, removeRecord),
  handler(antInstructions.transferRecord, 25_000, (anchor, { newOwner }) => transferRecord(anchor, newOwner)),
  handler(antInstructions.setRecordMetadata, 35_000, setRecordMetadata),
  handler(antInstructions.removeRecordMetadata, 25_000, (anchor, { undername }) =>
    removeRecordMetadata(anchor, undername),
  ),
];

function setRecord(anchor: AnchorCall, args: SetRecord): void {
  const ant = takeGoverned(anchor);
  const undername = args.undername.toLowerCase();
  const derived = anchor.derived(at(anchor).record(ant.asset, undername), 'record');
  const caller = anchor.signer('caller');
  anchor.systemProgram();
  insist(isUndername(undername), anchor, 'InvalidUndername');
  insist(isTarget(args.target, args.protocol), anchor, 'InvalidTarget');
  insist(isTtl(args.ttlSeconds), anchor, 'InvalidTtl');

  const acts = mayAct(anchor, ant, caller);
  const before = anchor.exists(derived.address) ? currentRecord(anchor, ant, derived.address) : undefined;
  if (before === undefined) insist(acts, anchor, 'OnlyOwnerOrControllerCanCreate');
  else insist(acts || before.owner === caller, anchor, 'UnauthorizedRecordAccess');
  anchor.put(antRecord, caller, derived, {
    mint: ant.asset,
    undername,
    target: args.target,
    targetProtocol: args.protocol,
    ttlSeconds: args.ttlSeconds,
    priority: priority(anchor, undername, args.priority, before?.priority, acts),
    // Whoever governs the ANT says with every write who owns the record; nobody else can.
    owner: acts ? args.recordOwner : before?.owner,
    lastReconciledOwner: ant.owner,
    bump: derived.bump,
    version: schemaVersion,
  });
  anchor.call.log(`Record '${undername}' set`);
}

function priority(
  anchor: AnchorCall,
  undername: string,
  asked: number | undefined,
  before: number | undefined,
  acts: boolean,
): number | undefined {
  if (undername === rootUndername) {
    insist(asked === undefined || asked === 0, anchor, 'CannotChangePriorityOfRoot');
    return 0;
  }
  if (asked === undefined) return before;
  insist(acts, anchor, 'PriorityRequiresOwnerOrController');
  return asked;
}

/** The record as it counts now: an owner named before the ANT changed hands no longer does. */
function currentRecord(anchor: AnchorCall, ant: Governed, address: SolanaAddress): AntRecord {
  const record = anchor.decode(antRecord, address, 'record');
  if (record.lastReconciledOwner === ant.owner) return record;
  return { ...record, owner: undefined, lastReconciledOwner: ant.owner };
}

/** An existing record of this ANT at the next place. */
function takeRecord(anchor: AnchorCall, ant: Governed, rights: 'w' | 'r'): Typed<AntRecord> {
  return anchor.typed(antRecord, 'record', rights, (record) =>
    at(anchor).record(ant.asset, record.undername),
  );
}

function removeRecord(anchor: AnchorCall): void {
  const ant = takeGoverned(anchor);
  const record = takeRecord(anchor, ant, 'w');
  const { undername } = record.value;
  const metadata = anchor.any();
  const caller = anchor.signer('caller');
  insist(undername !== rootUndername, anchor, 'CannotRemoveRootRecord');
  insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
  if (metadata !== anchor.call.programId) {
    insist(metadata === at(anchor).metadata(ant.asset, undername).address, anchor, 'InvalidPda');
    anchor.decode(antRecordMetadata, metadata, 'record_metadata');
    anchor.call.close(metadata, caller);
  }
  anchor.call.close(record.address, caller);
  anchor.call.log(`Record '${undername}' removed`);
}

function transferRecord(anchor: AnchorCall, newOwner: SolanaAddress): void {
  const ant = takeGoverned(anchor);
  const record = takeRecord(anchor, ant, 'w');
  const caller = anchor.signer('caller');
  const acts = mayAct(anchor, ant, caller);
  const current = currentRecord(anchor, ant, record.address);
  if (!acts) {
    insist(current.owner !== undefined, anchor, 'RecordHasNoOwner');
    insist(current.owner === caller, anchor, 'UnauthorizedRecordAccess');
  }
  insist(current.owner !== newOwner, anchor, 'RecordTransferToSelf');
  record.value = { ...current, owner: newOwner };
  anchor.save(antRecord, record);
  anchor.call.log(`Record '${current.undername}' transferred to ${newOwner}`);
}

function setRecordMetadata(anchor: AnchorCall, args: SetRecordMetadata): void {
  const ant = takeGoverned(anchor);
  const undername = args.undername.toLowerCase();
  const record = takeRecord(anchor, ant, 'r');
  const derived = anchor.derived(at(anchor).metadata(ant.asset, undername), 'record_metadata');
  const caller = anchor.signer('caller');
  anchor.systemProgram();
  insist(isUndername(undername), anchor, 'InvalidUndername');
  insist(record.value.undername === undername, anchor, 'RecordNotFound');
  checkMetadata(anchor, args);
  const acts = mayAct(anchor, ant, caller);
  const current = currentRecord(anchor, ant, record.address);
  insist(acts || current.owner === caller, anchor, 'UnauthorizedRecordAccess');
  anchor.put(antRecordMetadata, caller, derived, {
    mint: ant.asset,
    undernameHash: hashName(undername),
    displayName: args.displayName,
    logo: args.logo,
    description: args.description,
    keywords: args.keywords,
    bump: derived.bump,
    version: schemaVersion,
  });
  anchor.call.log(`Record metadata for '${undername}' set`);
}

function checkMetadata(anchor: AnchorCall, args: SetRecordMetadata): void {
  const { displayName, logo, description, keywords } = args;
  insist(displayName === undefined || byteLength(displayName) <= maxDisplayNameLength, anchor, 'NameTooLong');
  insist(logo === undefined || isArweaveId(logo), anchor, 'InvalidLogo');
  insist(
    description === undefined || byteLength(description) <= maxDescriptionLength,
    anchor,
    'DescriptionTooLong',
  );
  insist(keywords === undefined || areKeywords(keywords), anchor, 'InvalidKeyword');
}

function removeRecordMetadata(anchor: AnchorCall, text: string): void {
  const ant = takeGoverned(anchor);
  const undername = text.toLowerCase();
  const metadata = anchor.typed(antRecordMetadata, 'record_metadata', 'w', () =>
    at(anchor).metadata(ant.asset, undername),
  );
  const caller = anchor.signer('caller');
  insist(isUndername(undername), anchor, 'InvalidUndername');
  insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
  anchor.call.close(metadata.address, caller);
  anchor.call.log(`Record metadata for '${undername}' removed`);
}
