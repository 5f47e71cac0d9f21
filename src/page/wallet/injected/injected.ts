/** What the three kinds of injected wallets have in common for the chooser. */
import type { Wallet, WalletKind } from '../wallet.ts';

export interface InjectedWallet {
  readonly kind: WalletKind;
  /** The same at the next visit. */
  readonly id: string;
  readonly name: string;
  /** A `data:` address of an image, shown in an image and nowhere else. */
  readonly icon: string | undefined;
  /**
   * Connects; `silent` asks the person nothing, and answers undefined where that is not possible. `onChange` hears of
   * another account, or of none.
   */
  connect(options: ConnectOptions): Promise<Wallet | undefined>;
}

export interface ConnectOptions {
  readonly silent: boolean;
  readonly onChange: (next: Wallet | undefined) => void;
}

/** Of strangers: an image and nothing else. */
export function safeIcon(icon: unknown): string | undefined {
  return typeof icon === 'string' &&
    icon.length < 200_000 &&
    /^data:image\/(?:svg\+xml|png|webp|gif|jpeg)[;,]/.test(icon)
    ? icon
    : undefined;
}

/** A stranger's name for itself. */
export const safeName = (name: unknown, otherwise: string): string =>
  typeof name === 'string' && name.trim() !== '' ? name.trim().slice(0, 40) : otherwise;
