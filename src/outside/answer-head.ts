/** What the head of somebody's answer says of its body. Numbers that no file can have are taken for none. */

export type AnswerHeaders = Readonly<Record<string, string | readonly string[] | undefined>>;

/** The first, where it is there several times. */
export function headerOf(headers: AnswerHeaders, name: string): string | undefined {
  const value = headers[name];
  return typeof value === 'string' ? value : value?.[0];
}

/** A decimal size in a header. */
export function sizeOf(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,15}$/.test(text) ? Number(text) : undefined;
}

/** Bytes that the body is said to have. */
export function lengthIn(headers: AnswerHeaders): number | undefined {
  return sizeOf(headerOf(headers, 'content-length'));
}

export interface PartOfWhole {
  readonly start: number;
  readonly end: number;
  /** Of the whole; undefined where it is not said. */
  readonly size: number | undefined;
}

const contentRange = /^bytes ([0-9]{1,15})-([0-9]{1,15})\/(?:([0-9]{1,15})|\*)$/;

/** Which part of the whole a 206 brings. */
export function partIn(headers: AnswerHeaders): PartOfWhole | undefined {
  const [, start, last, size] = contentRange.exec(headerOf(headers, 'content-range') ?? '') ?? [];
  if (start === undefined || last === undefined) return undefined;
  return { start: Number(start), end: Number(last) + 1, size: sizeOf(size) };
}

/** Where the body begins in the whole, and how large that is; undefined where the head does not say both. */
export function placeOf(answer: {
  readonly status: number;
  readonly headers: AnswerHeaders;
}): { readonly start: number; readonly size: number } | undefined {
  const place = answer.status === 206 ? partIn(answer.headers) : { start: 0, size: lengthIn(answer.headers) };
  return place?.size === undefined ? undefined : { start: place.start, size: place.size };
}
