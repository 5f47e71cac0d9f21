import type { Span } from '../../kernel/http/byte-ranges.ts';

/**
 * What an operator has decided not to serve. The content side asks before every answer; who keeps the list
 * (the admin part) changes it here, and the change holds from the next request on.
 */
export interface Blocklist {
  blocksId(id: string): boolean;
  /** Base64url SHA-256 of content. */
  blocksHash(hash: string): boolean;
  /** A name as it stands in a host: `name` or `undername_name`; blocking a name blocks its undernames. */
  blocksName(label: string): boolean;
  /** Some hash is blocked: content whose hash is not known is hashed before a byte of it leaves. */
  readonly wantsHashes: boolean;
  /**
   * The blocked item of which a byte would leave with the `asked` part of `content`, a region of the data of the
   * chain transaction `root`. An item inside blocked content is not blocked with it; `except` is what is served.
   */
  blockedPart(root: string, content: Span, asked: Span, except?: string): string | undefined;
}
