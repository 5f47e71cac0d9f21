/** Per user, the list of ANTs that the user owns or controls, in pages: how wallets find their names without a search. */
import {
  type AclConfig,
  type AclPage,
  type AclRole,
  aclConfig,
  aclPage,
  aclPageSize,
  antConfig,
  antControllers,
  maxAclPageEntries,
} from '../../../../formats/solana/accounts-ant.ts';
import { schemaVersion } from '../../../../formats/solana/accounts-arns.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { antInstructions } from '../../../../formats/solana/instructions-ant.ts';
import { rentExemptMinimum } from '../../../../formats/solana/programs.ts';
import { transferLamports } from '../../../../formats/solana/system.ts';
import { type AnchorCall, type Handler, handler, type Typed } from '../anchor.ts';
import { at, insist, ownerOf } from './context.ts';

export const aclHandlers: readonly Handler[] = [
  handler(antInstructions.registerAclConfig, 15_000, (anchor, { user }) => registerAclConfig(anchor, user)),
  handler(antInstructions.addAclPage, 18_000, addAclPage),
  handler(antInstructions.recordAclOwner, 18_000, (anchor) => changeEntry(anchor, 'owner', 'record')),
  handler(antInstructions.recordAclController, 18_000, (anchor) =>
    changeEntry(anchor, 'controller', 'record'),
  ),
  handler(antInstructions.removeAclOwner, 15_000, (anchor) => changeEntry(anchor, 'owner', 'remove')),
  handler(antInstructions.removeAclController, 15_000, (anchor) =>
    changeEntry(anchor, 'controller', 'remove'),
  ),
];

/** A user's list head and one of its pages. */
export interface Acl {
  readonly config: Typed<AclConfig>;
  readonly page: Typed<AclPage>;
}

export function takeAcl(anchor: AnchorCall): Acl {
  const config = anchor.typed(aclConfig, 'acl_config', 'w', ({ user }) => at(anchor).aclConfig(user));
  const page = anchor.typed(aclPage, 'acl_page', 'w', ({ user, pageIndex }) =>
    at(anchor).aclPage(user, pageIndex),
  );
  return { config, page };
}

export function requirePageOf(anchor: AnchorCall, acl: Acl, user: SolanaAddress): void {
  insist(acl.config.value.user === user, anchor, 'AclConfigUserMismatch');
  insist(acl.page.value.user === user, anchor, 'AclPageUserMismatch');
  insist(acl.page.value.pageIndex < acl.config.value.pageCount, anchor, 'AclPageOutOfBounds');
}

/** The page grows by the entry; `payer` adds the rent. */
export function addEntry(
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
export function removeEntry(anchor: AnchorCall, acl: Acl, asset: SolanaAddress, role: AclRole): void {
  const entries = [...acl.page.value.entries];
  const index = entries.findIndex((entry) => entry.asset === asset && entry.role === role);
  insist(index >= 0, anchor, 'AclEntryNotFound');
  const last = entries.pop();
  if (last !== undefined && index < entries.length) entries[index] = last;
  acl.page.value = { ...acl.page.value, entries };
  anchor.save(aclPage, acl.page);
  count(anchor, acl, -1n);
}

function count(anchor: AnchorCall, acl: Acl, change: bigint): void {
  const total = acl.config.value.totalEntries + change;
  acl.config.value = { ...acl.config.value, totalEntries: total < 0n ? 0n : total };
  anchor.save(aclConfig, acl.config);
}

function registerAclConfig(anchor: AnchorCall, user: SolanaAddress): void {
  const derived = anchor.derived(at(anchor).aclConfig(user), 'acl_config');
  const payer = anchor.signer('payer');
  anchor.systemProgram();
  anchor.create(aclConfig, payer, derived, {
    user,
    pageCount: 0n,
    totalEntries: 0n,
    bump: derived.bump,
    version: schemaVersion,
  });
}

function addAclPage(anchor: AnchorCall): void {
  const config = anchor.typed(aclConfig, 'acl_config', 'w', ({ user }) => at(anchor).aclConfig(user));
  const { user, pageCount } = config.value;
  const derived = anchor.derived(at(anchor).aclPage(user, pageCount), 'acl_page');
  const payer = anchor.signer('payer');
  anchor.systemProgram();
  anchor.create(aclPage, payer, derived, {
    user,
    pageIndex: pageCount,
    entries: [],
    bump: derived.bump,
    version: schemaVersion,
  });
  config.value = { ...config.value, pageCount: pageCount + 1n };
  anchor.save(aclConfig, config);
}

/** Anybody may bring a list in line with what is true: never an entry that is false, never a true one removed. */
function changeEntry(anchor: AnchorCall, role: AclRole, change: 'record' | 'remove'): void {
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
