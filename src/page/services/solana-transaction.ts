/**
 * What a Solana transaction asks for, read from its wire bytes, so that its signer is told before signing. Only what name
 * actions are made of is known by its name; everything else is told as the program that is called.
 */
import { decodeBase64, encodeBase58, encodeHex } from './encoding.ts';

export interface TransactionStep {
  /** The address of the program that is called. */
  readonly program: string;
  /** Whether the program is one that name transactions are made of. */
  readonly isKnownProgram: boolean;
  /** `initialize`, `add_controller`, `transfer_lamports` …; undefined where it is not known. */
  readonly instruction: string | undefined;
  /** What of its arguments people know it by: undername and target, the controller, the new owner. */
  readonly values: readonly string[];
  /** Of a payment in SOL. */
  readonly payment?: { readonly from: string; readonly to: string; readonly lamports: bigint };
}

export interface TransactionSummary {
  readonly feePayer: string;
  /** Who must sign and has not yet. */
  readonly missing: readonly string[];
  readonly steps: readonly TransactionStep[];
}

const signatureLength = 64;
const maxBytes = 1_232;
const systemProgram = '11111111111111111111111111111111';
const computeBudget = 'ComputeBudget111111111111111111111111111111';
const coreProgram = 'CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d';
/** The name programs of the public cluster, whose addresses the local ledger has too, and of the staging one. */
const namePrograms: ReadonlySet<string> = new Set([
  '2yCUx5edFvUrkibYaUa2ZXWyx9kuJkS8CwyzsgHPWdZZ',
  '2MWexMHfMhGJwMHv9Qm9YAVCqjUFUJwDJAysW4oCUGk5',
  '6EZNezcg4rc5hnh8HG34vGquT3WpW5xXypzPb24uyEpp',
  'DbHbRwUD1oAn1mrDSqtWtvwGcNrmhWdD2g8L4xmeQ7NX',
]);

/** The first eight bytes of instructions of the token program. */
const instructions: Readonly<Record<string, string>> = {
  afaf6d1f0d989bed: 'initialize',
  '8807cb4e6e6437b4': 'set_record',
  '39a57a1a8394ea63': 'remove_record',
  ee1177f7e5bbb675: 'transfer_record',
  fe947ff9744ccedd: 'set_record_metadata',
  '8d4a23d61ba3d92a': 'remove_record_metadata',
  c545a31a0d3075ef: 'add_controller',
  f83fdc5785ac3d6f: 'remove_controller',
  a334c8e78c0345ba: 'transfer',
  '3d18c5b4c3a98a69': 'reconcile',
  fca5e82c688f723e: 'register_acl_config',
  '5c0bdbd77766e919': 'add_acl_page',
  eeb2109ce9f18990: 'record_acl_owner',
  e19b03e6fa4cbed3: 'record_acl_controller',
  '8a568cdc733f838a': 'remove_acl_owner',
  ade1ee5929d5dcd1: 'remove_acl_controller',
};

/** Undefined for what is no transaction, or one whose accounts are elsewhere (lookup tables): nobody should sign those unread. */
export function summarizeTransaction(base64: string): TransactionSummary | undefined {
  const bytes = decodeBase64(base64);
  if (bytes === undefined || bytes.length > maxBytes) return undefined;
  try {
    return read(new Cursor(bytes));
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}

function read(cursor: Cursor): TransactionSummary | undefined {
  const signatures = cursor.list(() => cursor.take(signatureLength));
  const first = cursor.u8();
  const isVersioned = first >= 0x80;
  if (first > 0x80) return undefined;
  const required = isVersioned ? cursor.u8() : first;
  cursor.take(2);
  const keys = cursor.list(() => encodeBase58(cursor.take(32)));
  cursor.take(32);
  const steps = cursor.list(() => readStep(cursor, keys));
  if (isVersioned && cursor.length() !== 0) return undefined;
  const [feePayer] = keys;
  if (feePayer === undefined || signatures.length !== required || !cursor.isAtEnd) return undefined;
  const missing = keys
    .slice(0, required)
    .filter((_, index) => signatures[index]?.every((byte) => byte === 0));
  return { feePayer, missing, steps };
}

function readStep(cursor: Cursor, keys: readonly string[]): TransactionStep {
  const program = keyAt(keys, cursor.u8());
  const accounts = [...cursor.take(cursor.length())].map((index) => keyAt(keys, index));
  const data = cursor.take(cursor.length());
  const known = { program, isKnownProgram: true, values: [] };
  if (program === computeBudget) return { ...known, instruction: 'fee_limit' };
  if (program === coreProgram) return { ...known, instruction: data[0] === 0 ? 'create_token' : undefined };
  if (program === systemProgram) {
    const [from, to] = accounts;
    const view = new DataView(data.buffer, data.byteOffset, data.byteLength);
    if (data.length !== 12 || view.getUint32(0, true) !== 2 || from === undefined || to === undefined) {
      return { ...known, instruction: undefined };
    }
    const payment = { from, to, lamports: view.getBigUint64(4, true) };
    return { ...known, instruction: 'transfer_lamports', payment };
  }
  const instruction = instructions[encodeHex(data.subarray(0, 8))];
  const values = valuesOf(instruction, new Cursor(data.slice(8)), accounts);
  return { program, isKnownProgram: namePrograms.has(program), instruction, values };
}

/** Where the new owner stands among the accounts of a transfer. */
const newOwnerPlace = 4;

function valuesOf(instruction: string | undefined, args: Cursor, accounts: readonly string[]): string[] {
  switch (instruction) {
    case 'set_record':
      return [args.text(), args.text()];
    case 'initialize': {
      const name = args.text();
      // A ticker, where there is one, stands between.
      if (args.u8() === 1) args.text();
      return [name, args.text()];
    }
    case 'set_record_metadata':
    case 'remove_record_metadata':
      return [args.text()];
    case 'add_controller':
    case 'remove_controller':
    case 'transfer_record':
      return [encodeBase58(args.take(32))];
    case 'transfer':
      return [keyAt(accounts, newOwnerPlace)];
    default:
      return [];
  }
}

function keyAt(keys: readonly string[], index: number): string {
  const key = keys[index];
  if (key === undefined) throw new RangeError('an instruction names an account that is not there');
  return key;
}

class Cursor {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #at = 0;

  constructor(bytes: Uint8Array<ArrayBuffer>) {
    this.#bytes = bytes;
  }

  get isAtEnd(): boolean {
    return this.#at === this.#bytes.length;
  }

  take(length: number): Uint8Array<ArrayBuffer> {
    if (this.#at + length > this.#bytes.length) throw new RangeError('the bytes end too early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  u8(): number {
    return this.take(1)[0] ?? 0;
  }

  /** Borsh: 32 bits of length, then UTF-8. */
  text(): string {
    const size = this.take(4);
    const length = new DataView(size.buffer, size.byteOffset, size.byteLength).getUint32(0, true);
    return new TextDecoder().decode(this.take(length));
  }

  /** 1 to 3 bytes of 7 bits each. */
  length(): number {
    let value = 0;
    for (let index = 0; index < 3; index += 1) {
      const byte = this.u8();
      value |= (byte & 0x7f) << (index * 7);
      if (byte < 0x80) return value;
    }
    throw new RangeError('a length has too many bytes');
  }

  list<T>(readOne: () => T): T[] {
    const count = this.length();
    if (count > this.#bytes.length - this.#at) throw new RangeError('a list is longer than its bytes');
    return Array.from({ length: count }, readOne);
  }
}
