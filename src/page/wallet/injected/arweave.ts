/** `window.arweaveWallet`, as Wander (formerly ArConnect) has it and others imitate it, some with fewer methods. */
import { decodeBase64, utf8 } from '../../services/encoding.ts';
import { texts } from '../../texts.ts';
import { arweaveNode } from '../key-wallet.ts';
import { pss } from '../keys/arweave-key.ts';
import { asked } from '../refusals.ts';
import { signedHeaders } from '../request.ts';
import { type ArweaveTransaction, newTransfer, postTransfer, signTransfer } from '../send/arweave.ts';
import type { Wallet } from '../wallet.ts';
import { type ConnectOptions, type InjectedWallet, safeName } from './injected.ts';

type Permission = 'ACCESS_ADDRESS' | 'ACCESS_PUBLIC_KEY' | 'SIGNATURE' | 'SIGN_TRANSACTION';

/** Of its methods those that are used here; each may be missing. */
interface ArweaveProvider {
  readonly walletName?: unknown;
  readonly events?: { on?(event: string, listener: (value: unknown) => void): void };
  connect?(permissions: readonly Permission[], app: { name: string }): Promise<void>;
  getPermissions?(): Promise<readonly string[]>;
  getActiveAddress?(): Promise<string>;
  getActivePublicKey?(): Promise<string>;
  signature?(message: Uint8Array, algorithm: typeof pss): Promise<Uint8Array>;
  signMessage?(message: Uint8Array, options: { hashAlgorithm: 'SHA-256' }): Promise<Uint8Array>;
  sign?(transaction: object): Promise<ArweaveTransaction>;
}

const permissions: readonly Permission[] = [
  'ACCESS_ADDRESS',
  'ACCESS_PUBLIC_KEY',
  'SIGNATURE',
  'SIGN_TRANSACTION',
];

/** `found` hears of the wallet now or when it loads. */
export function findArweaveWallet(found: (wallet: InjectedWallet) => void): void {
  const look = (): void => {
    const provider = (window as { arweaveWallet?: ArweaveProvider }).arweaveWallet;
    if (provider !== undefined) found(injectedWallet(provider));
  };
  look();
  window.addEventListener('arweaveWalletLoaded', look);
}

function injectedWallet(provider: ArweaveProvider): InjectedWallet {
  const given = safeName(provider.walletName, 'Arweave wallet');
  // It goes on calling itself by its earlier name, so that sites know it.
  const name = given === 'ArConnect' ? 'Wander' : given;
  return {
    kind: 'arweave',
    id: 'arweaveWallet',
    name,
    icon: undefined,
    connect: (options) => asked(() => connect(provider, name, options)),
  };
}

async function connect(
  provider: ArweaveProvider,
  name: string,
  { silent, onChange }: ConnectOptions,
): Promise<Wallet | undefined> {
  if (silent) {
    const granted = (await provider.getPermissions?.()) ?? [];
    if (!permissions.every((permission) => granted.includes(permission))) return undefined;
  } else {
    if (provider.connect === undefined) throw missing(name, 'connect');
    await provider.connect(permissions, { name: texts.product });
  }
  const use = (): Promise<Wallet> => walletOf(provider, name);
  const changed = (): void => {
    use().then(onChange, () => onChange(undefined));
  };
  provider.events?.on?.('activeAddress', changed);
  provider.events?.on?.('disconnect', () => onChange(undefined));
  window.addEventListener('walletSwitch', changed);
  return use();
}

async function walletOf(provider: ArweaveProvider, name: string): Promise<Wallet> {
  if (provider.getActiveAddress === undefined) throw missing(name, 'getActiveAddress');
  const address = await provider.getActiveAddress();
  let modulus: Promise<Uint8Array> | undefined;
  const publicKey = (): Promise<Uint8Array> => {
    modulus ??= readModulus(provider, name);
    return modulus;
  };
  const sign = async (message: Uint8Array): Promise<Uint8Array> => {
    if (provider.signature === undefined) throw missing(name, 'signature');
    return new Uint8Array(await provider.signature(message, pss));
  };
  const signer = {
    signatureType: 1 as const,
    publicKey,
    signItem: (message: Uint8Array) => asked(() => sign(message)),
    // Services take the signature of a message's hash too, as `signMessage` makes it.
    signText: (text: string) =>
      asked(async () => {
        if (provider.signature !== undefined || provider.signMessage === undefined) return sign(utf8(text));
        return new Uint8Array(await provider.signMessage(utf8(text), { hashAlgorithm: 'SHA-256' }));
      }),
  };
  return {
    kind: 'arweave',
    address,
    label: name,
    source: 'injected',
    ...signer,
    signRequest: (options) => signedHeaders(signer, options),
    send: (token, to, amount) => asked(() => send(provider, publicKey, sign, token, to, amount)),
  };
}

async function readModulus(provider: ArweaveProvider, name: string): Promise<Uint8Array> {
  if (provider.getActivePublicKey === undefined) throw missing(name, 'getActivePublicKey');
  return decodeBase64(await provider.getActivePublicKey()) ?? new Uint8Array();
}

/** The wallet shows the transaction where it can sign one, and may change its fee and tags. */
async function send(
  provider: ArweaveProvider,
  publicKey: () => Promise<Uint8Array>,
  sign: (message: Uint8Array) => Promise<Uint8Array>,
  token: string,
  to: string,
  winston: bigint,
): Promise<string> {
  if (token !== 'arweave') throw new TypeError(texts.wallet.cannotSend(token));
  const node = arweaveNode();
  const unsigned = await newTransfer(node, { to, winston });
  if (provider.sign === undefined)
    return postTransfer(node, await signTransfer(unsigned, await publicKey(), sign));
  const signed = await provider.sign({ ...unsigned, data: new Uint8Array(), data_tree: [] });
  const { id, last_tx, owner, target, quantity, reward, signature } = signed;
  const tags = signed.tags.map(({ name, value }) => ({ name, value }));
  return postTransfer(node, { ...unsigned, id, last_tx, owner, target, quantity, reward, signature, tags });
}

const missing = (name: string, method: string): Error => new Error(texts.wallet.lacks(name, method));
