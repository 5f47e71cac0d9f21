/**
 * What the gateway knows about the chain, as the rest of the gateway sees it. Content routes ask where the
 * bytes of an id are and what is known about them; chain reads ask for transactions and blocks. Every
 * look-up is answered by the local database alone: nothing here touches the network.
 */
import type { Tag } from './tags.ts';

export type { Tag } from './tags.ts';

/** 43 base64url characters, canonical: 32 bytes. */
export type Id = string;

/**
 * Where the bytes of a transaction or data item are. Offsets count bytes:
 * "in root" from the first byte of the root transaction's data, "in parent" from the first byte of the
 * parent's payload. Relations: itemOffsetInRoot = parentOffsetInRoot + itemOffset,
 * dataOffsetInRoot = parentOffsetInRoot + dataOffset.
 */
export interface Placement {
  /** The chain transaction whose data holds the item. */
  readonly root: Id;
  /** The bundle the item sits in directly; equals `root` when not nested. Empty where its record is gone. */
  readonly parent: Id;
  /** Where the parent's payload begins in the root's data; 0 when the parent is the root. */
  readonly parentOffsetInRoot: number;
  /** Item header and payload inside the parent's payload. */
  readonly itemOffset: number;
  readonly dataOffset: number;
  /** Header and payload together. */
  readonly itemSize: number;
  readonly itemOffsetInRoot: number;
  readonly dataOffsetInRoot: number;
}

export interface Located {
  readonly id: Id;
  readonly kind: 'transaction' | 'item';
  /** Payload bytes. */
  readonly size: number;
  /** First tag of that name in any case. */
  readonly contentType: string | undefined;
  readonly contentEncoding: string | undefined;
  /**
   * The record was pruned and only its place is left: what the header says beside the content's type (owner,
   * signature, target, anchor, tags) is not known here and stands empty.
   */
  readonly isPruned?: true;
  /** The record was moved to the history, where its hash is not noted. */
  readonly isMoved?: true;
  /** Base64url SHA-256 of the owner's public key. */
  readonly ownerAddress: string;
  readonly signatureType: number;
  /** Empty where there is none. */
  readonly target: string;
  readonly anchor: string;
  readonly tags: readonly Tag[];
  /** Items: where they are, once their bundle was read. undefined for transactions and optimistic items. */
  readonly placement: Placement | undefined;
  /** Transactions: the Merkle root of the data; items: that of their root transaction. '' where there is none. */
  readonly dataRoot: string;
  /** Bytes of the root transaction's data (the transaction's own for a transaction); undefined when unknown. */
  readonly rootSize: number | undefined;
  /** Weave offset of the last byte of the root transaction's data (inclusive), once known. */
  readonly rootEndOffset: number | undefined;
  /** undefined while not mined. */
  readonly height: number | undefined;
  /** Deeper than the fork depth: will not move any more. */
  readonly stable: boolean;
  /** SHA-256 of the payload, base64url, once it was computed from bytes we held. */
  readonly hash: string | undefined;
  /**
   * The payload with that hash was proven: chunks against the data root for a transaction, and for an item
   * its signature inside a proven root.
   */
  readonly verified: boolean;
}

/** Signature and public key, kept apart from `Located` because they are large and rarely wanted. */
export interface Proof {
  readonly signature: string;
  /** The public key, base64url; '' where it is not known. */
  readonly owner: string;
}

/** The header of a chain transaction as a node gives it, without `data`. */
export interface ChainTransaction {
  readonly format: number;
  readonly id: Id;
  readonly last_tx: string;
  readonly owner: string;
  readonly tags: readonly { readonly name: string; readonly value: string }[];
  readonly target: string;
  readonly quantity: string;
  readonly data_size: string;
  readonly data_root: string;
  readonly reward: string;
  readonly signature: string;
  readonly denomination?: string;
}

export interface BlockSummary {
  readonly height: number;
  /** `indep_hash`. */
  readonly id: string;
  readonly previous: string;
  readonly timestamp: number;
}

export interface StatusInBlock {
  readonly height: number;
  readonly blockId: string;
}

export interface GatewayIndex {
  /** Height of the newest imported block; -1 before the first. */
  readonly height: number;
  /** Blocks up to here are stable; -1 before the first. */
  readonly stableHeight: number;

  /** undefined when the id is in neither a block nor a queue that we know, and no record of it was pruned. */
  locate(id: Id): Promise<Located | undefined>;
  proof(id: Id): Promise<Proof | undefined>;
  chainTransaction(id: Id): Promise<ChainTransaction | undefined>;
  /** Transactions with that data root (base64url), newest first; the same data may have been posted several times. */
  transactionsWithDataRoot(dataRoot: string): Promise<Id[]>;
  /** The block that holds the transaction, or the root transaction of the item; undefined while pending. */
  statusInBlock(id: Id): Promise<StatusInBlock | undefined>;

  blockAt(height: number): Promise<BlockSummary | undefined>;
  blockById(id: string): Promise<BlockSummary | undefined>;
  /** The block as the node sent it, byte for byte. */
  blockJson(key: number | string): Promise<string | undefined>;

  /**
   * Remembers the SHA-256 (base64url) of an id's payload, and that it was proven. Answers false when the id
   * is not indexed. A hash once proven is never replaced by an unproven one.
   */
  noteVerified(id: Id, hash: string, verified: boolean): Promise<boolean>;
  /** Forgets a hash that turned out wrong, so that the bytes are fetched and judged anew. */
  forgetHash(id: Id): Promise<void>;
  /** Remembers where a transaction's data ends in the weave. */
  noteEndOffset(id: Id, endOffset: number): Promise<void>;
  /** Indexed transactions and items whose payload is not proven yet, newest first, for a background check. */
  unverified(limit: number): Promise<Id[]>;
}
