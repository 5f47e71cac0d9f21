/**
 * The name tokens (ANTs): where each undername points, and who may say so. An ANT's asset owner may act on it and, until
 * the asset changes hands, the controllers that the owner named. Per user there is a list of the ANTs that the user owns
 * or controls, in pages (`Acl`): how wallets find their names without a search.
 */
import {
  type AclConfig,
  type AclPage,
  type AclRole,
  type AntConfig,
  type AntControllers,
  type AntRecord,
  aclConfig,
  aclPage,
  aclPageSize,
  antAddresses,
  antConfig,
  antControllers,
  antRecord,
  antRecordMetadata,
  maxAclPageEntries,
  maxControllers,
} from '../../../formats/solana/accounts-ant.ts';
import {
  type ArnsRecord,
  arnsAddresses,
  arnsRecord,
  hashName,
} from '../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../formats/solana/address.ts';
import { antProgramTrait, coreAssetOwner, decodeCoreAsset } from '../../../formats/solana/core-asset.ts';
import { transferAsset, updateTraits } from '../../../formats/solana/core-instructions.ts';
import {
  antInstructions,
  type InitializeAnt,
  type SetRecordMetadata,
} from '../../../formats/solana/instructions-ant.ts';
import {
  areKeywords,
  byteLength,
  defaultLogo,
  defaultTtlSeconds,
  isArweaveId,
  isTarget,
  isTtl,
  isUndername,
  maxDescriptionLength,
  maxDisplayNameLength,
  maxTickerLength,
  protocolArweave,
  rootUndername,
} from '../../../formats/solana/name-rules.ts';
import { type AntErrorName, antError } from '../../../formats/solana/program-errors.ts';
import { coreProgram, rentExemptMinimum } from '../../../formats/solana/programs.ts';
import { transferLamports } from '../../../formats/solana/system.ts';
import { parsed } from '../runtime/errors.ts';
import type { Program } from '../runtime/invocation.ts';
import {
  type AnchorCall,
  anchorProgram,
  failAnchor,
  failProgram,
  handler,
  stamp,
  type Typed,
} from './anchor.ts';

/** Marketplace traits are read from the registry of the same cluster, so the program must know which that is. */
export const ant = (arnsProgram: SolanaAddress): Program =>
  anchorProgram([
    handler(antInstructions.registerAclConfig, 15_000, (anchor, { user }) => {
      const derived = anchor.derived(at(anchor).aclConfig(user), 'acl_config');
      const payer = anchor.signer('payer');
      anchor.systemProgram();
      anchor.create(aclConfig, payer, derived, { user, pageCount: 0n, totalEntries: 0n, ...stamp(derived) });
    }),

    handler(antInstructions.addAclPage, 18_000, (anchor) => {
      const config = anchor.typed(aclConfig, 'acl_config', 'w', ({ user }) => at(anchor).aclConfig(user));
      const { user, pageCount } = config.value;
      const derived = anchor.derived(at(anchor).aclPage(user, pageCount), 'acl_page');
      const payer = anchor.signer('payer');
      anchor.systemProgram();
      anchor.create(aclPage, payer, derived, { user, pageIndex: pageCount, entries: [], ...stamp(derived) });
      anchor.save(aclConfig, config, { pageCount: pageCount + 1n });
    }),

    handler(antInstructions.recordAclOwner, 18_000, changeEntry('owner', 'record')),
    handler(antInstructions.recordAclController, 18_000, changeEntry('controller', 'record')),
    handler(antInstructions.removeAclOwner, 15_000, changeEntry('owner', 'remove')),
    handler(antInstructions.removeAclController, 15_000, changeEntry('controller', 'remove')),

    /** A fresh asset becomes an ANT: config, controllers with the owner as the first, and the root record. */
    handler(antInstructions.initialize, 60_000, (anchor, args) => {
      const asset = anchor.any();
      const config = anchor.derived(at(anchor).config(asset), 'ant_config');
      const controllers = anchor.derived(at(anchor).controllers(asset), 'ant_controllers');
      const root = anchor.derived(at(anchor).record(asset, rootUndername), 'root_record');
      const owner = anchor.signer('owner');
      anchor.systemProgram();
      insist(ownerOf(anchor, asset) === owner, anchor, 'NotNftHolder');
      const protocol = args.protocol ?? protocolArweave;
      check(anchor, args, protocol);

      anchor.create(antConfig, owner, config, {
        mint: asset,
        name: args.name,
        ticker: args.ticker ?? 'ANT',
        logo: args.logo === '' ? defaultLogo : args.logo,
        description: args.description,
        keywords: args.keywords,
        lastKnownOwner: owner,
        ...stamp(config),
      });
      anchor.create(antControllers, owner, controllers, {
        mint: asset,
        controllers: [owner],
        ...stamp(controllers),
      });
      anchor.create(antRecord, owner, root, {
        mint: asset,
        undername: rootUndername,
        target: args.target,
        targetProtocol: protocol,
        ttlSeconds: defaultTtlSeconds,
        priority: 0,
        owner: undefined,
        lastReconciledOwner: owner,
        ...stamp(root),
      });
      anchor.call.log(`ANT initialized for asset ${asset}`);
    }),

    handler(antInstructions.setRecord, 35_000, (anchor, args) => {
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
        ...stamp(derived),
      });
      anchor.call.log(`Record '${undername}' set`);
    }),

    handler(antInstructions.removeRecord, 25_000, (anchor) => {
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
    }),

    handler(antInstructions.transferRecord, 25_000, (anchor, { newOwner }) => {
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
    }),

    handler(antInstructions.setRecordMetadata, 35_000, (anchor, args) => {
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
        ...stamp(derived),
      });
      anchor.call.log(`Record metadata for '${undername}' set`);
    }),

    handler(antInstructions.removeRecordMetadata, 25_000, (anchor, { undername: text }) => {
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
    }),

    handler(antInstructions.addController, 30_000, (anchor, { controller }) => {
      const ant = takeGoverned(anchor);
      const acl = takeAcl(anchor);
      const caller = anchor.signer('caller');
      anchor.systemProgram();
      insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
      const { controllers } = ant.controllers.value;
      insist(!controllers.includes(controller), anchor, 'ControllerAlreadyExists');
      insist(controllers.length < maxControllers, anchor, 'MaxControllersReached');
      anchor.save(antControllers, ant.controllers, { controllers: [...controllers, controller] });
      requirePageOf(anchor, acl, controller);
      addEntry(anchor, acl, ant.asset, 'controller', caller);
    }),

    handler(antInstructions.removeController, 25_000, (anchor, { controller }) => {
      const ant = takeGoverned(anchor);
      const acl = takeAcl(anchor);
      const caller = anchor.signer('caller', 'r');
      insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
      const { controllers } = ant.controllers.value;
      insist(controllers.includes(controller), anchor, 'ControllerNotFound');
      const left = controllers.filter((address) => address !== controller);
      anchor.save(antControllers, ant.controllers, { controllers: left });
      requirePageOf(anchor, acl, controller);
      removeEntry(anchor, acl, ant.asset, 'controller');
    }),

    /** The asset, the controllers and both owners' lists change together. */
    handler(antInstructions.transfer, 60_000, (anchor) => {
      const ant = takeGoverned(anchor, 'w');
      const caller = anchor.signer('caller');
      const newOwner = anchor.any();
      const to = takeAcl(anchor);
      const from = takeAcl(anchor);
      anchor.program(coreProgram, 'mpl_core_program');
      anchor.systemProgram();
      insist(caller === ant.owner, anchor, 'NotNftHolder');
      insist(newOwner !== ant.owner, anchor, 'TransferToSelf');
      requirePageOf(anchor, to, newOwner);
      requirePageOf(anchor, from, caller);
      anchor.call.invoke(transferAsset(ant.asset, caller, caller, newOwner));
      anchor.save(antControllers, ant.controllers, { controllers: [] });
      anchor.save(antConfig, ant.config, { lastKnownOwner: newOwner });
      addEntry(anchor, to, ant.asset, 'owner', caller);
      removeEntry(anchor, from, ant.asset, 'owner');
      anchor.call.log(`ANT ${ant.asset} transferred ${caller} -> ${newOwner}`);
    }),

    handler(antInstructions.reconcile, 12_000, (anchor) => {
      const ant = takeGoverned(anchor);
      anchor.signer('caller', 'r');
      anchor.call.log(reconcile(anchor, ant) ? 'Ownership reconciled' : 'No ownership change detected');
    }),

    /** Signed by the program itself through the asset's update authority; whoever pays may ask for it. */
    handler(antInstructions.syncAttributes, 40_000, (anchor, { name }) => {
      const asset = anchor.writable('asset');
      const payer = anchor.signer('payer');
      const derived = at(anchor).authority(asset);
      if (anchor.any() !== derived.address) failAnchor(anchor.call, 'ConstraintSeeds', 'ant_authority');
      const record = readArnsRecord(anchor, anchor.any(), name, arnsProgram);
      anchor.program(coreProgram, 'mpl_core_program');
      anchor.systemProgram();
      ownerOf(anchor, asset);
      insist(record.ant === asset, anchor, 'InvalidArnsRecord');
      const { traits = [] } = parsed(
        () => decodeCoreAsset(anchor.call.account(asset).data),
        'InvalidAccountData',
      );
      const list = [
        { key: 'ArNS Name', value: record.name },
        { key: 'Type', value: record.type },
        { key: 'Undername Limit', value: String(record.undernameLimit) },
        ...traits.filter((trait) => trait.key === antProgramTrait),
      ];
      anchor.call.invoke(updateTraits(asset, payer, derived.address, list), derived.seeds);
    }),
  ]);

function refuse(anchor: AnchorCall, name: AntErrorName): never {
  failProgram(anchor.call, antError(name));
}

function insist(condition: boolean, anchor: AnchorCall, name: AntErrorName): void {
  if (!condition) refuse(anchor, name);
}

const at = (anchor: AnchorCall) => antAddresses(anchor.call.programId);

function ownerOf(anchor: AnchorCall, asset: SolanaAddress): SolanaAddress {
  const account = anchor.call.account(asset);
  insist(account.owner === coreProgram, anchor, 'InvalidAsset');
  return parsed(() => coreAssetOwner(account.data), 'InvalidAccountData');
}

/** Asset, config and controllers: the three places that open almost every instruction. */
interface Governed {
  readonly asset: SolanaAddress;
  readonly owner: SolanaAddress;
  readonly config: Typed<AntConfig>;
  readonly controllers: Typed<AntControllers>;
}

function takeGoverned(anchor: AnchorCall, assetRights: 'w' | 'r' = 'r'): Governed {
  const asset = assetRights === 'w' ? anchor.writable('asset') : anchor.any();
  const config = anchor.typed(antConfig, 'ant_config', 'w', () => at(anchor).config(asset));
  const controllers = anchor.typed(antControllers, 'ant_controllers', 'w', () =>
    at(anchor).controllers(asset),
  );
  return { asset, owner: ownerOf(anchor, asset), config, controllers };
}

/** When the asset has changed hands since, the controllers of the former owner go. */
function reconcile(anchor: AnchorCall, ant: Governed): boolean {
  if (ant.config.value.lastKnownOwner === ant.owner) return false;
  anchor.save(antControllers, ant.controllers, { controllers: [] });
  anchor.save(antConfig, ant.config, { lastKnownOwner: ant.owner });
  return true;
}

/** Reconciles, then answers whether the caller is the owner or a controller. */
function mayAct(anchor: AnchorCall, ant: Governed, caller: SolanaAddress): boolean {
  reconcile(anchor, ant);
  return caller === ant.owner || ant.controllers.value.controllers.includes(caller);
}

/** A user's list head and one of its pages. */
interface Acl {
  readonly config: Typed<AclConfig>;
  readonly page: Typed<AclPage>;
}

function takeAcl(anchor: AnchorCall): Acl {
  const config = anchor.typed(aclConfig, 'acl_config', 'w', ({ user }) => at(anchor).aclConfig(user));
  const page = anchor.typed(aclPage, 'acl_page', 'w', ({ user, pageIndex }) =>
    at(anchor).aclPage(user, pageIndex),
  );
  return { config, page };
}

function requirePageOf(anchor: AnchorCall, acl: Acl, user: SolanaAddress): void {
  insist(acl.config.value.user === user, anchor, 'AclConfigUserMismatch');
  insist(acl.page.value.user === user, anchor, 'AclPageUserMismatch');
  insist(acl.page.value.pageIndex < acl.config.value.pageCount, anchor, 'AclPageOutOfBounds');
}

/** The page grows by the entry; `payer` adds the rent. */
function addEntry(
  anchor: AnchorCall,
  acl: Acl,
  asset: SolanaAddress,
  role: AclRole,
  payer: SolanaAddress,
): void {
  const { entries } = acl.page.value;
  insist(
    !entries.some((entry) => entry.asset === asset && entry.role === role),
    anchor,
    'AclEntryAlreadyExists',
  );
  insist(entries.length < maxAclPageEntries, anchor, 'AclPageFull');
  acl.page.value = { ...acl.page.value, entries: [...entries, { asset, role }] };
  const { address } = acl.page;
  const held = anchor.call.account(address);
  const size = Math.max(held.data.length, aclPageSize(entries.length + 1));
  const missing = rentExemptMinimum(size) - held.lamports;
  if (missing > 0n) anchor.call.invoke(transferLamports(payer, address, missing));
  anchor.call.writeData(address, aclPage.encode(acl.page.value, size));
  count(anchor, acl, 1n);
}

/** The last entry takes the place of the removed one; the page keeps its size for the next. */
function removeEntry(anchor: AnchorCall, acl: Acl, asset: SolanaAddress, role: AclRole): void {
  const entries = [...acl.page.value.entries];
  const index = entries.findIndex((entry) => entry.asset === asset && entry.role === role);
  insist(index >= 0, anchor, 'AclEntryNotFound');
  const last = entries.pop();
  if (last !== undefined && index < entries.length) entries[index] = last;
  anchor.save(aclPage, acl.page, { entries });
  count(anchor, acl, -1n);
}

function count(anchor: AnchorCall, acl: Acl, change: bigint): void {
  const total = acl.config.value.totalEntries + change;
  anchor.save(aclConfig, acl.config, { totalEntries: total < 0n ? 0n : total });
}

/** Anybody may bring a list in line with what is true: never an entry that is false, never a true one removed. */
function changeEntry(role: AclRole, change: 'record' | 'remove') {
  return (anchor: AnchorCall): void => {
    const asset = anchor.any();
    const holds = role === 'owner' ? takeOwner(anchor, asset) : takeController(anchor, asset);
    const acl = takeAcl(anchor);
    const payer = anchor.signer('payer');
    anchor.systemProgram();
    const { user } = acl.config.value;
    requirePageOf(anchor, acl, user);
    if (change === 'record') {
      insist(holds(user), anchor, role === 'owner' ? 'NotCurrentOwner' : 'NotCurrentController');
      addEntry(anchor, acl, asset, role, payer);
    } else {
      insist(!holds(user), anchor, role === 'owner' ? 'StillCurrentOwner' : 'StillCurrentController');
      removeEntry(anchor, acl, asset, role);
    }
  };
}

function takeOwner(anchor: AnchorCall, asset: SolanaAddress): (user: SolanaAddress) => boolean {
  anchor.typed(antConfig, 'ant_config', 'r', () => at(anchor).config(asset));
  const owner = ownerOf(anchor, asset);
  return (user) => user === owner;
}

function takeController(anchor: AnchorCall, asset: SolanaAddress): (user: SolanaAddress) => boolean {
  const { value } = anchor.typed(antControllers, 'ant_controllers', 'r', () => at(anchor).controllers(asset));
  return (user) => value.controllers.includes(user);
}

function check(anchor: AnchorCall, args: InitializeAnt, protocol: number): void {
  insist(args.name !== '', anchor, 'NameEmpty');
  insist(byteLength(args.name) <= maxDisplayNameLength, anchor, 'NameTooLong');
  if (args.ticker !== undefined) {
    insist(args.ticker !== '' && byteLength(args.ticker) <= maxTickerLength, anchor, 'TickerTooLong');
  }
  insist(isTarget(args.target, protocol), anchor, 'InvalidTarget');
  insist(args.logo === '' || isArweaveId(args.logo), anchor, 'InvalidLogo');
  insist(byteLength(args.description) <= maxDescriptionLength, anchor, 'DescriptionTooLong');
  insist(areKeywords(args.keywords), anchor, 'InvalidKeyword');
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

function readArnsRecord(
  anchor: AnchorCall,
  address: SolanaAddress,
  name: string,
  arnsProgram: SolanaAddress,
): ArnsRecord {
  const account = anchor.call.account(address);
  const expected = arnsAddresses(arnsProgram).record(name).address;
  if (account.owner !== arnsProgram || address !== expected || !arnsRecord.matches(account.data)) {
    refuse(anchor, 'InvalidArnsRecord');
  }
  return parsed(() => arnsRecord.decode(account.data), 'InvalidAccountData');
}
