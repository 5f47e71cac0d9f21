/** Reading JSON that strangers sent: every value is `unknown` until one of these has checked it. */

/** The parsed text, or undefined where it is no JSON. */
export function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

export function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** An own member of an object; undefined for anything else. */
export function memberOf(value: unknown, name: string): unknown {
  return typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? Reflect.get(value, name)
    : undefined;
}

/** A text member, cut to a length worth keeping. */
export function textOf(value: unknown, name: string, maxLength = 4_096): string | undefined {
  const member = memberOf(value, name);
  return typeof member === 'string' ? member.slice(0, maxLength) : undefined;
}

/** A text member that must be there, whole: without it the other side does not speak its protocol. */
export function requireText(value: unknown, name: string): string {
  const member = memberOf(value, name);
  if (typeof member !== 'string') throw new Error(`the answer has no ${name}`);
  return member;
}

/** A whole number from 0 that JavaScript counts exactly. */
export function isCount(value: unknown): value is number {
  return typeof value === 'number' && Number.isSafeInteger(value) && value >= 0;
}
