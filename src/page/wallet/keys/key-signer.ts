/** What a key of any kind can sign once it is in the page. */
import type { WalletKind } from '../wallet.ts';

export interface KeySigner {
  readonly kind: WalletKind;
  readonly signatureType: 1 | 3 | 4;
  /** Raw, as an ANS-104 owner of this kind has it. */
  readonly publicKey: Uint8Array;
  signItem(message: Uint8Array): Promise<Uint8Array>;
  signText(text: string): Promise<Uint8Array>;
  /** As the chain's own transactions want it: Arweave's deep hash, Solana's message. */
  signBytes(message: Uint8Array): Promise<Uint8Array>;
  /** Ethereum alone. */
  signTypedData?(typedData: object): Promise<string>;
}
