/** Wallets that sign data items, one constructor per signature type. */
import type { KeyObject } from 'node:crypto';
import { encodeItemHeader, encodeItemTags } from '../../formats/ans104/item-header.ts';
import type { SignatureType } from '../../formats/ans104/signature-types.ts';
import { messagePrefix, signedMessage } from '../../formats/ans104/signed-message.ts';
import type { TagSource } from '../../formats/avro-tags.ts';
import { deepHashBlob } from '../../formats/deep-hash.ts';
import { type ArweaveKey, signPss } from '../arweave/rsa.ts';
import { ethereumAddress } from '../ethereum/address.ts';
import { personalMessageHash, signEthereumDigest } from '../ethereum/personal-message.ts';
import { publicKeyOf } from '../ethereum/secp256k1.ts';
import { ed25519RawPublicKey, signEd25519 } from '../solana/ed25519.ts';
import { multiSignature, multiSignatureOwner } from './multi-signature.ts';
import { aptosText, hexText, typedItemDigest } from './owner.ts';

export interface ItemSigner {
  readonly signatureType: SignatureType;
  /** The owner field of the items it signs. */
  readonly owner: Buffer;
  /** Signs the 48-byte message of an item. */
  sign(message: Buffer): Promise<Buffer>;
}

export interface ItemContents {
  readonly data: Uint8Array;
  readonly tags?: readonly TagSource[];
  readonly target?: Uint8Array;
  readonly anchor?: Uint8Array;
}

const none = Buffer.alloc(0);

/** A whole signed item. */
export async function signItem(contents: ItemContents, signer: ItemSigner): Promise<Buffer> {
  const header = await signItemHeader(contents, signer, deepHashBlob(contents.data));
  return Buffer.concat([header, contents.data]);
}

/** The signed header of an item whose payload is elsewhere, known by its deep hash (`DeepHashBlob`). */
export async function signItemHeader(
  contents: Omit<ItemContents, 'data'>,
  signer: ItemSigner,
  dataHash: Uint8Array,
): Promise<Buffer> {
  const { signatureType, owner } = signer;
  const { target = none, anchor = none } = contents;
  const tags = encodeItemTags(contents.tags ?? []);
  const fields = { target, anchor, tagBytes: tags };
  const signature = await signer.sign(signedMessage(messagePrefix(signatureType, owner), fields, dataHash));
  return encodeItemHeader({ signatureType, owner, signature, target, anchor, tags });
}

/** Type 1. A salt of 0 makes items reproducible. */
export function arweaveSigner(key: ArweaveKey, options: { saltLength?: number } = {}): ItemSigner {
  return {
    signatureType: 1,
    owner: key.modulus,
    sign: (message) => signPss(key.privateKey, message, options.saltLength),
  };
}

/** Type 2: Ed25519 over the message itself. */
export function ed25519Signer(privateKey: KeyObject): ItemSigner {
  return edSigner(2, privateKey, (message) => message);
}

/** Type 3, from a 32-byte secp256k1 key. */
export function ethereumSigner(privateKey: Uint8Array): ItemSigner {
  return {
    signatureType: 3,
    owner: Buffer.from(publicKeyOf(privateKey)),
    sign: async (message) => signEthereumDigest(personalMessageHash(message), privateKey),
  };
}

/** Type 4: Ed25519 over the message in hex, as Solana wallets sign. */
export function solanaSigner(privateKey: KeyObject): ItemSigner {
  return edSigner(4, privateKey, hexText);
}

/** Type 5: Ed25519 over the text an Aptos wallet shows. */
export function aptosSigner(privateKey: KeyObject): ItemSigner {
  return edSigner(5, privateKey, aptosText);
}

/** Type 6: the first `threshold` keys sign. */
export function multiAptosSigner(privateKeys: readonly KeyObject[], threshold: number): ItemSigner {
  return {
    signatureType: 6,
    owner: multiSignatureOwner(privateKeys.map(ed25519RawPublicKey), threshold),
    sign: async (message) =>
      multiSignature(
        new Map(privateKeys.slice(0, threshold).map((key, slot) => [slot, signEd25519(key, message)])),
      ),
  };
}

/** Type 7: EIP-712, the owner is the address in lower case. */
export function typedEthereumSigner(privateKey: Uint8Array): ItemSigner {
  const address = ethereumAddress(publicKeyOf(privateKey)).toLowerCase();
  return {
    signatureType: 7,
    owner: Buffer.from(address, 'latin1'),
    sign: async (message) => signEthereumDigest(typedItemDigest(message, address), privateKey),
  };
}

function edSigner(
  signatureType: SignatureType,
  privateKey: KeyObject,
  signedText: (message: Buffer) => Buffer,
): ItemSigner {
  return {
    signatureType,
    owner: ed25519RawPublicKey(privateKey),
    sign: async (message) => signEd25519(privateKey, signedText(message)),
  };
}
