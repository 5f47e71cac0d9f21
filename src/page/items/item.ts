/** Data items (ANS-104) made in the browser: the wallet signs, the file is never copied. */
import { signatureLayout } from '../../formats/ans104/signature-types.ts';
import { encodeTagBytes, ingestTagLimits, type Tag, walkTags } from '../../formats/avro-tags.ts';
import { FormatError } from '../../formats/format-error.ts';
import { concatBytes, encodeBase64url } from '../services/encoding.ts';
import type { Wallet } from '../wallet/wallet.ts';
import type { SignedFields } from './item-message.ts';

export interface SignedItem {
  readonly id: string;
  /** Everything before the file's bytes. */
  readonly header: Uint8Array<ArrayBuffer>;
  /** Of header and file. */
  readonly size: number;
}

export type ItemSigner = Pick<Wallet, 'signatureType' | 'publicKey' | 'signItem'>;

/** Makes an item of a file. `hash` gives the 48 bytes to sign. */
export async function signFile(
  signer: ItemSigner,
  file: Blob,
  tags: readonly Tag[],
  hash: (fields: SignedFields, file: Blob) => Promise<Uint8Array>,
): Promise<SignedItem> {
  const { signatureType } = signer;
  const owner = await signer.publicKey();
  const tagBytes = encodeItemTags(tags);
  const message = await hash({ signatureType, owner, tagBytes }, file);
  const signature = await signer.signItem(message);
  const header = encodeHeader({ signatureType, owner, tagBytes }, signature, tags.length);
  const id = encodeBase64url(
    new Uint8Array(await crypto.subtle.digest('SHA-256', Uint8Array.from(signature))),
  );
  return { id, header, size: header.length + file.size };
}

/** How many bytes an item is, before anything is signed: what its price depends on. */
export function itemBytes(signatureType: number, tags: readonly Tag[], dataBytes: number): number {
  const { signatureBytes, ownerBytes } = layoutOf(signatureType);
  return 2 + signatureBytes + ownerBytes + 2 + 16 + encodeTagBytes(tags).length + dataBytes;
}

/** Whether an item may carry these tags. */
export function areItemTags(tags: readonly Tag[]): boolean {
  const bytes = encodeTagBytes(tags);
  return walkTags(bytes, 0, bytes.length, ingestTagLimits) === tags.length;
}

function encodeItemTags(tags: readonly Tag[]): Uint8Array {
  if (!areItemTags(tags)) throw new FormatError('the tags are beyond the limits of a data item');
  return encodeTagBytes(tags);
}

/** type 2 ‖ signature ‖ owner ‖ no target ‖ no anchor ‖ number of tags 8 ‖ their bytes 8 ‖ tags, little-endian */
function encodeHeader(
  { signatureType, owner, tagBytes }: SignedFields,
  signature: Uint8Array,
  tagCount: number,
): Uint8Array<ArrayBuffer> {
  const { signatureBytes, ownerBytes } = layoutOf(signatureType);
  if (signature.length !== signatureBytes) throw new FormatError('the wallet signed in another form');
  if (owner.length !== ownerBytes) throw new FormatError("the wallet's public key has another length");
  const counts = new DataView(new ArrayBuffer(18));
  counts.setUint32(2, tagCount, true);
  counts.setUint32(10, tagBytes.length, true);
  const type = new Uint8Array([signatureType & 0xff, signatureType >> 8]);
  return concatBytes(type, signature, owner, new Uint8Array(counts.buffer), tagBytes);
}

function layoutOf(signatureType: number) {
  const layout = signatureLayout(signatureType);
  if (layout === undefined) throw new FormatError(`signature type ${signatureType} is not known`);
  return layout;
}
