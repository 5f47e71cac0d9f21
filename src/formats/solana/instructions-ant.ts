/** Instructions of the name-token (ANT) program: their arguments, and the accounts each one takes, in order. */
import { antAddresses } from './accounts-ant.ts';
import { arnsAddresses } from './accounts-arns.ts';
import type { SolanaAddress } from './address.ts';
import { type Arguments, instructionKind } from './anchor.ts';
import { address, list, option, string, u8, u32 } from './codec.ts';
import { type AccountMeta, type Instruction, readOnly, signer, writable, writableSigner } from './message.ts';
import { coreProgram, type NamePrograms, systemProgram } from './programs.ts';

export const antInstructions = {
  initialize: instructionKind('initialize', {
    name: string,
    ticker: option(string),
    target: string,
    protocol: option(u8),
    logo: string,
    description: string,
    keywords: list(string),
  }),
  setRecord: instructionKind('set_record', {
    undername: string,
    target: string,
    protocol: u8,
    ttlSeconds: u32,
    priority: option(u32),
    recordOwner: option(address),
  }),
  removeRecord: instructionKind('remove_record', {}),
  transferRecord: instructionKind('transfer_record', { newOwner: address }),
  setRecordMetadata: instructionKind('set_record_metadata', {
    undername: string,
    displayName: option(string),
    logo: option(string),
    description: option(string),
    keywords: option(list(string)),
  }),
  removeRecordMetadata: instructionKind('remove_record_metadata', { undername: string }),
  addController: instructionKind('add_controller', { controller: address }),
  removeController: instructionKind('remove_controller', { controller: address }),
  transfer: instructionKind('transfer', {}),
  reconcile: instructionKind('reconcile', {}),
  syncAttributes: instructionKind('sync_attributes', { name: string }),
  registerAclConfig: instructionKind('register_acl_config', { user: address }),
  addAclPage: instructionKind('add_acl_page', {}),
  recordAclOwner: instructionKind('record_acl_owner', {}),
  recordAclController: instructionKind('record_acl_controller', {}),
  removeAclOwner: instructionKind('remove_acl_owner', {}),
  removeAclController: instructionKind('remove_acl_controller', {}),
};

export type InitializeAnt = Arguments<typeof antInstructions.initialize>;
export type SetRecord = Arguments<typeof antInstructions.setRecord>;
export type SetRecordMetadata = Arguments<typeof antInstructions.setRecordMetadata>;

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
    return antInstructions[kind].build(ant, {}, [
      readOnly(asset),
      readOnly(proof.address),
      ...acl(place),
      writableSigner(payer),
      readOnly(systemProgram),
    ]);
  };
  return {
    initialize: (asset: SolanaAddress, owner: SolanaAddress, args: InitializeAnt): Instruction =>
      antInstructions.initialize.build(ant, args, [
        ...governed(asset),
        writable(at.record(asset, '@').address),
        writableSigner(owner),
        readOnly(systemProgram),
      ]),
    setRecord: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecord): Instruction =>
      antInstructions.setRecord.build(ant, args, [
        ...governed(asset),
        writable(at.record(asset, args.undername).address),
        writableSigner(caller),
        readOnly(systemProgram),
      ]),
    /** With `closeMetadata` the record's metadata account goes with it instead of being orphaned. */
    removeRecord: (
      asset: SolanaAddress,
      caller: SolanaAddress,
      undername: string,
      closeMetadata: boolean,
    ): Instruction =>
      antInstructions.removeRecord.build(ant, {}, [
        ...governed(asset),
        writable(at.record(asset, undername).address),
        closeMetadata ? writable(at.metadata(asset, undername).address) : readOnly(ant),
        writableSigner(caller),
      ]),
    transferRecord: (
      asset: SolanaAddress,
      caller: SolanaAddress,
      undername: string,
      newOwner: SolanaAddress,
    ): Instruction =>
      antInstructions.transferRecord.build(ant, { newOwner }, [
        ...governed(asset),
        writable(at.record(asset, undername).address),
        writableSigner(caller),
      ]),
    setRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, args: SetRecordMetadata): Instruction =>
      antInstructions.setRecordMetadata.build(ant, args, [
        ...governed(asset),
        readOnly(at.record(asset, args.undername).address),
        writable(at.metadata(asset, args.undername).address),
        writableSigner(caller),
        readOnly(systemProgram),
      ]),
    removeRecordMetadata: (asset: SolanaAddress, caller: SolanaAddress, undername: string): Instruction =>
      antInstructions.removeRecordMetadata.build(ant, { undername }, [
        ...governed(asset),
        writable(at.metadata(asset, undername).address),
        writableSigner(caller),
      ]),
    addController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.addController.build(ant, { controller: place.user }, [
        ...governed(asset),
        ...acl(place),
        writableSigner(caller),
        readOnly(systemProgram),
      ]),
    removeController: (asset: SolanaAddress, caller: SolanaAddress, place: AclPlace): Instruction =>
      antInstructions.removeController.build(ant, { controller: place.user }, [
        ...governed(asset),
        ...acl(place),
        signer(caller),
      ]),
    transfer: (asset: SolanaAddress, from: AclPlace, to: AclPlace): Instruction =>
      antInstructions.transfer.build(ant, {}, [
        writable(asset),
        writable(at.config(asset).address),
        writable(at.controllers(asset).address),
        writableSigner(from.user),
        readOnly(to.user),
        ...acl(to),
        ...acl(from),
        readOnly(coreProgram),
        readOnly(systemProgram),
      ]),
    reconcile: (asset: SolanaAddress, caller: SolanaAddress): Instruction =>
      antInstructions.reconcile.build(ant, {}, [...governed(asset), signer(caller)]),
    /** Writes the name's traits into the asset, as the program's own authority. */
    syncAttributes: (asset: SolanaAddress, payer: SolanaAddress, name: string): Instruction =>
      antInstructions.syncAttributes.build(ant, { name }, [
        writable(asset),
        writableSigner(payer),
        readOnly(at.authority(asset).address),
        readOnly(arnsAddresses(arns).record(name).address),
        readOnly(coreProgram),
        readOnly(systemProgram),
      ]),
    registerAclConfig: (user: SolanaAddress, payer: SolanaAddress): Instruction =>
      antInstructions.registerAclConfig.build(ant, { user }, [
        writable(at.aclConfig(user).address),
        writableSigner(payer),
        readOnly(systemProgram),
      ]),
    addAclPage: (place: AclPlace, payer: SolanaAddress): Instruction =>
      antInstructions.addAclPage.build(ant, {}, [
        ...acl(place),
        writableSigner(payer),
        readOnly(systemProgram),
      ]),
    aclEntry,
  };
}

export type AntBuilder = ReturnType<typeof antBuilder>;
