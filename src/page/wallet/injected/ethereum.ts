/** Ethereum wallets: those that announce themselves (EIP-6963), `window.ethereum` where none does; asked as EIP-1193 says. */
import { decodeHex, encodeHex, utf8 } from '../../services/encoding.ts';
import { kept } from '../../services/kept.ts';
import { settings } from '../../services/settings.ts';
import { texts } from '../../texts.ts';
import { asked } from '../refusals.ts';
import { signedHeaders } from '../request.ts';
import { chainOf, transferCall } from '../send/evm.ts';
import type { Wallet } from '../wallet.ts';
import { type ConnectOptions, type InjectedWallet, safeIcon, safeName } from './injected.ts';

interface Provider {
  request(asked: { method: string; params?: readonly unknown[] }): Promise<unknown>;
  on?(event: string, listener: (value: unknown) => void): void;
}

interface Announcement {
  readonly info?: {
    readonly uuid?: unknown;
    readonly name?: unknown;
    readonly icon?: unknown;
    readonly rdns?: unknown;
  };
  readonly provider?: Provider;
}

/** As published clients ask for it: a signature from which the public key is recovered. */
const connectText = 'sign this message to connect to your account';
const publicKeys = kept<Uint8Array<ArrayBuffer>>('public keys');
/** Wallets announce themselves at once when asked. */
const announceMs = 300;

export function findEthereumWallets(found: (wallet: InjectedWallet) => void): void {
  let announced = 0;
  window.addEventListener('eip6963:announceProvider', (event) => {
    const { info, provider } = (event as CustomEvent<Announcement>).detail ?? {};
    if (provider === undefined || typeof info?.rdns !== 'string') return;
    announced += 1;
    const name = safeName(info.name, 'Ethereum wallet');
    found(injectedWallet(provider, info.rdns, name, safeIcon(info.icon)));
  });
  window.dispatchEvent(new Event('eip6963:requestProvider'));
  setTimeout(() => {
    const { ethereum } = window as { ethereum?: Provider };
    if (announced > 0 || ethereum === undefined) return;
    found(injectedWallet(ethereum, 'window.ethereum', 'Ethereum wallet', undefined));
  }, announceMs);
}

const injectedWallet = (
  provider: Provider,
  id: string,
  name: string,
  icon: string | undefined,
): InjectedWallet => ({
  kind: 'ethereum',
  id,
  name,
  icon,
  connect: (options) => asked(() => connect(provider, name, options)),
});

async function connect(
  provider: Provider,
  name: string,
  { silent, onChange }: ConnectOptions,
): Promise<Wallet | undefined> {
  const accounts = await provider.request({ method: silent ? 'eth_accounts' : 'eth_requestAccounts' });
  provider.on?.('accountsChanged', (changed) => {
    walletOf(provider, name, changed).then(onChange, () => onChange(undefined));
  });
  return walletOf(provider, name, accounts);
}

async function walletOf(provider: Provider, name: string, accounts: unknown): Promise<Wallet | undefined> {
  const account: unknown = Array.isArray(accounts) ? accounts[0] : undefined;
  if (typeof account !== 'string' || !/^0x[0-9a-fA-F]{40}$/.test(account)) return undefined;
  const { checksummed, ethereumAddressOf, recoverKey } = await import('../keys/ethereum-key.ts');
  const address = checksummed(account);

  const sign = (message: Uint8Array): Promise<Uint8Array> =>
    asked(async () => {
      const answer = await provider.request({
        method: 'personal_sign',
        params: [`0x${encodeHex(message)}`, account],
      });
      const signature = decodeHex(String(answer));
      if (signature?.length !== 65) throw new Error(texts.wallet.notASignature(name));
      // Items take 27 and 28 alone.
      const v = signature[64] ?? 0;
      if (v < 27) signature[64] = v + 27;
      return signature;
    });
  const publicKey = async (): Promise<Uint8Array> => {
    const known = await publicKeys.get(address);
    if (known !== undefined) return known;
    const recovered = recoverKey(utf8(connectText), await sign(utf8(connectText)));
    if (recovered === undefined || ethereumAddressOf(recovered) !== address) {
      throw new Error(texts.wallet.notASignature(name));
    }
    await publicKeys.put(address, new Uint8Array(recovered));
    return recovered;
  };
  const signer = {
    signatureType: 3 as const,
    publicKey,
    signItem: sign,
    signText: (text: string) => sign(utf8(text)),
  };
  return {
    kind: 'ethereum',
    address,
    label: name,
    source: 'injected',
    ...signer,
    signRequest: (options) => signedHeaders(signer, options),
    signTypedData: (typedData) =>
      asked(async () => {
        const { domain } = typedData as { domain?: { chainId?: unknown } };
        if (typeof domain?.chainId === 'number') await switchChain(provider, domain.chainId);
        const params = [account, JSON.stringify(typedData)];
        return String(await provider.request({ method: 'eth_signTypedData_v4', params }));
      }),
    send: (token, to, amount) => asked(() => send(provider, account, token, to, amount)),
  };
}

async function send(
  provider: Provider,
  from: string,
  token: string,
  to: string,
  amount: bigint,
): Promise<string> {
  const call = transferCall(token, to, amount);
  if (call === undefined) throw new TypeError(texts.wallet.cannotSend(token));
  const chain = chainOf(token, settings().world);
  if (chain !== undefined) await switchChain(provider, chain);
  return String(await provider.request({ method: 'eth_sendTransaction', params: [{ from, ...call }] }));
}

/** Wallets sign and send for the chain that is active in them. Where it is the right one already, nobody is asked. */
async function switchChain(provider: Provider, chainId: number): Promise<void> {
  const wanted = `0x${chainId.toString(16)}`;
  if ((await provider.request({ method: 'eth_chainId' })) === wanted) return;
  await provider.request({ method: 'wallet_switchEthereumChain', params: [{ chainId: wanted }] });
}
