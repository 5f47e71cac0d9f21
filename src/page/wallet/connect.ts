/** Which wallets there are to choose from, and taking one into use; it comes back at the next visit. */
import { type ReadonlySignal, signal } from '@preact/signals';
import { kept } from '../services/kept.ts';
import { settings } from '../services/settings.ts';
import { texts } from '../texts.ts';
import { findArweaveWallet } from './injected/arweave.ts';
import { findEthereumWallets } from './injected/ethereum.ts';
import type { InjectedWallet } from './injected/injected.ts';
import { findSolanaWallets } from './injected/solana.ts';
import { openLocalWallet } from './local.ts';
import { openMadeWallet } from './made.ts';
import { useWallet, type WalletKind } from './wallet.ts';

/** How the wallet in use is found again; no key and no secret. */
type Choice =
  | { readonly source: 'injected'; readonly kind: WalletKind; readonly id: string }
  | { readonly source: 'local'; readonly kind: WalletKind; readonly index: number }
  | { readonly source: 'made'; readonly address: string };

const choices = kept<Choice>('wallet');
const choiceKey = 'in use';

const found = signal<readonly InjectedWallet[]>([]);
export const injectedWallets: ReadonlySignal<readonly InjectedWallet[]> = found;

/** Wallets load later than pages; one that was in use is waited for so long. */
const lateWalletMs = 3_000;
let current: Choice | undefined;

/** Once, at the start of the page. */
export async function findWallets(): Promise<void> {
  const add = (wallet: InjectedWallet): void => {
    const others = found.value.filter(({ kind, id }) => kind !== wallet.kind || id !== wallet.id);
    found.value = [...others, wallet];
  };
  findArweaveWallet(add);
  findEthereumWallets(add);
  findSolanaWallets(add);
  await restore().catch(() => {
    // A wallet that cannot be had back is chosen anew.
  });
}

export async function connectInjected(wallet: InjectedWallet): Promise<void> {
  await take(wallet, false);
}

export async function connectLocal(kind: WalletKind, index: number): Promise<void> {
  const opened = await openLocalWallet(kind, index, texts.wallet.localLabel(index + 1));
  await choose({ source: 'local', kind, index });
  useWallet(opened);
}

export async function connectMade(address: string): Promise<void> {
  const opened = await openMadeWallet(address, texts.wallet.madeLabel);
  if (opened === undefined) throw new Error(texts.wallet.keyIsGone);
  await choose({ source: 'made', address });
  useWallet(opened);
}

export async function disconnect(): Promise<void> {
  current = undefined;
  useWallet(undefined);
  await choices.delete(choiceKey);
}

async function choose(choice: Choice): Promise<void> {
  current = choice;
  await choices.put(choiceKey, choice);
}

async function take(injected: InjectedWallet, silent: boolean): Promise<void> {
  const choice: Choice = { source: 'injected', kind: injected.kind, id: injected.id };
  const opened = await injected.connect({
    silent,
    onChange: (next) => {
      if (current !== choice) return;
      if (next === undefined) disconnect();
      else useWallet(next);
    },
  });
  if (opened === undefined) {
    if (silent) return;
    throw new Error(texts.wallet.noAccount(injected.name));
  }
  await choose(choice);
  useWallet(opened);
}

async function restore(): Promise<void> {
  const choice = await choices.get(choiceKey);
  if (choice === undefined) return;
  switch (choice.source) {
    case 'local':
      if (settings().controlsLocalNetwork) await connectLocal(choice.kind, choice.index);
      return;
    case 'made':
      await connectMade(choice.address);
      return;
    case 'injected': {
      const injected = await whenFound(choice.kind, choice.id);
      if (injected !== undefined) await take(injected, true);
    }
  }
}

function whenFound(kind: WalletKind, id: string): Promise<InjectedWallet | undefined> {
  return new Promise((resolve) => {
    const timer = setTimeout(() => finish(undefined), lateWalletMs);
    const stop = found.subscribe((wallets) => {
      const match = wallets.find((wallet) => wallet.kind === kind && wallet.id === id);
      // Subscribing calls at once, before there is anything to stop.
      if (match !== undefined) queueMicrotask(() => finish(match));
    });
    const finish = (match: InjectedWallet | undefined): void => {
      clearTimeout(timer);
      stop();
      resolve(match);
    };
  });
}
