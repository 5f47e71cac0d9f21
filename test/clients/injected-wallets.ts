/**
 * Browser wallets at their documented interfaces, with keys of the local network: Wander (`window.arweaveWallet`, which
 * rejects with strings), an Ethereum wallet (EIP-6963, EIP-1193) and a Solana one (Wallet Standard). The page sees the
 * interface; signatures are made here, by the product's own functions.
 */
import { constants, createPrivateKey, sign } from 'node:crypto';
import type { BrowserContext } from 'playwright-core';
import { parseTransactionJson, transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../src/formats/arweave/transaction-signature.ts';
import { personalMessageHash, signEthereumDigest } from '../../src/wallets/ethereum/personal-message.ts';
import { hashTypedData } from '../../src/wallets/ethereum/typed-data.ts';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { ed25519PrivateKey, ed25519RawPublicKey, signEd25519 } from '../../src/wallets/solana/ed25519.ts';

export type InjectedKind = 'arweave' | 'ethereum' | 'solana';

export interface InjectedOptions {
  /** Which are there; all unless said otherwise. */
  readonly kinds?: readonly InjectedKind[];
  /** Which of the local network's wallets they have, from 0. */
  readonly index?: number;
  /** Methods and features that a wallet lacks, as imitations do. */
  readonly without?: readonly string[];
}

export interface InjectedWallets {
  readonly addresses: Readonly<Record<InjectedKind, string>>;
  /** From now on the person says no, or yes again. */
  refuse(isRefused: boolean): void;
  /** What the person was asked, in order: `arweave signature`, `ethereum personal_sign`, … */
  readonly asked: readonly string[];
}

/** Before the first page is opened. Names are Wander, Test Ether and Test Sol. */
export async function injectWallets(
  context: BrowserContext,
  { kinds = ['arweave', 'ethereum', 'solana'], index = 0, without = [] }: InjectedOptions = {},
): Promise<InjectedWallets> {
  const local = localWallets();
  const [arweave, ethereum, solana] = [local.arweave[index], local.ethereum[index], local.solana[index]];
  if (arweave === undefined || ethereum === undefined || solana === undefined)
    throw new Error('no such wallet');
  const rsa = createPrivateKey({ key: { ...arweave.jwk }, format: 'jwk' });
  const secret = Buffer.from(ethereum.privateKey.slice(2), 'hex');
  const seed = ed25519PrivateKey(Buffer.from(solana.bytes.slice(0, 32)));
  const asked: string[] = [];
  let isRefused = false;

  const signers: Readonly<Record<string, (input: string) => Promise<string> | string>> = {
    'arweave signature': (hex) =>
      sign('sha256', Buffer.from(hex, 'hex'), {
        key: rsa,
        padding: constants.RSA_PKCS1_PSS_PADDING,
        saltLength: 32,
      }).toString('hex'),
    'arweave sign': async (json) => {
      const {
        id: _id,
        signature: _signature,
        ...unsigned
      } = parseTransactionJson({
        ...JSON.parse(json),
        id: 'A'.repeat(43),
        signature: 'AA',
      });
      return JSON.stringify(transactionToJson(await signTransactionAsync(unsigned, rsa), 'header'));
    },
    'ethereum personal_sign': (hex) =>
      `0x${signEthereumDigest(personalMessageHash(Buffer.from(hex, 'hex')), secret).toString('hex')}`,
    'ethereum eth_signTypedData_v4': (json) => {
      const { types, ...data } = JSON.parse(json);
      const { EIP712Domain: _domain, ...own } = types;
      return `0x${signEthereumDigest(hashTypedData({ ...data, types: own }), secret).toString('hex')}`;
    },
    'solana sign': (hex) => signEd25519(seed, Buffer.from(hex, 'hex')).toString('hex'),
  };
  await context.exposeFunction('askTestWallet', async (what: string, input: string) => {
    asked.push(what);
    if (isRefused) return { refused: true };
    // Connecting and switching chains are questions without a signature.
    return { answer: (await signers[what]?.(input)) ?? '' };
  });
  await context.addInitScript(installWallets, {
    kinds,
    without,
    arweave: { address: arweave.address, modulus: arweave.jwk.n },
    ethereum: { address: ethereum.address },
    solana: { address: solana.address, publicKey: [...ed25519RawPublicKey(seed)] },
  });
  return {
    addresses: { arweave: arweave.address, ethereum: ethereum.address, solana: solana.address },
    refuse(next) {
      isRefused = next;
    },
    asked,
  };
}

interface Installed {
  readonly kinds: readonly InjectedKind[];
  readonly without: readonly string[];
  readonly arweave: { readonly address: string; readonly modulus: string };
  readonly ethereum: { readonly address: string };
  readonly solana: { readonly address: string; readonly publicKey: readonly number[] };
}

/** Runs in the page, before its own program; so it may use nothing of this module. */
function installWallets({ kinds, without, arweave, ethereum, solana }: Installed): void {
  type Asking = (what: string, input: string) => Promise<{ refused?: true; answer?: string }>;
  const page = globalThis as unknown as Record<string, unknown> & {
    addEventListener(type: string, listener: (event: { detail?: unknown }) => void): void;
    dispatchEvent(event: unknown): void;
    localStorage: { getItem(key: string): string | null; setItem(key: string, value: string): void };
  };
  const ask = async (what: string, input: string, refusal: unknown): Promise<string> => {
    const { refused, answer = '' } = await (page.askTestWallet as Asking)(what, input);
    if (refused) throw refusal;
    return answer;
  };
  const toHex = (bytes: Uint8Array) =>
    Array.from(bytes, (byte) => byte.toString(16).padStart(2, '0')).join('');
  const fromHex = (hex: string) =>
    Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
  const without_ = (methods: Record<string, unknown>) =>
    Object.fromEntries(Object.entries(methods).filter(([name]) => !without.includes(name)));
  /** Wallets remember which sites may see them, not the sites. */
  const grants = {
    has: (kind: string) => page.localStorage.getItem(`test wallet ${kind}`) !== null,
    add: (kind: string) => page.localStorage.setItem(`test wallet ${kind}`, 'yes'),
  };

  if (kinds.includes('arweave')) {
    const refusal = 'User cancelled the AuthRequest';
    const permitted = (method: string): void => {
      if (!grants.has('arweave')) throw `Missing permission(s) for "${method}"`;
    };
    const wallet = without_({
      walletName: 'ArConnect',
      walletVersion: '1.41.3',
      events: { on() {}, off() {}, emit() {} },
      async connect(permissions: readonly string[]) {
        if (permissions.length === 0) throw new Error('No permissions requested');
        if (!grants.has('arweave')) await ask('arweave connect', '', refusal);
        grants.add('arweave');
      },
      async getPermissions() {
        return grants.has('arweave')
          ? ['ACCESS_ADDRESS', 'ACCESS_PUBLIC_KEY', 'SIGNATURE', 'SIGN_TRANSACTION']
          : [];
      },
      async getActiveAddress() {
        permitted('getActiveAddress');
        return arweave.address;
      },
      async getActivePublicKey() {
        permitted('getActivePublicKey');
        return arweave.modulus;
      },
      async signature(data: Uint8Array, algorithm: { name: string; saltLength: number }) {
        permitted('signature');
        if (!(data instanceof Uint8Array)) throw new Error('Input is not an ArrayBuffer.');
        if (algorithm.name !== 'RSA-PSS' || algorithm.saltLength !== 32) throw new Error('Invalid algorithm');
        return fromHex(await ask('arweave signature', toHex(data), 'User rejected the signature request'));
      },
      async sign(transaction: Record<string, unknown>) {
        permitted('sign');
        const { data: _data, data_tree: _tree, ...fields } = transaction;
        return JSON.parse(await ask('arweave sign', JSON.stringify({ ...fields, data: '' }), refusal));
      },
    });
    // Extensions load after the page's first script.
    setTimeout(() => {
      page.arweaveWallet = wallet;
      page.dispatchEvent(new CustomEvent('arweaveWalletLoaded', { detail: {} }));
    }, 50);
  }

  if (kinds.includes('ethereum')) {
    const refusal = { code: 4001, message: 'User rejected the request.' };
    let chain = '0x1';
    const provider = {
      on() {},
      removeListener() {},
      async request({ method, params = [] }: { method: string; params?: readonly unknown[] }) {
        if (without.includes(method)) throw { code: 4200, message: `The method ${method} is not supported.` };
        switch (method) {
          case 'eth_requestAccounts':
            if (!grants.has('ethereum')) await ask('ethereum connect', '', refusal);
            grants.add('ethereum');
            return [ethereum.address.toLowerCase()];
          case 'eth_accounts':
            return grants.has('ethereum') ? [ethereum.address.toLowerCase()] : [];
          case 'eth_chainId':
            return chain;
          case 'wallet_switchEthereumChain':
            await ask('ethereum wallet_switchEthereumChain', '', refusal);
            chain = (params[0] as { chainId: string }).chainId;
            return null;
          case 'personal_sign':
            return ask('ethereum personal_sign', String(params[0]).slice(2), refusal);
          case 'eth_signTypedData_v4': {
            const { domain } = JSON.parse(String(params[1]));
            if (`0x${domain.chainId.toString(16)}` !== chain) {
              throw { code: -32602, message: 'Provided chainId must match the active chainId' };
            }
            return ask('ethereum eth_signTypedData_v4', String(params[1]), refusal);
          }
          default:
            throw { code: 4200, message: `The method ${method} is not supported.` };
        }
      },
    };
    const info = {
      uuid: '350670db-19fa-4704-a166-e52e178b59d2',
      name: 'Test Ether',
      icon: "data:image/svg+xml,<svg xmlns='http://www.w3.org/2000/svg'/>",
      rdns: 'example.test.ether',
    };
    const announce = () =>
      page.dispatchEvent(
        new CustomEvent('eip6963:announceProvider', { detail: Object.freeze({ info, provider }) }),
      );
    page.addEventListener('eip6963:requestProvider', announce);
    announce();
  }

  if (kinds.includes('solana')) {
    const refusal = new Error('User rejected the request.');
    const account = {
      address: solana.address,
      publicKey: Uint8Array.from(solana.publicKey),
      chains: ['solana:localnet', 'solana:mainnet'],
      features: ['solana:signMessage', 'solana:signTransaction'],
    };
    const wallet = {
      version: '1.0.0',
      name: 'Test Sol',
      icon: 'data:image/svg+xml;base64,PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciLz4=',
      chains: account.chains,
      accounts: [],
      features: without_({
        'standard:connect': {
          version: '1.0.0',
          async connect(input: { silent?: boolean } = {}) {
            if (!grants.has('solana') && input.silent) return { accounts: [] };
            if (!grants.has('solana')) await ask('solana connect', '', refusal);
            grants.add('solana');
            return { accounts: [account] };
          },
        },
        'standard:events': { version: '1.0.0', on: () => () => {} },
        'solana:signMessage': {
          version: '1.1.0',
          async signMessage({ message }: { message: Uint8Array }) {
            const signature = fromHex(await ask('solana sign', toHex(message), refusal));
            return [{ signedMessage: message, signature }];
          },
        },
        'solana:signTransaction': {
          version: '1.0.0',
          supportedTransactionVersions: ['legacy', 0],
          async signTransaction({ transaction, chain }: { transaction: Uint8Array; chain?: string }) {
            if (chain !== undefined && !account.chains.includes(chain)) throw new Error('Unsupported chain');
            const count = transaction[0] ?? 0;
            const message = transaction.subarray(1 + 64 * count);
            const keys = (message[0] ?? 0) >= 0x80 ? 5 : 4;
            const own = toHex(account.publicKey);
            const place = Array.from({ length: count }, (_, at) => at).find(
              (at) => toHex(message.subarray(keys + 32 * at, keys + 32 * at + 32)) === own,
            );
            if (place === undefined) throw new Error('Not a signer');
            const signedTransaction = new Uint8Array(transaction);
            signedTransaction.set(fromHex(await ask('solana sign', toHex(message), refusal)), 1 + 64 * place);
            return [{ signedTransaction }];
          },
        },
      }),
    };
    const register = (api: unknown) => (api as { register(wallet: unknown): void }).register(wallet);
    page.addEventListener('wallet-standard:app-ready', ({ detail }) => register(detail));
    page.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }));
  }
}
