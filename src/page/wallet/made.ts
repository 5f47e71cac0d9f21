/**
 * Keys made in this browser. They are kept in a form that no script can read out again: as keys of the browser's own, or
 * encrypted by one (secp256k1, and Ed25519 where the browser lacks it). Whoever wants a copy gets it when the key is made.
 */
import { encodeBase58, encodeHex } from '../services/encoding.ts';
import { kept } from '../services/kept.ts';
import { keyWallet } from './key-wallet.ts';
import {
  arweaveAddressOf,
  arweaveSigner,
  importArweaveKey,
  makeArweaveKey,
  modulusOf,
} from './keys/arweave-key.ts';
import type { KeySigner } from './keys/key-signer.ts';
import { importSolanaKey, makeSolanaSeed, solanaPublicKey, solanaSigner } from './keys/solana-key.ts';
import type { Wallet, WalletKind } from './wallet.ts';

interface Sealed {
  readonly sealing: CryptoKey;
  readonly iv: Uint8Array<ArrayBuffer>;
  readonly bytes: ArrayBuffer;
}

interface MadeKey {
  readonly kind: WalletKind;
  readonly address: string;
  readonly madeAt: number;
  readonly publicKey: Uint8Array<ArrayBuffer>;
  readonly key: CryptoKey | Sealed;
}

const madeKeys = kept<MadeKey>('keys');

/** The key as the chain's own tools keep it in a file. */
export interface KeyFile {
  readonly name: string;
  readonly type: string;
  readonly text: string;
}

export interface Made {
  readonly address: string;
  readonly file: KeyFile;
}

/** Makes a key and keeps it; RSA takes some seconds, off the page's thread. */
export async function makeKey(kind: WalletKind): Promise<Made> {
  const { made, file } = await makers[kind]();
  await madeKeys.put(made.address, made);
  // Without it a browser that is short of room may drop what sites keep.
  navigator.storage?.persist?.().catch(() => {});
  return { address: made.address, file };
}

export const listMadeKeys = async (): Promise<readonly Pick<MadeKey, 'kind' | 'address' | 'madeAt'>[]> =>
  (await madeKeys.all()).sort((left, right) => left.madeAt - right.madeAt);

/** Undefined where this browser does not have it. */
export async function openMadeWallet(address: string, label: string): Promise<Wallet | undefined> {
  const made = await madeKeys.get(address);
  return made && keyWallet(await signerOf(made), { address, label, source: 'made' });
}

/** What it owns is lost with it, unless there is a copy. */
export const forgetKey = (address: string): Promise<void> => madeKeys.delete(address);

const makers: Readonly<Record<WalletKind, () => Promise<{ made: MadeKey; file: KeyFile }>>> = {
  async arweave() {
    const jwk = await makeArweaveKey();
    const publicKey = modulusOf(jwk);
    const address = await arweaveAddressOf(publicKey);
    const key = await importArweaveKey(jwk);
    const file = keyFile('arweave', address, JSON.stringify(jwk), 'json');
    return { made: { kind: 'arweave', address, madeAt: Date.now(), publicKey, key }, file };
  },
  async solana() {
    const seed = makeSolanaSeed();
    const publicKey = await solanaPublicKey(seed);
    const address = encodeBase58(publicKey);
    const imported = await importSolanaKey(seed);
    const key = imported instanceof Uint8Array ? await seal(imported) : imported;
    const file = keyFile('solana', address, JSON.stringify([...seed, ...publicKey]), 'json');
    return { made: { kind: 'solana', address, madeAt: Date.now(), publicKey, key }, file };
  },
  async ethereum() {
    const { ethereumAddressOf, ethereumPublicKey, makeEthereumKey } = await import('./keys/ethereum-key.ts');
    const secret = makeEthereumKey();
    const publicKey = new Uint8Array(ethereumPublicKey(secret));
    const address = ethereumAddressOf(publicKey);
    const file = keyFile('ethereum', address, `0x${encodeHex(secret)}`, 'txt');
    const key = await seal(secret);
    return { made: { kind: 'ethereum', address, madeAt: Date.now(), publicKey, key }, file };
  },
};

async function signerOf({ kind, key, publicKey }: MadeKey): Promise<KeySigner> {
  switch (kind) {
    case 'arweave':
      if (!(key instanceof CryptoKey)) throw new TypeError('this key was kept in another form');
      return arweaveSigner(key, publicKey);
    case 'solana':
      return solanaSigner(key instanceof CryptoKey ? key : await unseal(key), publicKey);
    case 'ethereum': {
      if (key instanceof CryptoKey) throw new TypeError('this key was kept in another form');
      const { ethereumSigner } = await import('./keys/ethereum-key.ts');
      return ethereumSigner(publicKey, () => unseal(key));
    }
  }
}

async function seal(secret: Uint8Array<ArrayBuffer>): Promise<Sealed> {
  const sealing = await crypto.subtle.generateKey({ name: 'AES-GCM', length: 256 }, false, [
    'encrypt',
    'decrypt',
  ]);
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const bytes = await crypto.subtle.encrypt({ name: 'AES-GCM', iv }, sealing, secret);
  secret.fill(0);
  return { sealing, iv, bytes };
}

const unseal = async ({ sealing, iv, bytes }: Sealed): Promise<Uint8Array<ArrayBuffer>> =>
  new Uint8Array(await crypto.subtle.decrypt({ name: 'AES-GCM', iv }, sealing, bytes));

const keyFile = (kind: WalletKind, address: string, text: string, ending: string): KeyFile => ({
  name: `${kind}-key-${address.slice(0, 8)}.${ending}`,
  type: ending === 'json' ? 'application/json' : 'text/plain',
  text,
});
