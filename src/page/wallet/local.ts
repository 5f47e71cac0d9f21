/** The funded wallets of the local network, whose keys everybody knows. */
import { askConsole } from '../services/console.ts';
import { decodeBase58, decodeHex } from '../services/encoding.ts';
import { settings } from '../services/settings.ts';
import { keyWallet } from './key-wallet.ts';
import { arweaveSigner, importArweaveKey, modulusOf } from './keys/arweave-key.ts';
import { importSolanaKey, solanaSigner } from './keys/solana-key.ts';
import type { Wallet, WalletKind } from './wallet.ts';

interface LocalWallets {
  readonly arweave: readonly { readonly address: string; readonly jwk: JsonWebKey }[];
  readonly ethereum: readonly { readonly address: string; readonly privateKey: string }[];
  readonly solana: readonly { readonly address: string; readonly secretKey: string }[];
}

let asked: Promise<LocalWallets> | undefined;

/** Addresses by kind; none where there is no local network. */
export async function localAddresses(): Promise<Readonly<Record<WalletKind, readonly string[]>> | undefined> {
  if (!settings().controlsLocalNetwork) return undefined;
  const { arweave, ethereum, solana } = await readLocalWallets();
  const addresses = (wallets: readonly { readonly address: string }[]) =>
    wallets.map(({ address }) => address);
  return { arweave: addresses(arweave), ethereum: addresses(ethereum), solana: addresses(solana) };
}

/** `index` from 0. */
export async function openLocalWallet(kind: WalletKind, index: number, label: string): Promise<Wallet> {
  const wallets = await readLocalWallets();
  const { address } = wallets[kind][index] ?? { address: undefined };
  if (address === undefined) throw new RangeError('the local network has no such wallet');
  return keyWallet(await signerOf(wallets, kind, index), { address, label, source: 'local' });
}

async function signerOf(wallets: LocalWallets, kind: WalletKind, index: number) {
  switch (kind) {
    case 'arweave': {
      const jwk = wallets.arweave[index]?.jwk ?? {};
      return arweaveSigner(await importArweaveKey(jwk), modulusOf(jwk));
    }
    case 'ethereum': {
      const { ethereumPublicKey, ethereumSigner } = await import('./keys/ethereum-key.ts');
      const key = decodeHex(wallets.ethereum[index]?.privateKey ?? '') ?? new Uint8Array();
      return ethereumSigner(ethereumPublicKey(key), () => Promise.resolve(key.slice()));
    }
    case 'solana': {
      const secret = decodeBase58(wallets.solana[index]?.secretKey ?? '') ?? new Uint8Array();
      return solanaSigner(await importSolanaKey(secret.subarray(0, 32)), secret.subarray(32));
    }
  }
}

function readLocalWallets(): Promise<LocalWallets> {
  asked ??= askConsole<LocalWallets>('GET', '/api/local/wallets').catch((error: unknown) => {
    asked = undefined;
    throw error;
  });
  return asked;
}
