/** The wallets whose items the load sends: any number of them, the same in every process. */
import { itemOwner } from '../src/wallets/data-items/owner.ts';
import { type ItemSigner, solanaSigner } from '../src/wallets/data-items/signer.ts';
import { ed25519TestKey } from '../src/wallets/testing/keys.ts';

const signers = new Map<number, ItemSigner>();

export function loadSigner(wallet: number): ItemSigner {
  const signer = signers.get(wallet) ?? solanaSigner(ed25519TestKey(`load ${wallet}`));
  signers.set(wallet, signer);
  return signer;
}

export const loadAddress = (wallet: number): string => itemOwner(4, loadSigner(wallet).owner).wallet.address;
