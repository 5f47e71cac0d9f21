/** Instructions of the name-token (ANT) program: their arguments, and the accounts each one takes, in order. */
import { antAddresses } from './accounts-ant.ts';
import { arnsAddresses } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { address, list, option, string, struct, u8, u32 } from './codec.ts';
import { instructionKind, type NoArguments, r, s, w, ws } from './instruction-kind.ts';
import type { AccountMeta, Instruction } from './message.ts';
import { coreProgram, type NamePrograms, systemProgram } from './programs.ts';

export interface InitializeAnt {
  name: string;
  ticker: string | undefined;
  target: string;
  protocol: number | undefined;
  logo: string;
  description: string;
  keywords: string[];
}

export interface SetRecord {
  undername: string;
  target: string;
  protocol: number;
  ttlSeconds: number;
  priority: number | undefined;
  recordOwner: SolanaAddress | undefined;
}

export interface SetRecordMetadata {
  undername: string;
  displayName: string | undefined;
  logo: string | undefined;
  description: string | undefined;
  keywords: string[] | undefined;
}

const nothing = struct<NoArguments>({});

export const antInstructions = {
  initialize: instructionKind(
    'initialize',
    struct<InitializeAnt>({
      name: string,
      ticker: option(string),
      target: string,
      protocol: option(u8),
      logo: string,
      description: string,
      keywords: list(string),
    }),
  ),
  setRecord: instructionKind(
    'set_record',
    struct<SetRecord>({
      undername: string,
      target: string,
      protocol: u8,
      ttlSeconds: u32,
      priority: option(u32),
      recordOwner: option(address),
    }),
  ),
  removeRecord: instructionKind('remove_record', nothing),
  transferRecord: instructionKind(
    'transfer_record',
    struct<{ newOwner: SolanaAddress }>({ newOwner: address }),
  ),
  setRecordMetadata: instructionKind(
    'set_record_metadata',
    struct<SetRecordMetadata>({
      undername: string,
      displayName: option(string),
      logo: option(string),
      description: option(string),
      keywords: option(list(string)),
    }),
  ),
  removeRecordMetadata: instructionKind(
    'remove_record_metadata',
    struct<{ undername: string }>({ undername: string }),
  ),
  addController: instructionKind(
    'add_controller',
    struct<{ controller: SolanaAddress }>({ controller: address }),
  ),
  removeController: instructionKind(
    'remove_controller',
    struct<{ controller: SolanaAddress }>({ controller: address }),
  ),
  transfer: instructionKind('transfer', nothing),
  reconcile: instructionKind('reconcile', nothing),
  syncAttributes: instructionKind('sync_attributes', struct<{ name: string }>({ name: string })),
  registerAclConfig: instructionKind(
    'register_acl_config',
    struct<{ user: SolanaAddress }>({ user: address }),
  ),
  addAclPage: instructionKind('add_acl_page', nothing),
  recordAclOwner: instructionKind('record_acl_owner', nothing),
  recordAclController: instructionKind('record_acl_controller', nothing),
  removeAclOwner: instructionKind('remove_acl_owner', nothing),
  removeAclController: instructionKind('remove_acl_controller', nothing),
};

/** One page of a user's list of assets. */
export interface AclPlace {
  readonly user: SolanaAddress;
  readonly page: bigint;
}

export function antBuilder(programs: NamePrograms) {
  const { ant, arns } = programs;
  const at = antAddresses(ant);
  /** Asset, config and controllers open every list: who may act is decided from them. */
  const governed = (asset: SolanaAddress): AccountMeta[] => [
    r(asset),
    w(at.config(asset).address),
    w(at.controllers(asset).address),
  ];
  const acl = ({ user, page }: AclPlace): AccountMeta[] => [
    w(at.aclConfig(user).address),
    w(at.aclPage(user, page).address),
  ];
  const aclEntry = (
    kind: 'recordAclOwner' | 'recordAclController' | 'removeAclOwner' | 'removeAclController',
    asset: SolanaAddress,
    place: AclPlace,
    payer: SolanaAddress,
  ): Instruction => {
    const proof = kind.endsWith('Owner') ? at.config(asset) : at.controllers(asset);
    return antInstructions[kind].build(
      ant,
      [r(asset), r(proof.address), ...acl(place), ws(payer), r(systemProgram)],
      {},
    );
  };
  return {
    initialize: (asset: SolanaAddress, owner: SolanaAddress, args: InitializeAnt): Instruction =>
      antInstructions.initialize.build(
        ant,
        [...governed(asset), w(at.record(asset, '@').address), ws(owner), r(systemProgram)],
        args,
      ),
    setRecord: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecord): Instruction =>
      antInstructions.setRecord.build(
        ant,
        [...governed(asset), w(at.record(asset, args.undername).address), ws(caller), r(systemProgram)],
        args,
      ),
    /** With `closeMetadata` the record's metadata account goes with it instead of being orphaned. */
    removeRecord: (
      asset: SolanaAddress,
      caller: SolanaAddress,
      undername: string,
      closeMetadata: boolean,
    ): Instruction =>
      antInstructions.removeRecord.build(
        ant,
        [
          ...governed(asset),
          w(at.record(asset, undername).address),
          closeMetadata ? w(at.metadata(asset, undername).address) : r(ant),
          ws(caller),
        ],
        {},
      ),
    transferRecord: (
      asset: SolanaAddress,
      caller: SolanaAddress,
      undername: string,
      newOwner: SolanaAddress,
    ): Instruction =>
      antInstructions.transferRecord.build(
        ant,
        [...governed(asset), w(at.record(asset, undername).address), ws(caller)],
        { newOwner },
      ),
    setRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecordMetadata): Instruction =>
      antInstructions.setRecordMetadata.build(
        ant,
        [
          ...governed(asset),
          r(at.record(asset, args.undername).address),
          w(at.metadata(asset, args.undername).address),
          ws(caller),
          r(systemProgram),
        ],
        args,
      ),
    removeRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, undername: string): Instruction =>
      antInstructions.removeRecordMetadata.build(
        ant,
        [...governed(asset), w(at.metadata(asset, undername).address), ws(caller)],
        { undername },
      ),
    addController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.addController.build(
        ant,
        [...governed(asset), ...acl(place), ws(caller), r(systemProgram)],
        { controller: place.user },
      ),
    removeController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.removeController.build(ant, [...governed(asset), ...acl(place), s(caller)], {
        controller: place.user,
      }),
    transfer: (asset: SolanaAddress, from: AclPlace, to: AclPlace): Instruction =>
      antInstructions.transfer.build(
        ant,
        [
          w(asset),
          w(at.config(asset).address),
          w(at.controllers(asset).address),
          ws(from.user),
          r(to.user),
          ...acl(to),
          ...acl(from),
          r(coreProgram),
          r(systemProgram),
        ],
        {},
      ),
    reconcile: (asset: SolanaAddress, caller: SolanaAddress): Instruction =>
      antInstructions.reconcile.build(ant, [...governed(asset), s(caller)], {}),
    /** Writes the name's traits into the asset, as the program's own authority. */
    syncAttributes: (asset: SolanaAddress, payer: SolanaAddress, name: string): Instruction =>
      antInstructions.syncAttributes.build(
        ant,
        [
          w(asset),
          ws(payer),
          r(at.authority(asset).address),
          r(arnsAddresses(arns).record(name).address),
          r(coreProgram),
          r(systemProgram),
        ],
        { name },
      ),
    registerAclConfig: (user: SolanaAddress, payer: SolanaAddress): Instruction =>
      antInstructions.registerAclConfig.build(
        ant,
        [w(at.aclConfig(user).address), ws(payer), r(systemProgram)],
        { user },
      ),
    addAclPage: (place: AclPlace, payer: SolanaAddress): Instruction =>
      antInstructions.addAclPage.build(ant, [...acl(place), ws(payer), r(systemProgram)], {}),
    aclEntry,
  };
}

export type AntBuilder = ReturnType<typeof antBuilder>;
