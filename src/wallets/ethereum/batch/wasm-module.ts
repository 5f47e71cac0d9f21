/**
 * Just enough of the WebAssembly binary format (core specification 1.0, §5) to put together a module of a few
 * functions over an imported memory. Code is written as lists of bytes by the helpers in `op`.
 */
export type Code = readonly (number | Code)[];

const i32 = 0x7f;
const i64 = 0x7e;

/** Unsigned LEB128. */
function unsigned(value: number): number[] {
  const bytes: number[] = [];
  let rest = value;
  do {
    const byte = rest & 0x7f;
    rest >>>= 7;
    bytes.push(rest === 0 ? byte : byte | 0x80);
  } while (rest !== 0);
  return bytes;
}

/** Signed LEB128. */
function signed(value: bigint): number[] {
  const bytes: number[] = [];
  for (let rest = value; ; ) {
    const byte = Number(rest & 0x7fn);
    rest >>= 7n;
    if ((rest === 0n && byte < 0x40) || (rest === -1n && byte >= 0x40)) return [...bytes, byte];
    bytes.push(byte | 0x80);
  }
}

export const op = {
  get: (local: number): Code => [0x20, unsigned(local)],
  set: (local: number): Code => [0x21, unsigned(local)],
  tee: (local: number): Code => [0x22, unsigned(local)],
  call: (index: number): Code => [0x10, unsigned(index)],
  const32: (value: number): Code => [0x41, signed(BigInt(value))],
  const64: (value: number): Code => [0x42, signed(BigInt(value))],
  load32: (offset: number): Code => [0x28, 2, unsigned(offset)],
  /** An unsigned 32-bit word as 64 bits. */
  load64: (offset: number): Code => [0x35, 2, unsigned(offset)],
  store64: (offset: number): Code => [0x3e, 2, unsigned(offset)],
  add32: [0x6a],
  sub32: [0x6b],
  add: [0x7c],
  sub: [0x7d],
  mul: [0x7e],
  and: [0x83],
  shl: [0x86],
  /** Arithmetic: keeps the sign. */
  shr: [0x87],
  /** Repeats while the i32 that `body` leaves is not zero. */
  loop: (body: Code): Code => [0x03, 0x40, body, 0x0d, 0, 0x0b],
} as const;

export interface WasmFunction {
  readonly name: string;
  /** Parameters, all i32. */
  readonly parameters: number;
  /** Further locals, after the parameters. */
  readonly locals32: number;
  readonly locals64: number;
  readonly body: Code;
}

/** A module that imports `env.memory` and exports its functions, which may call each other by index. */
export function encodeModule(functions: readonly WasmFunction[]): Uint8Array<ArrayBuffer> {
  const types = functions.map(({ parameters }) => [
    0x60,
    unsigned(parameters),
    Array(parameters).fill(i32),
    0,
  ]);
  const memory = [...name('env'), ...name('memory'), 0x02, 0x00, 1];
  const exports = functions.map((fn, index) => [...name(fn.name), 0x00, ...unsigned(index)]);
  const bodies = functions.map(({ locals32, locals64, body }) => {
    const code = flatten([2, unsigned(locals32), i32, unsigned(locals64), i64, body, 0x0b]);
    return [...unsigned(code.length), ...code];
  });
  return Uint8Array.from([
    0x00,
    0x61,
    0x73,
    0x6d,
    0x01,
    0x00,
    0x00,
    0x00,
    ...section(1, types),
    ...section(2, [memory]),
    ...section(
      3,
      functions.map((_, index) => unsigned(index)),
    ),
    ...section(7, exports),
    ...section(10, bodies),
  ]);
}

function section(id: number, members: readonly Code[]): number[] {
  const content = flatten([unsigned(members.length), ...members]);
  return [id, ...unsigned(content.length), ...content];
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text, 'latin1')];
}

function flatten(code: Code): number[] {
  const bytes: number[] = [];
  const walk = (part: Code) => {
    for (const member of part) {
      if (typeof member === 'number') bytes.push(member);
      else walk(member);
    }
  };
  walk(code);
  return bytes;
}
