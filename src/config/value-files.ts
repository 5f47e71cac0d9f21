/**
 * Values that are given as files: `NAME_FILE` names the file that holds NAME. That is how systemd, Kubernetes and
 * compose hand out secrets, and keeps them out of the environment, which every process of the same user can read.
 */
import { closeSync, constants, fstatSync, openSync, readFileSync } from 'node:fs';
import { userInfo } from 'node:os';

type Environment = Readonly<Record<string, string | undefined>>;

/** Larger than any key; a file beyond it holds something else. */
const sizeLimit = 64 * 1024;
/** A group may read: Kubernetes gives secrets to the group of the pod. Nobody else may, and nobody may write but the owner. */
const openBits = 0o027;

export const fileVariable = (name: string): string => `${name}_FILE`;

export interface ValueFiles {
  /** By the name of the variable whose value they are. */
  readonly values: Readonly<Record<string, string>>;
  /** One line for each that cannot be used. */
  readonly problems: readonly string[];
}

/** The values of those of `names` that the environment names a file for. */
export function readValueFiles(environment: Environment, names: readonly string[]): ValueFiles {
  const values: Record<string, string> = {};
  const problems: string[] = [];
  for (const name of names) {
    const variable = fileVariable(name);
    const path = environment[variable] ?? '';
    if (path === '') continue;
    if ((environment[name] ?? '') !== '') {
      problems.push(`${name} and ${variable} are both set: unset one of them`);
      continue;
    }
    try {
      values[name] = readValueFile(path);
    } catch (error) {
      problems.push(`${variable} ${path} ${(error as Error).message}`);
    }
  }
  return { values, problems };
}

/** Throws `Error` with the rest of the sentence "the file …". `mayBeOpen`: to other users of the machine. */
export function readValueFile(path: string, mayBeOpen = false): string {
  // Opening a pipe that nobody writes to must not hang the start.
  const file = opened(path);
  try {
    const stat = fstatSync(file);
    if (!stat.isFile()) throw new Error('is not a file');
    const { mode, size } = stat;
    if (size > sizeLimit) throw new Error(`is too large for a value (${size} bytes)`);
    if (!mayBeOpen && process.platform !== 'win32' && (mode & openBits) !== 0) {
      const shown = (mode & 0o7777).toString(8).padStart(4, '0');
      throw new Error(`is open to other users (mode ${shown}): run "chmod 600 ${path}"`);
    }
    const text = readFileSync(file, 'utf8');
    // Editors and `echo` end a file with a line break, which is no part of the value.
    const value = text.replace(/(?:\r?\n)+$/, '');
    if (value.trim() === '') throw new Error('is empty');
    if (value.includes('\0') || value.includes('\u{fffd}')) throw new Error('is not text');
    return value;
  } finally {
    closeSync(file);
  }
}

function opened(path: string): number {
  try {
    return openSync(path, constants.O_RDONLY | (constants.O_NONBLOCK ?? 0));
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : String(error);
    if (code === 'ENOENT') throw new Error('is not there: make it, or do not name it');
    throw new Error(`cannot be read by the user ${userInfo().username} (${code})`);
  }
}
