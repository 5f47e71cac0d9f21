/** Whole numbers in as few bytes as they need: seven bits a byte, lowest first. */

export function varintSize(value: number): number {
  let size = 1;
  for (let rest = value; rest >= 128; rest = Math.floor(rest / 128)) size += 1;
  return size;
}

/** Answers where the next one begins. */
export function writeVarint(target: Buffer, start: number, value: number): number {
  let at = start;
  let rest = value;
  for (; rest >= 128; rest = Math.floor(rest / 128)) {
    target[at] = (rest % 128) | 128;
    at += 1;
  }
  target[at] = rest;
  return at + 1;
}

export class VarintReader {
  readonly #bytes: Buffer;
  at: number;

  constructor(bytes: Buffer, at = 0) {
    this.#bytes = bytes;
    this.at = at;
  }

  next(): number {
    let value = 0;
    for (let scale = 1; ; scale *= 128) {
      const byte = this.#bytes[this.at];
      if (byte === undefined) throw new RangeError('packed numbers end early');
      this.at += 1;
      value += (byte & 127) * scale;
      if (byte < 128) return value;
    }
  }
}
