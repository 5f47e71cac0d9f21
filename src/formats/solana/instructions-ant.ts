/** Instructions of the name-token (ANT) program: their arguments, and the accounts each one takes, in order. */
import { antAddresses } from './accounts-ant.ts';
import { arnsAddresses } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { instructionKind, type NoArguments } from './anchor.ts';
import { address, list, option, string, struct, u8, u32 } from './codec.ts';
import { type AccountMeta, type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
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
    readOnly(asset),
    writable(at.config(asset).address),
    writable(at.controllers(asset).address),
  ];
  const acl = ({ user, page }: AclPlace): AccountMeta[] => [
    writable(at.aclConfig(user).address),
    writable(at.aclPage(user, page).address),
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
      [
        readOnly(asset),
        readOnly(proof.address),
        ...acl(place),
        writableSigner(payer),
        readOnly(systemProgram),
      ],
      {},
    );
  };
  return {
    initialize: (asset: SolanaAddress, owner: SolanaAddress, args: InitializeAnt): Instruction =>
      antInstructions.initialize.build(
        ant,
        [
          ...governed(asset),
          writable(at.record(asset, '@').address),
          writableSigner(owner),
          readOnly(systemProgram),
        ],
        args,
      ),
    setRecord: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecord): Instruction =>
      antInstructions.setRecord.build(
        ant,
        [
          ...governed(asset),
          writable(at.record(asset, args.undername).address),
          writableSigner(caller),
          readOnly(systemProgram),
        ],
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
          writable(at.record(asset, undername).address),
          closeMetadata ? writable(at.metadata(asset, undername).address) : readOnly(ant),
          writableSigner(caller),
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
        [...governed(asset), writable(at.record(asset, undername).address), writableSigner(caller)],
        { newOwner },
      ),
    setRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecordMetadata): Instruction =>
      antInstructions.setRecordMetadata.build(
        ant,
        [
          ...governed(asset),
          readOnly(at.record(asset, args.undername).address),
          writable(at.metadata(asset, args.undername).address),
          writableSigner(caller),
          readOnly(systemProgram),
        ],
        args,
      ),
    removeRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, undername: string): Instruction =>
      antInstructions.removeRecordMetadata.build(
        ant,
        [...governed(asset), writable(at.metadata(asset, undername).address), writableSigner(caller)],
        { undername },
      ),
    addController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.addController.build(
        ant,
        [...governed(asset), ...acl(place), writableSigner(caller), readOnly(systemProgram)],
        { controller: place.user },
      ),
    removeController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.removeController.build(ant, [...governed(asset), ...acl(place), signer(caller)], {
        controller: place.user,
      }),
    transfer: (asset: SolanaAddress, from: AclPlace, to: AclPlace): Instruction =>
      antInstructions.transfer.build(
        ant,
        [
          writable(asset),
          writable(at.config(asset).address),
          writable(at.controllers(asset).address),
          writableSigner(from.user),
          readOnly(to.user),
          ...acl(to),
          ...acl(from),
          readOnly(coreProgram),
          readOnly(systemProgram),
        ],
        {},
      ),
    reconcile: (asset: SolanaAddress, caller: SolanaAddress): Instruction =>
      antInstructions.reconcile.build(ant, [...governed(asset), signer(caller)], {}),
    /** Writes the name's traits into the asset, as the program's own authority. */
    syncAttributes: (asset: SolanaAddress, payer: SolanaAddress, name: string): Instruction =>
      antInstructions.syncAttributes.build(
        ant,
        [
          writable(asset),
          writableSigner(payer),
          readOnly(at.authority(asset).address),
          readOnly(arnsAddresses(arns).record(name).address),
          readOnly(coreProgram),
          readOnly(systemProgram),
        ],
        { name },
      ),
    registerAclConfig: (user: SolanaAddress, payer: SolanaAddress): Instruction =>
      antInstructions.registerAclConfig.build(
        ant,
        [writable(at.aclConfig(user).address), writableSigner(payer), readOnly(systemProgram)],
        { user },
      ),
    addAclPage: (place: AclPlace, payer: SolanaAddress): Instruction =>
      antInstructions.addAclPage.build(
        ant,
        [...acl(place), writableSigner(payer), readOnly(systemProgram)],
        {},
      ),
    aclEntry,
  };
}

export type AntBuilder = ReturnType<typeof antBuilder>;
