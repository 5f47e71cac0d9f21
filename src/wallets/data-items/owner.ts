/**
 * The owner of data items: the key in an item's header, ready to verify with. What depends on the key alone
 * (its parsed form, the hash of the fields that all its items share, its address) is made once and kept for
 * the owners seen last.
 */
import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { SignatureType } from '../../formats/ans104/signature-types.ts';
import {
  messagePrefix,
  plainPrefix,
  type SignedFields,
  signedMessage,
  signedMessageFromTags,
} from '../../formats/ans104/signed-message.ts';
import type { WalletAddress } from '../address.ts';
import { type AddressForms, formsOfAddress, formsOfEthereumKey, formsOfSolanaKey } from '../address-forms.ts';
import { arweaveAddress, arweavePublicKey, verifyPss, verifyPssAsync } from '../arweave/rsa.ts';
import { ethereumAddress, parseEthereumAddress } from '../ethereum/address.ts';
import { personalMessageHash, recoverEthereumKey } from '../ethereum/personal-message.ts';
import { hashTypedData } from '../ethereum/typed-data.ts';
import { solanaAddress } from '../solana/address.ts';
import { ed25519PublicKey, verifyEd25519, verifyEd25519Async } from '../solana/ed25519.ts';
import { verifyMultiSignature } from './multi-signature.ts';

export interface VerifyOptions {
  /**
   * For items that are on the chain already: Ethereum recovery bytes 0 and 1 count as 27 and 28. Never where
   * an item is taken in or paid for, because it gives one signature several ids.
   */
  readonly lenient?: boolean;
}

class ItemOwner {
  readonly signatureType: SignatureType;
  /** A copy of the key as it is in the item. */
  readonly key: Buffer;
  /** Accumulator of the signed message after the owner. */
  readonly prefix: Buffer;
  readonly #verify: Verifier;
  readonly #verifyAsync: AsyncVerifier | undefined;
  #plainPrefix: Buffer | undefined;
  #digest: Buffer | undefined;
  #wallet: WalletAddress | undefined;
  #forms: AddressForms | undefined;

  constructor(signatureType: SignatureType, key: Uint8Array) {
    this.signatureType = signatureType;
    this.key = Buffer.from(key);
    this.prefix = messagePrefix(signatureType, key);
    const { verify, verifyAsync } = makeVerifier(signatureType, this.key);
    this.#verify = verify;
    this.#verifyAsync = verifyAsync;
  }

  /** The 48-byte message of an item of this owner, given the deep hash of its payload. */
  message(fields: SignedFields, dataHash: Uint8Array): Buffer {
    if (fields.target.length > 0 || fields.anchor.length > 0) {
      return signedMessage(this.prefix, fields, dataHash);
    }
    this.#plainPrefix ??= plainPrefix(this.prefix);
    return signedMessageFromTags(this.#plainPrefix, fields.tagBytes, dataHash);
  }

  /** SHA-256 of the key: the owner's address on Arweave, whatever the type of the key. Never write into it. */
  get digest(): Buffer {
    this.#digest ??= hash('sha256', this.key, 'buffer');
    return this.#digest;
  }

  /** Whether `signature` is this owner's signature of the 48-byte message. */
  verify(message: Buffer, signature: Uint8Array, options: VerifyOptions = {}): boolean {
    return this.#verify(message, signature, options);
  }

  /** The same on the thread pool, for the signatures that OpenSSL verifies; others are verified here. */
  async verifyAsync(message: Buffer, signature: Uint8Array, options: VerifyOptions = {}): Promise<boolean> {
    return this.#verifyAsync?.(message, signature) ?? this.#verify(message, signature, options);
  }

  /**
   * The wallet that pays for the owner's items. Aptos keys (types 5 and 6) have no wallet here that could
   * hold credits: their address is Arweave's form of the key.
   */
  get wallet(): WalletAddress {
    this.#wallet ??= walletOf(this.signatureType, this.key);
    return this.#wallet;
  }

  /** Every form of that wallet's address, where the key gives several. */
  get forms(): AddressForms | undefined {
    this.#forms ??= formsOf(this.signatureType, this.key, this.wallet);
    return this.#forms;
  }
}

const owners = new LRUCache<string, ItemOwner>({ max: 4_096 });
let last: ItemOwner | undefined;

/** The owner of a key; the same object for the same key while it is remembered. */
export function itemOwner(signatureType: SignatureType, key: Buffer): ItemOwner {
  if (last !== undefined && last.signatureType === signatureType && last.key.equals(key)) return last;
  const name = `${signatureType}:${key.toString('latin1')}`;
  let owner = owners.get(name);
  if (owner === undefined) {
    owner = new ItemOwner(signatureType, key);
    owners.set(name, owner);
  }
  last = owner;
  return owner;
}

type Verifier = (message: Buffer, signature: Uint8Array, options: VerifyOptions) => boolean;
type AsyncVerifier = (message: Buffer, signature: Uint8Array) => Promise<boolean>;

interface Verifiers {
  readonly verify: Verifier;
  readonly verifyAsync?: AsyncVerifier;
}

const never: Verifiers = { verify: () => false };

function makeVerifier(type: SignatureType, key: Buffer): Verifiers {
  switch (type) {
    case 1: {
      const publicKey = arweavePublicKey(key);
      if (publicKey === undefined) return never;
      return {
        verify: (message, signature) => verifyPss(publicKey, message, signature),
        verifyAsync: (message, signature) => verifyPssAsync(publicKey, message, signature),
      };
    }
    case 2:
      return ed25519Verifier(key, (message) => message);
    case 3:
      return {
        verify: (message, signature, options) => {
          const signer = recoverEthereumKey(personalMessageHash(message), signature, {
            allowRawRecovery: options.lenient === true,
          });
          return signer !== undefined && key.equals(signer);
        },
      };
    case 4:
      return ed25519Verifier(key, hexText);
    case 5:
      return ed25519Verifier(key, aptosText);
    case 6:
      return { verify: (message, signature) => verifyMultiSignature(key, message, signature) };
    case 7:
      return typedEthereumVerifier(key);
  }
}

function ed25519Verifier(key: Buffer, signedText: (message: Buffer) => Buffer): Verifiers {
  const publicKey = ed25519PublicKey(key);
  if (publicKey === undefined) return never;
  return {
    verify: (message, signature) => verifyEd25519(publicKey, signedText(message), signature),
    verifyAsync: (message, signature) => verifyEd25519Async(publicKey, signedText(message), signature),
  };
}

/** Solana wallets refuse to sign binary: items of type 4 sign the message in lower-case hex. */
export function hexText(message: Buffer): Buffer {
  return Buffer.from(message.toString('hex'), 'latin1');
}

/** What an Aptos wallet shows and signs (type 5). */
export function aptosText(message: Buffer): Buffer {
  return Buffer.from(`APTOS\nmessage: ${message.toString('hex')}\nnonce: bundlr`, 'latin1');
}

const typedDomain = { name: 'Bundlr', version: '1' };
const typedTypes = {
  Bundlr: [
    { name: 'Transaction hash', type: 'bytes' },
    { name: 'address', type: 'address' },
  ],
};

/** EIP-712 digest of an item of type 7; `address` is the owner field's text. */
export function typedItemDigest(message: Uint8Array, address: string): Uint8Array {
  return hashTypedData({
    domain: typedDomain,
    types: typedTypes,
    primaryType: 'Bundlr',
    message: { 'Transaction hash': message, address },
  });
}

function typedEthereumVerifier(key: Buffer): Verifiers {
  const text = key.toString('latin1');
  if (!/^0x[0-9a-f]{40}$/.test(text)) return never;
  const address = parseEthereumAddress(text);
  return {
    verify: (message, signature, options) => {
      const signer = recoverEthereumKey(typedItemDigest(message, text), signature, {
        allowRawRecovery: options.lenient === true,
      });
      return signer !== undefined && ethereumAddress(signer) === address;
    },
  };
}

function formsOf(type: SignatureType, key: Buffer, wallet: WalletAddress): AddressForms | undefined {
  switch (type) {
    case 2:
    case 4:
      return formsOfSolanaKey(key);
    case 3:
      return formsOfEthereumKey(key);
    case 7:
      return { wallet, others: formsOfAddress(wallet.address) };
    default:
      return undefined;
  }
}

function walletOf(type: SignatureType, key: Buffer): WalletAddress {
  switch (type) {
    case 2:
    case 4:
      return { kind: 'solana', address: solanaAddress(key) };
    case 3:
      return { kind: 'ethereum', address: ethereumAddress(key) };
    case 7: {
      const address = parseEthereumAddress(key.toString('latin1'));
      if (address !== undefined) return { kind: 'ethereum', address };
      return { kind: 'arweave', address: arweaveAddress(key) };
    }
    case 1:
    case 5:
    case 6:
      return { kind: 'arweave', address: arweaveAddress(key) };
  }
}
