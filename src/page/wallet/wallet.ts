/**
 * The wallet that the person uses in the console, whatever it is made of: an injected one, one of the local network, a key
 * made in this browser.
 */
import { type ReadonlySignal, signal } from '@preact/signals';
import type { BoundRequest } from './request.ts';

export type WalletKind = 'arweave' | 'ethereum' | 'solana';

export interface Wallet {
  readonly kind: WalletKind;
  /** As its chain writes it. */
  readonly address: string;
  /** `Wander`, `MetaMask`, `Local wallet 3`, `Key in this browser` */
  readonly label: string;
  readonly source: 'injected' | 'local' | 'made';
  /** Raw, as an ANS-104 owner of this kind has it (Ethereum: 65 bytes, recovered from one signature where the wallet does not tell it). */
  publicKey(): Promise<Uint8Array>;
  /** Of its ANS-104 items: Arweave 1, Ethereum 3, Solana 4 (the hex text is signed). */
  readonly signatureType: 1 | 2 | 3 | 4;
  /** Signs the 48-byte deep hash of an item as that signature type demands. */
  signItem(message: Uint8Array): Promise<Uint8Array>;
  /** Signs text as it is, as signed requests and owners' proofs demand (Ethereum: EIP-191). */
  signText(text: string): Promise<Uint8Array>;
  /** Headers of a signed request, as published clients send them; bound to one request where that is named. */
  signRequest(options?: SignRequestOptions): Promise<Readonly<Record<string, string>>>;
  /** Signs a Solana transaction (wire bytes) and answers it with the signature in; undefined where the wallet cannot. */
  readonly signSolanaTransaction?: ((transaction: Uint8Array) => Promise<Uint8Array>) | undefined;
  /** EIP-712, as `eth_signTypedData_v4` takes it; answers `0x` hex. */
  readonly signTypedData?: ((typedData: object) => Promise<string>) | undefined;
  /** Sends so many of a token's smallest units to an address of its chain and answers the transaction's id; undefined where it cannot. */
  readonly send?: ((token: string, to: string, amount: bigint) => Promise<string>) | undefined;
}

export interface SignRequestOptions {
  /** A UUID of the caller's to act with; a random one to read with otherwise. */
  readonly nonce?: string;
  /** Names the one service and request that the signature is good for. */
  readonly boundTo?: BoundRequest;
}

/** The person said no. */
export class WalletRefused extends Error {
  override readonly name = 'WalletRefused';
}

const connected = signal<Wallet | undefined>(undefined);

/** The one in use; comes back after a reload where its source allows it. */
export const wallet: ReadonlySignal<Wallet | undefined> = connected;

/** What the chooser offers; undefined while it is closed. */
export const chooser = signal<{ readonly kinds: readonly WalletKind[] | undefined } | undefined>(undefined);

let waiting: ((chosen: Wallet | undefined) => void)[] = [];

/** Opens the dialog in which a wallet is chosen or left. */
export function openWalletChooser(kinds?: readonly WalletKind[]): void {
  chooser.value = { kinds };
}

/** The one in use, if it is of such a kind, or what the person chooses now; undefined when nothing is chosen. */
export function needWallet(kinds?: readonly WalletKind[]): Promise<Wallet | undefined> {
  const current = connected.value;
  if (current !== undefined && (kinds === undefined || kinds.includes(current.kind))) {
    return Promise.resolve(current);
  }
  return new Promise((resolve) => {
    waiting.push(resolve);
    openWalletChooser(kinds);
  });
}

/** Takes a wallet into use, and tells who waits for one. */
export function useWallet(next: Wallet | undefined): void {
  connected.value = next;
  if (next !== undefined) closeWalletChooser();
}

export function closeWalletChooser(): void {
  const kinds = chooser.value?.kinds;
  chooser.value = undefined;
  const current = connected.value;
  const fits = current !== undefined && (kinds === undefined || kinds.includes(current.kind));
  const told = waiting;
  waiting = [];
  for (const tell of told) tell(fits ? current : undefined);
}
