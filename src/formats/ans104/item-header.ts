/**
 * The header of a data item: everything before its payload.
 *
 *   type 2 ‖ signature ‖ owner ‖ target presence 1 [‖ target 32] ‖ anchor presence 1 [‖ anchor 32]
 *   ‖ number of tags 8 ‖ number of tag bytes 8 ‖ tags        (integers little-endian)
 *
 * Parsing copies nothing: a header is a view of the bytes it was read from, its fields are cut out when
 * they are asked for.
 *
 * Presence bytes and the stated number of tags are not covered by the signature, so they have one accepted
 * form: otherwise one signed item would have many byte strings, and a gateway could be made to show another
 * set of tags than was signed.
 */
import { hash } from 'node:crypto';
import {
  chainTagLimits,
  decodeTags,
  encodeTags,
  ingestTagLimits,
  type Tag,
  type TagLimits,
  type TagSource,
  walkTags,
} from '../avro-tags.ts';
import { type ArweaveAddress, isTxId, type TxId, toArweaveAddress } from '../base64url.ts';
import { FormatError } from '../format-error.ts';
import type { ItemProblem } from './item-problem.ts';
import { type SignatureLayout, type SignatureType, signatureLayout } from './signature-types.ts';

export interface ItemReadOptions {
  /**
   * Reads what is on the chain already although its writer broke the rules: a presence byte other than 0
   * and 1 counts as absent, the stated number of tags is ignored, and tags may be longer and end in any way. For
   * readers of mined bundles only, never where an item is taken in or paid for.
   */
  readonly lenient?: boolean;
}

/** The longest header that the strict rules allow. */
export const maxItemHeaderBytes = 2 + 2_052 + 1_025 + 33 + 33 + 16 + ingestTagLimits.maxBytes;

export class ItemHeader {
  readonly #bytes: Buffer;
  readonly #layout: SignatureLayout;
  readonly #targetStart: number;
  readonly #anchorStart: number;
  readonly #tagsStart: number;
  /** Length of the header, which is where the payload starts. */
  readonly length: number;
  readonly tagCount: number;
  #tags: readonly Tag[] | undefined;

  /** Use `parseItemHeader`. A start of -1 says that the field is absent. */
  constructor(
    bytes: Buffer,
    layout: SignatureLayout,
    targetStart: number,
    anchorStart: number,
    tagsStart: number,
    length: number,
    tagCount: number,
  ) {
    this.#bytes = bytes;
    this.#layout = layout;
    this.#targetStart = targetStart;
    this.#anchorStart = anchorStart;
    this.#tagsStart = tagsStart;
    this.length = length;
    this.tagCount = tagCount;
  }

  get signatureType(): SignatureType {
    return this.#layout.type;
  }

  get signature(): Buffer {
    return this.#bytes.subarray(2, 2 + this.#layout.signatureBytes);
  }

  /** Where the signature is in the item; it always starts at byte 2. */
  get signatureEnd(): number {
    return 2 + this.#layout.signatureBytes;
  }

  get owner(): Buffer {
    return this.#bytes.subarray(this.signatureEnd, this.ownerEnd);
  }

  get ownerEnd(): number {
    return this.signatureEnd + this.#layout.ownerBytes;
  }

  /** 32 bytes, or none. */
  get target(): Buffer {
    return this.#targetStart === -1 ? empty : this.#bytes.subarray(this.#targetStart, this.#targetStart + 32);
  }

  /** 32 bytes, or none. */
  get anchor(): Buffer {
    return this.#anchorStart === -1 ? empty : this.#bytes.subarray(this.#anchorStart, this.#anchorStart + 32);
  }

  /** The tags as they are signed. */
  get tagBytes(): Buffer {
    return this.#bytes.subarray(this.#tagsStart, this.length);
  }

  get tags(): readonly Tag[] {
    this.#tags ??= decodeTags(this.tagBytes, chainTagLimits) ?? [];
    return this.#tags;
  }

  /** The whole header. */
  get bytes(): Buffer {
    return this.#bytes.subarray(0, this.length);
  }

  /** SHA-256 of the signature, 32 bytes. */
  get idBytes(): Buffer {
    return hash('sha256', this.signature, 'buffer');
  }

  get id(): TxId {
    const id = hash('sha256', this.signature, 'base64url');
    if (!isTxId(id)) throw new Error('SHA-256 has 32 bytes');
    return id;
  }

  /** SHA-256 of the owner's key: the owner's address on Arweave, whatever the type of the key. */
  get ownerAddress(): ArweaveAddress {
    return toArweaveAddress(hash('sha256', this.owner, 'buffer'));
  }
}

const empty = Buffer.alloc(0);

/**
 * How long the header that starts `bytes` is, as far as can be said from its first `available` bytes. An
 * answer above `available` means: at least so many bytes are needed before more can be said.
 */
export function measureItemHeader(
  bytes: Buffer,
  available: number,
  options: ItemReadOptions = {},
): number | ItemProblem {
  if (available < 2) return 2;
  const layout = signatureLayout(bytes.readUInt16LE(0));
  if (layout === undefined) return 'unknown-signature-type';
  let at = 2 + layout.signatureBytes + layout.ownerBytes;
  if (available <= at) return at + 1;
  const target = bytes[at]!;
  if (target > 1 && options.lenient !== true) return 'target-presence';
  at += target === 1 ? 33 : 1;
  if (available <= at) return at + 1;
  const anchor = bytes[at]!;
  if (anchor > 1 && options.lenient !== true) return 'anchor-presence';
  at += anchor === 1 ? 33 : 1;
  if (available < at + 16) return at + 16;
  const limits = limitsOf(options);
  const tagCount = readLength(bytes, at);
  const tagBytes = readLength(bytes, at + 8);
  if (tagCount > limits.maxTags && options.lenient !== true) return 'too-many-tags';
  if (tagBytes > limits.maxBytes) return 'too-many-tag-bytes';
  return at + 16 + tagBytes;
}

/** Reads the header at the start of `bytes`, which may hold more than it. */
export function parseItemHeader(bytes: Buffer, options: ItemReadOptions = {}): ItemHeader | ItemProblem {
  const length = measureItemHeader(bytes, bytes.length, options);
  if (typeof length === 'string') return length;
  if (length > bytes.length) return 'truncated';
  const layout = signatureLayout(bytes.readUInt16LE(0));
  if (layout === undefined) return 'unknown-signature-type';
  let at = 2 + layout.signatureBytes + layout.ownerBytes;
  let targetStart = -1;
  let anchorStart = -1;
  if (bytes[at++] === 1) {
    targetStart = at;
    at += 32;
  }
  if (bytes[at++] === 1) {
    anchorStart = at;
    at += 32;
  }
  const stated = readLength(bytes, at);
  at += 16;
  const found = walkTags(bytes, at, length, limitsOf(options));
  // Bytes of which the header says that they hold no tags need not be tags.
  if (found === -1 && !(options.lenient === true && stated === 0)) return 'tags';
  if (found !== stated && options.lenient !== true) return 'tag-count';
  const tagCount = Math.max(0, found);
  return new ItemHeader(bytes, layout, targetStart, anchorStart, at, length, tagCount);
}

function limitsOf(options: ItemReadOptions): TagLimits {
  return options.lenient === true ? chainTagLimits : ingestTagLimits;
}

/** A 64-bit length; what no number can hold exactly is more than any limit. */
function readLength(bytes: Buffer, at: number): number {
  return bytes.readUInt32LE(at) + bytes.readUInt32LE(at + 4) * 2 ** 32;
}

export interface ItemHeaderSource {
  readonly signatureType: SignatureType;
  readonly signature: Uint8Array;
  readonly owner: Uint8Array;
  /** 32 bytes, or none. */
  readonly target?: Uint8Array;
  /** 32 bytes, or none. */
  readonly anchor?: Uint8Array;
  /** Tags to encode, or their Avro bytes. */
  readonly tags?: readonly TagSource[] | Buffer;
}

/** Writes a header; throws `FormatError` for fields that no item may have. */
export function encodeItemHeader(source: ItemHeaderSource): Buffer {
  const layout = signatureLayout(source.signatureType);
  if (layout === undefined) throw new FormatError(`signature type ${source.signatureType} is not known`);
  if (source.signature.length !== layout.signatureBytes)
    throw new FormatError('the signature has another length');
  if (source.owner.length !== layout.ownerBytes) throw new FormatError('the owner has another length');
  const tagBytes = encodeItemTags(source.tags ?? []);
  const tagCount = walkTags(tagBytes, 0, tagBytes.length, ingestTagLimits);
  const counts = Buffer.alloc(16);
  counts.writeUInt32LE(tagCount, 0);
  counts.writeUInt32LE(tagBytes.length, 8);
  const type = Buffer.alloc(2);
  type.writeUInt16LE(layout.type);
  return Buffer.concat([
    type,
    source.signature,
    source.owner,
    ...optionalField('target', source.target),
    ...optionalField('anchor', source.anchor),
    counts,
    tagBytes,
  ]);
}

/** The Avro bytes of tags that an item may carry; throws `FormatError` beyond the limits. */
export function encodeItemTags(tags: readonly TagSource[] | Buffer): Buffer {
  const bytes = Buffer.isBuffer(tags) ? tags : encodeTags(tags);
  if (walkTags(bytes, 0, bytes.length, ingestTagLimits) === -1) {
    throw new FormatError('the tags are beyond the limits of a data item');
  }
  return bytes;
}

function optionalField(name: string, value: Uint8Array | undefined): Uint8Array[] {
  if (value === undefined || value.length === 0) return [Buffer.from([0])];
  if (value.length !== 32) throw new FormatError(`the ${name} must have 32 bytes`);
  return [Buffer.from([1]), value];
}
