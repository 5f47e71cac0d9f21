/** The wallets that the local network has funded: the same on every machine, their keys known to everyone. */

/** A JSON Web Key as Arweave's clients take it. */
export interface ArweaveJwk {
  readonly kty: string;
  readonly n: string;
  readonly e: string;
  readonly d?: string;
  readonly p?: string;
  readonly q?: string;
  readonly dp?: string;
  readonly dq?: string;
  readonly qi?: string;
}

export interface ArweaveWallet {
  readonly address: string;
  readonly jwk: ArweaveJwk;
}

export interface EthereumWallet {
  readonly address: string;
  /** `0x` and 64 hex digits. */
  readonly privateKey: string;
}

export interface SolanaWallet {
  readonly address: string;
  /** Seed and public key in base58, as browser wallets take it. */
  readonly secretKey: string;
  /** The same 64 bytes as Solana's own tools keep them in a file. */
  readonly bytes: readonly number[];
}

export interface Wallets {
  /** From which the Ethereum and Solana wallets come. */
  readonly mnemonic: string;
  readonly arweave: readonly ArweaveWallet[];
  readonly ethereum: readonly EthereumWallet[];
  readonly solana: readonly SolanaWallet[];
}

export type AnyWallet = ArweaveWallet | EthereumWallet | SolanaWallet;
