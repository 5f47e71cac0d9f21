/** Solana wallets by the Wallet Standard: they register with the page, and the page asks them to. */
import { encodeHex, utf8 } from '../../services/encoding.ts';
import { serviceUrl, settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { sendSol } from '../key-wallet.ts';
import { asked } from '../refusals.ts';
import { signedHeaders } from '../request.ts';
import type { Wallet } from '../wallet.ts';
import { type ConnectOptions, type InjectedWallet, safeIcon, safeName } from './injected.ts';

interface Account {
  readonly address: string;
  readonly publicKey: Uint8Array;
  readonly chains: readonly string[];
}

interface Features {
  readonly 'standard:connect'?: {
    connect(input?: { silent?: boolean }): Promise<{ readonly accounts: readonly Account[] }>;
  };
  readonly 'standard:events'?: {
    on(event: 'change', listener: (change: { readonly accounts?: readonly Account[] }) => void): () => void;
  };
  readonly 'solana:signMessage'?: {
    signMessage(input: {
      account: Account;
      message: Uint8Array;
    }): Promise<readonly { readonly signature: Uint8Array; readonly signedMessage?: Uint8Array }[]>;
  };
  readonly 'solana:signTransaction'?: {
    signTransaction(input: {
      account: Account;
      transaction: Uint8Array;
      chain: string;
    }): Promise<readonly { readonly signedTransaction: Uint8Array }[]>;
  };
}

interface StandardWallet {
  readonly name: string;
  readonly icon?: string;
  readonly chains?: readonly string[];
  readonly features: Features;
  readonly accounts: readonly Account[];
}

const isOfSolana = (chain: string): boolean => chain.startsWith('solana:');

export function findSolanaWallets(found: (wallet: InjectedWallet) => void): void {
  const register = (...wallets: readonly StandardWallet[]): (() => void) => {
    for (const wallet of wallets) {
      if (wallet.chains?.some(isOfSolana) === true && wallet.features['standard:connect'] !== undefined) {
        found(injectedWallet(wallet));
      }
    }
    return () => {};
  };
  window.addEventListener('wallet-standard:register-wallet', (event) => {
    const { detail } = event as CustomEvent<(api: { register: typeof register }) => void>;
    if (typeof detail === 'function') detail({ register });
  });
  window.dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: { register } }));
}

function injectedWallet(wallet: StandardWallet): InjectedWallet {
  const name = safeName(wallet.name, 'Solana wallet');
  return {
    kind: 'solana',
    id: name,
    name,
    icon: safeIcon(wallet.icon),
    connect: (options) => asked(() => connect(wallet, name, options)),
  };
}

async function connect(
  { features }: StandardWallet,
  name: string,
  { silent, onChange }: ConnectOptions,
): Promise<Wallet | undefined> {
  const use = (accounts: readonly Account[] = []): Wallet | undefined => {
    const account = accounts.find(({ chains }) => chains.some(isOfSolana));
    return account && walletOf(features, account, name);
  };
  const answer = await features['standard:connect']?.connect(silent ? { silent } : {});
  features['standard:events']?.on('change', ({ accounts }) => {
    if (accounts !== undefined) onChange(use(accounts));
  });
  return use(answer?.accounts);
}

function walletOf(features: Features, account: Account, name: string): Wallet {
  const sign = (message: Uint8Array): Promise<Uint8Array> =>
    asked(async () => {
      const feature = features['solana:signMessage'];
      if (feature === undefined) throw new Error(texts.wallet.lacks(name, 'solana:signMessage'));
      const [signed] = await feature.signMessage({ account, message });
      // A wallet may put something in front of the message; then nobody takes the signature for the message's.
      const other =
        signed?.signedMessage !== undefined && encodeHex(signed.signedMessage) !== encodeHex(message);
      if (signed?.signature.length !== 64 || other) throw new Error(texts.wallet.notASignature(name));
      return new Uint8Array(signed.signature);
    });
  const transactions = features['solana:signTransaction'];
  const signSolanaTransaction =
    transactions &&
    ((transaction: Uint8Array): Promise<Uint8Array> =>
      asked(async () => {
        const [signed] = await transactions.signTransaction({ account, transaction, chain: cluster() });
        if (signed === undefined) throw new Error(texts.wallet.notASignature(name));
        return new Uint8Array(signed.signedTransaction);
      }));
  const publicKey = new Uint8Array(account.publicKey);
  const signer = {
    signatureType: 4 as const,
    publicKey: () => Promise.resolve(publicKey),
    signItem: (message: Uint8Array) => sign(utf8(encodeHex(message))),
    signText: (text: string) => sign(utf8(text)),
  };
  return {
    kind: 'solana',
    address: account.address,
    label: name,
    source: 'injected',
    ...signer,
    signRequest: (options) => signedHeaders(signer, options),
    signSolanaTransaction,
    // The wallet signs and the page sends: wallets send to a cluster of their own.
    send:
      signSolanaTransaction !== undefined && serviceUrl('solana') !== undefined
        ? (token, to, amount) => {
            if (token !== 'solana') throw new TypeError(texts.wallet.cannotSend(token));
            return sendSol(account.address, to, amount, signSolanaTransaction);
          }
        : undefined,
  };
}

/** Only wallets care: the transaction itself names a block of its cluster. */
const cluster = (): string =>
  ({ local: 'solana:localnet', testnet: 'solana:devnet', public: 'solana:mainnet' })[settings().world];
