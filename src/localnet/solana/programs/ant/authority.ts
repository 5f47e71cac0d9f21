/** Controllers, transfers, and the traits that tell a marketplace which name an asset carries. */
import { antConfig, antControllers, maxControllers } from '../../../../formats/solana/accounts-ant.ts';
import { type ArnsRecord, arnsAddresses, arnsRecord } from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { decodeCoreAsset } from '../../../../formats/solana/core-asset.ts';
import {
  antProgramTrait,
  transferAsset,
  updateTraits,
} from '../../../../formats/solana/core-instructions.ts';
import { antInstructions } from '../../../../formats/solana/instructions-ant.ts';
import { coreProgram } from '../../../../formats/solana/programs.ts';
import { parsed } from '../../runtime/errors.ts';
import { type AnchorCall, failAnchor, type Handler, handler } from '../anchor.ts';
import { addEntry, removeEntry, requirePageOf, takeAcl } from './acl.ts';
import { at, insist, mayAct, ownerOf, reconcile, refuse, takeGoverned } from './context.ts';

/** The traits are read from the registry of the same cluster, so the program must know which that is. */
export function authorityHandlers(arnsProgram: SolanaAddress): readonly Handler[] {
  return [
    handler(antInstructions.addController, 30_000, (anchor, { controller }) =>
      addController(anchor, controller),
    ),
    handler(antInstructions.removeController, 25_000, (anchor, { controller }) =>
      removeController(anchor, controller),
    ),
    handler(antInstructions.transfer, 60_000, transfer),
    handler(antInstructions.reconcile, 12_000, (anchor) => {
      const ant = takeGoverned(anchor);
      anchor.signer('caller', 'r');
      anchor.call.log(reconcile(anchor, ant) ? 'Ownership reconciled' : 'No ownership change detected');
    }),
    handler(antInstructions.syncAttributes, 40_000, (anchor, { name }) =>
      syncAttributes(anchor, name, arnsProgram),
    ),
  ];
}

function addController(anchor: AnchorCall, controller: SolanaAddress): void {
  const ant = takeGoverned(anchor);
  const acl = takeAcl(anchor);
  const caller = anchor.signer('caller');
  anchor.systemProgram();
  insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
  const { controllers } = ant.controllers.value;
  insist(!controllers.includes(controller), anchor, 'ControllerAlreadyExists');
  insist(controllers.length < maxControllers, anchor, 'MaxControllersReached');
  ant.controllers.value = { ...ant.controllers.value, controllers: [...controllers, controller] };
  anchor.save(antControllers, ant.controllers);
  requirePageOf(anchor, acl, controller);
  addEntry(anchor, acl, ant.asset, 'controller', caller);
}

function removeController(anchor: AnchorCall, controller: SolanaAddress): void {
  const ant = takeGoverned(anchor);
  const acl = takeAcl(anchor);
  const caller = anchor.signer('caller', 'r');
  insist(mayAct(anchor, ant, caller), anchor, 'Unauthorized');
  const { controllers } = ant.controllers.value;
  insist(controllers.includes(controller), anchor, 'ControllerNotFound');
  const left = controllers.filter((address) => address !== controller);
  ant.controllers.value = { ...ant.controllers.value, controllers: left };
  anchor.save(antControllers, ant.controllers);
  requirePageOf(anchor, acl, controller);
  removeEntry(anchor, acl, ant.asset, 'controller');
}

/** The asset, the controllers and both owners' lists change together. */
function transfer(anchor: AnchorCall): void {
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
  ant.controllers.value = { ...ant.controllers.value, controllers: [] };
  anchor.save(antControllers, ant.controllers);
  ant.config.value = { ...ant.config.value, lastKnownOwner: newOwner };
  anchor.save(antConfig, ant.config);
  addEntry(anchor, to, ant.asset, 'owner', caller);
  removeEntry(anchor, from, ant.asset, 'owner');
  anchor.call.log(`ANT ${ant.asset} transferred ${caller} -> ${newOwner}`);
}

/** Signed by the program itself through the asset's update authority; whoever pays may ask for it. */
function syncAttributes(anchor: AnchorCall, name: string, arnsProgram: SolanaAddress): void {
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
