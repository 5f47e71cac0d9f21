/** Who may act on an ANT: its asset's owner and, until the asset changes hands, the controllers that the owner named. */
import {
  type AntConfig,
  type AntControllers,
  antAddresses,
  antConfig,
  antControllers,
} from '../../../../formats/solana/accounts-ant.ts';
import type { SolanaAddress } from '../../../../formats/solana/address.ts';
import { coreAssetOwner } from '../../../../formats/solana/core-asset.ts';
import { type AntErrorName, antError } from '../../../../formats/solana/program-errors.ts';
import { coreProgram } from '../../../../formats/solana/programs.ts';
import { parsed } from '../../runtime/errors.ts';
import { type AnchorCall, failProgram, type Typed } from '../anchor.ts';

export function refuse(anchor: AnchorCall, name: AntErrorName): never {
  failProgram(anchor.call, antError(name));
}

export function insist(condition: boolean, anchor: AnchorCall, name: AntErrorName): void {
  if (!condition) refuse(anchor, name);
}

export const at = (anchor: AnchorCall) => antAddresses(anchor.call.programId);

export function ownerOf(anchor: AnchorCall, asset: SolanaAddress): SolanaAddress {
  const account = anchor.call.account(asset);
  insist(account.owner === coreProgram, anchor, 'InvalidAsset');
  return parsed(() => coreAssetOwner(account.data), 'InvalidAccountData');
}

/** Asset, config and controllers: the three places that open almost every instruction. */
export interface Governed {
  readonly asset: SolanaAddress;
  readonly owner: SolanaAddress;
  readonly config: Typed<AntConfig>;
  readonly controllers: Typed<AntControllers>;
}

export function takeGoverned(anchor: AnchorCall, assetRights: 'w' | 'r' = 'r'): Governed {
  const asset = assetRights === 'w' ? anchor.writable('asset') : anchor.any();
  const config = anchor.typed(antConfig, 'ant_config', 'w', () => at(anchor).config(asset));
  const controllers = anchor.typed(antControllers, 'ant_controllers', 'w', () =>
    at(anchor).controllers(asset),
  );
  return { asset, owner: ownerOf(anchor, asset), config, controllers };
}

/** When the asset has changed hands since, the controllers of the former owner go. */
export function reconcile(anchor: AnchorCall, ant: Governed): boolean {
  if (ant.config.value.lastKnownOwner === ant.owner) return false;
  ant.controllers.value = { ...ant.controllers.value, controllers: [] };
  ant.config.value = { ...ant.config.value, lastKnownOwner: ant.owner };
  anchor.save(antControllers, ant.controllers);
  anchor.save(antConfig, ant.config);
  return true;
}

/** Reconciles, then answers whether the caller is the owner or a controller. */
export function mayAct(anchor: AnchorCall, ant: Governed, caller: SolanaAddress): boolean {
  reconcile(anchor, ant);
  return caller === ant.owner || ant.controllers.value.controllers.includes(caller);
}
