/** What the name programs accept as a name, undername, target, logo, keyword. Lengths are counted in bytes. */

export const maxNameLength = 51;
export const maxUndernameLength = 61;
export const minTtlSeconds = 60;
export const maxTtlSeconds = 86_400;
export const maxTickerLength = 16;
export const maxDescriptionLength = 128;
const maxKeywords = 3;
export const maxDisplayNameLength = 61;
export const rootUndername = '@';
export const defaultUndernameLimit = 10;
/** The time a fresh ANT's root record may be cached, in seconds. */
export const defaultTtlSeconds = 900;

export const protocolArweave = 0;
export const protocolIpfs = 1;

/** The logo, and the first target, of an ANT that was given none. */
export const defaultLogo = 'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM';

const utf8 = new TextEncoder();
const arweaveId = /^[A-Za-z0-9_-]{43}$/;
const name = /^[a-z0-9](?:[a-z0-9-]{0,49}[a-z0-9])?$/;
const undername = /^[a-z0-9][a-z0-9_-]{0,60}$/;
const keyword = /^[A-Za-z0-9_#@-]{1,32}$/;
const cidV0 = /^Qm[A-Za-z0-9]{44}$/;
const cidV1 = /^[bBzfuk][A-Za-z0-9]{9,127}$/;

/** 43 characters are refused: that is the length of a transaction id, which gateways must tell from a name. */
export function isArnsName(text: string): boolean {
  return name.test(text) && text.length !== 43;
}

/** `@` or an undername as it is stored, in lower case. */
export function isUndername(text: string): boolean {
  return text === rootUndername || undername.test(text);
}

/** How a name is written in a host or a path. */
export const labelOf = (name: string, undername: string): string =>
  undername === rootUndername ? name : `${undername}_${name}`;

export function isArweaveId(text: string): boolean {
  return arweaveId.test(text);
}

export function isTarget(text: string, protocol: number): boolean {
  if (protocol === protocolArweave) return arweaveId.test(text);
  if (protocol === protocolIpfs) return cidV0.test(text) || cidV1.test(text);
  return false;
}

export function isTtl(value: number): boolean {
  return Number.isInteger(value) && value >= minTtlSeconds && value <= maxTtlSeconds;
}

/** At most three, each once. */
export function areKeywords(keywords: readonly string[]): boolean {
  return (
    keywords.length <= maxKeywords &&
    keywords.every((text) => keyword.test(text)) &&
    new Set(keywords).size === keywords.length
  );
}

export function byteLength(text: string): number {
  return utf8.encode(text).length;
}
