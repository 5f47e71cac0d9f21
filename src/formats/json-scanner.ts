/**
 * JSON read piece by piece, as events rather than as a value: documents of strangers can be of any size, and a
 * value made of 64 MiB of brackets takes gigabytes and seconds. The grammar is checked whole (RFC 8259); texts are made
 * only of strings that the listener wants, and what is wrong in the encoding of one string costs only that one.
 */

export interface JsonListener {
  /** Whether the text of the string that begins here is wanted. */
  wants(): boolean;
  /** undefined: it was not wanted, is longer than `maxTextBytes`, or is not UTF-8. */
  key(text: string | undefined): void;
  /** A value that is no container; undefined unless it is a string that was wanted. */
  scalar(text: string | undefined): void;
  open(container: 'object' | 'array'): void;
  close(): void;
}

/** Containers within each other; deeper documents are refused. */
export const maxJsonDepth = 512;
/** Of one string as it stands in the document. */
const maxTextBytes = 64 * 1024;

const quote = 0x22;
const backslash = 0x5c;
const byteOrderMark = [0xef, 0xbb, 0xbf];

/** What may come next. */
const expect = {
  value: 0,
  valueOrEnd: 1,
  key: 2,
  keyOrEnd: 3,
  colon: 4,
  commaOrEnd: 5,
  nothing: 6,
  restOfString: 7,
  restOfNumber: 8,
  restOfWord: 9,
  failed: 10,
} as const;
type Expected = (typeof expect)[keyof typeof expect];

/** Where a number is; it may end after `zero`, `whole`, `fraction` and `exponent`. */
const part = { sign: 0, zero: 1, whole: 2, point: 3, fraction: 4, e: 5, eSign: 6, exponent: 7 } as const;
type NumberPart = (typeof part)[keyof typeof part];

const words = new Map([...['true', 'false', 'null']].map((word) => [word.charCodeAt(0), word]));
const strictText = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

export class JsonScanner {
  readonly #listener: JsonListener;
  /** 1 where the container is an object. */
  readonly #isObject = new Uint8Array(maxJsonDepth);
  #depth = 0;
  #next: Expected = expect.value;
  /** How many bytes of the mark that a document may begin with have come; 3 once there is none to come. */
  #markBytes = 0;
  #number: NumberPart = part.sign;
  #word = '';
  /** Of the string that is being read. */
  #isKey = false;
  #wanted = false;
  #ascii = true;
  #escaped = false;
  /** 1: after a backslash; 2 to 5: hexadecimal digits to come, plus one. */
  #escape = 0;
  /** What came of it with earlier pieces. */
  #before: Buffer[] = [];
  #textBytes = 0;

  constructor(listener: JsonListener) {
    this.#listener = listener;
  }

  /** False once the document cannot be JSON. */
  write(piece: Buffer): boolean {
    let at = this.#skipByteOrderMark(piece);
    while (at < piece.length && this.#next !== expect.failed) {
      if (this.#next === expect.restOfString) at = this.#string(piece, at);
      else at = this.#step(piece, at);
    }
    return this.#next !== expect.failed;
  }

  /** True when the document is complete. */
  end(): boolean {
    if (this.#next === expect.restOfNumber && this.#depth === 0) this.#endNumber();
    return this.#next === expect.nothing;
  }

  #skipByteOrderMark(piece: Buffer): number {
    let at = 0;
    while (this.#markBytes < byteOrderMark.length && at < piece.length) {
      if (piece[at] === byteOrderMark[this.#markBytes]) {
        this.#markBytes += 1;
        at += 1;
      } else {
        if (this.#markBytes > 0) this.#next = expect.failed;
        this.#markBytes = byteOrderMark.length;
      }
    }
    return at;
  }

  /** One byte outside of strings; answers where to go on, which is the same byte where it ends a number. */
  #step(piece: Buffer, at: number): number {
    const byte = piece[at] ?? 0;
    if (this.#next === expect.restOfNumber) return this.#digit(byte) ? at + 1 : at;
    if (this.#next === expect.restOfWord) this.#letter(byte);
    else if (byte !== 0x20 && byte !== 0x0a && byte !== 0x0d && byte !== 0x09) this.#token(byte);
    return at + 1;
  }

  #token(byte: number): void {
    const next = this.#next;
    if (next === expect.value || next === expect.valueOrEnd) {
      if (byte === 0x5d && next === expect.valueOrEnd) this.#close();
      else this.#beginValue(byte);
    } else if (next === expect.key || next === expect.keyOrEnd) {
      if (byte === quote) this.#beginString(true);
      else if (byte === 0x7d && next === expect.keyOrEnd) this.#close();
      else this.#next = expect.failed;
    } else if (next === expect.colon) {
      this.#next = byte === 0x3a ? expect.value : expect.failed;
    } else if (next === expect.commaOrEnd) {
      const inObject = this.#isObject[this.#depth - 1] === 1;
      if (byte === 0x2c) this.#next = inObject ? expect.key : expect.value;
      else if (byte === (inObject ? 0x7d : 0x5d)) this.#close();
      else this.#next = expect.failed;
    } else this.#next = expect.failed;
  }

  #beginValue(byte: number): void {
    const word = words.get(byte);
    if (byte === quote) this.#beginString(false);
    else if (byte === 0x7b || byte === 0x5b) this.#open(byte === 0x7b);
    else if (word !== undefined) {
      this.#word = word.slice(1);
      this.#next = expect.restOfWord;
    } else if (byte === 0x2d || (byte >= 0x30 && byte <= 0x39)) {
      this.#number = byte === 0x2d ? part.sign : byte === 0x30 ? part.zero : part.whole;
      this.#next = expect.restOfNumber;
    } else this.#next = expect.failed;
  }

  #open(isObject: boolean): void {
    if (this.#depth === maxJsonDepth) {
      this.#next = expect.failed;
      return;
    }
    this.#isObject[this.#depth] = isObject ? 1 : 0;
    this.#depth += 1;
    this.#next = isObject ? expect.keyOrEnd : expect.valueOrEnd;
    this.#listener.open(isObject ? 'object' : 'array');
  }

  #close(): void {
    this.#depth -= 1;
    this.#afterValue();
    this.#listener.close();
  }

  #afterValue(): void {
    this.#next = this.#depth === 0 ? expect.nothing : expect.commaOrEnd;
  }

  #letter(byte: number): void {
    if (byte !== this.#word.charCodeAt(0)) this.#next = expect.failed;
    else if (this.#word.length > 1) this.#word = this.#word.slice(1);
    else {
      this.#afterValue();
      this.#listener.scalar(undefined);
    }
  }

  /** False when the byte is not part of the number, which ends before it. */
  #digit(byte: number): boolean {
    const now = this.#number;
    const isDigit = byte >= 0x30 && byte <= 0x39;
    if (isDigit) {
      if (now === part.sign) this.#number = byte === 0x30 ? part.zero : part.whole;
      else if (now === part.point) this.#number = part.fraction;
      else if (now === part.e || now === part.eSign) this.#number = part.exponent;
      else if (now === part.zero) this.#next = expect.failed;
      return true;
    }
    if (byte === 0x2e && (now === part.zero || now === part.whole)) this.#number = part.point;
    else if ((byte | 0x20) === 0x65 && (now === part.zero || now === part.whole || now === part.fraction)) {
      this.#number = part.e;
    } else if ((byte === 0x2b || byte === 0x2d) && now === part.e) this.#number = part.eSign;
    else {
      this.#endNumber();
      return false;
    }
    return true;
  }

  #endNumber(): void {
    const now = this.#number;
    if (now === part.zero || now === part.whole || now === part.fraction || now === part.exponent) {
      this.#afterValue();
      this.#listener.scalar(undefined);
    } else this.#next = expect.failed;
  }

  #beginString(isKey: boolean): void {
    this.#isKey = isKey;
    this.#wanted = this.#listener.wants();
    this.#ascii = true;
    this.#escaped = false;
    this.#textBytes = 0;
    this.#next = expect.restOfString;
  }

  #string(piece: Buffer, from: number): number {
    let at = from;
    let pending = this.#escape;
    let high = 0;
    for (; at < piece.length; at += 1) {
      const byte = piece[at] ?? 0;
      if (pending > 0) {
        pending = afterEscape(pending, byte);
        if (pending < 0) break;
      } else if (byte === quote) break;
      else if (byte === backslash) {
        pending = 1;
        this.#escaped = true;
      } else if (byte < 0x20) {
        pending = -1;
        break;
      } else high |= byte;
    }
    this.#escape = Math.max(pending, 0);
    if (high > 0x7f) this.#ascii = false;
    if (pending < 0) this.#next = expect.failed;
    else if (at < piece.length) this.#endString(piece, from, at);
    // The piece may be used for other bytes once this returns.
    else if (this.#fits(at - from)) this.#before.push(Buffer.from(piece.subarray(from, at)));
    return at + 1;
  }

  /** Whether so many more bytes of the string are to be kept. */
  #fits(bytes: number): boolean {
    this.#textBytes += bytes;
    this.#wanted &&= this.#textBytes <= maxTextBytes;
    return this.#wanted;
  }

  #endString(piece: Buffer, from: number, to: number): void {
    if (this.#isKey) this.#next = expect.colon;
    else this.#afterValue();
    const text = this.#fits(to - from) ? this.#textOf(piece, from, to) : undefined;
    if (this.#before.length > 0) this.#before = [];
    if (this.#isKey) this.#listener.key(text);
    else this.#listener.scalar(text);
  }

  #textOf(piece: Buffer, from: number, to: number): string | undefined {
    if (this.#ascii && !this.#escaped && this.#before.length === 0) return piece.toString('latin1', from, to);
    const text = decode(Buffer.concat([...this.#before, piece.subarray(from, to)]));
    return this.#escaped && text !== undefined ? String(JSON.parse(`"${text}"`)) : text;
  }
}

/** 0: the escape is complete; -1: there is no such escape. */
function afterEscape(pending: number, byte: number): number {
  if (pending === 1) {
    if (byte === 0x75) return 5;
    return byte === quote ||
      byte === backslash ||
      byte === 0x2f ||
      'bfnrt'.includes(String.fromCharCode(byte))
      ? 0
      : -1;
  }
  const letter = byte | 0x20;
  const isHex = (byte >= 0x30 && byte <= 0x39) || (letter >= 0x61 && letter <= 0x66);
  if (!isHex) return -1;
  return pending === 2 ? 0 : pending - 1;
}

function decode(bytes: Buffer): string | undefined {
  try {
    return strictText.decode(bytes);
  } catch {
    return undefined;
  }
}
