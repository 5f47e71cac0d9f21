/** The one notion of what is not served, asked by every surface that hands bytes to readers. */
import type { Span } from '../../kernel/http/byte-ranges.ts';

/** What an operator has decided not to serve. Asked before every answer: a change holds from the next request on. */
export interface Blocklist {
  /** Nothing at all is blocked. */
  readonly isEmpty: boolean;
  /** Grows with every change of the list or of the places. */
  readonly revision: number;
  blocksId(id: string): boolean;
  /** Base64url SHA-256 of content. */
  blocksHash(hash: string): boolean;
  /** A name as it stands in a host: `name` or `undername_name`; blocking a name blocks its undernames. */
  blocksName(label: string): boolean;
  /** Some hash is blocked: content whose hash is not known is hashed before a byte of it leaves. */
  readonly wantsHashes: boolean;
  /** Of some blocked item it is known where it lies: bundles are looked at before a byte of them leaves. */
  readonly hasPlaces: boolean;
  /**
   * The blocked item of which a byte would leave with the `asked` part of `content`, a region of the data of the
   * chain transaction `root`. An item inside blocked content is not blocked with it; `except` is what is served.
   */
  blockedPart(root: string, content: Span, asked: Span, except?: string): string | undefined;
}

/** A list that another surface obeys. */
export interface FollowedBlocklist extends Blocklist {
  /** Why it may not be what the other side enforces. */
  problems(): readonly string[];
}

/** Refuses what any of the lists refuses. */
export function unionOf(lists: readonly Blocklist[]): Blocklist {
  return {
    get isEmpty() {
      return lists.every((list) => list.isEmpty);
    },
    get revision() {
      return lists.reduce((sum, { revision }) => sum + revision, 0);
    },
    blocksId: (id) => lists.some((list) => list.blocksId(id)),
    blocksHash: (hash) => lists.some((list) => list.blocksHash(hash)),
    blocksName: (label) => lists.some((list) => list.blocksName(label)),
    get wantsHashes() {
      return lists.some((list) => list.wantsHashes);
    },
    get hasPlaces() {
      return lists.some((list) => list.hasPlaces);
    },
    blockedPart(root, content, asked, except) {
      for (const list of lists) {
        const part = list.blockedPart(root, content, asked, except);
        if (part !== undefined) return part;
      }
      return undefined;
    },
  };
}
