/** As much of DER (ITU-T X.690 §10) as certificates and keys are written in: each value is its tag, its length and its bytes. */

type Bytes = Uint8Array;

function value(tag: number, ...parts: readonly Bytes[]): Buffer {
  const content = Buffer.concat(parts);
  return Buffer.concat([Buffer.from([tag]), lengthOf(content.length), content]);
}

function lengthOf(length: number): Buffer {
  if (length < 0x80) return Buffer.from([length]);
  const digits = bigEndian(BigInt(length));
  return Buffer.concat([Buffer.from([0x80 | digits.length]), digits]);
}

function bigEndian(number: bigint): Buffer {
  const hex = number.toString(16);
  return Buffer.from(hex.length % 2 === 0 ? hex : `0${hex}`, 'hex');
}

export const sequence = (...parts: readonly Bytes[]): Buffer => value(0x30, ...parts);

export const set = (...parts: readonly Bytes[]): Buffer => value(0x31, ...parts);

/** Not negative. A first bit that is set would read as a sign. */
export function integer(number: bigint): Buffer {
  const digits = bigEndian(number);
  return (digits[0] ?? 0) < 0x80 ? value(0x02, digits) : value(0x02, Buffer.from([0]), digits);
}

export const boolean = (truth: boolean): Buffer => value(0x01, Buffer.from([truth ? 0xff : 0]));

export const utf8String = (text: string): Buffer => value(0x0c, Buffer.from(text, 'utf8'));

export const octetString = (bytes: Bytes): Buffer => value(0x04, bytes);

/** `unused`: bits at the end of the last byte that do not count. */
export const bitString = (bytes: Bytes, unused = 0): Buffer => value(0x03, Buffer.from([unused]), bytes);

/** `1.2.840.10045.4.3.2` */
export function objectIdentifier(dotted: string): Buffer {
  const [first = 0, second = 0, ...rest] = dotted.split('.').map(Number);
  return value(0x06, Buffer.from([first * 40 + second, ...rest.flatMap(base128)]));
}

function base128(number: number): number[] {
  const digits = [number & 0x7f];
  for (let left = number >>> 7; left > 0; left >>>= 7) digits.unshift((left & 0x7f) | 0x80);
  return digits;
}

/** UTCTime up to 2049, as certificates want it (RFC 5280 §4.1.2.5). Whole seconds. */
export function time(unixMs: number): Buffer {
  const text = new Date(unixMs).toISOString().replace(/[-:T]|\.\d+/g, '');
  return Number(text.slice(0, 4)) < 2050
    ? value(0x17, Buffer.from(text.slice(2), 'ascii'))
    : value(0x18, Buffer.from(text, 'ascii'));
}

/** `[number]` of an enclosing type, around whole values. */
export const explicit = (number: number, ...parts: readonly Bytes[]): Buffer =>
  value(0xa0 | number, ...parts);

/** `[number]` in place of the tag of a plain value. */
export const implicit = (number: number, bytes: Bytes): Buffer => value(0x80 | number, bytes);
