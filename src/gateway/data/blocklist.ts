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
}

export const nothingBlocked: Blocklist = {
  blocksId: () => false,
  blocksHash: () => false,
  blocksName: () => false,
};
