/**
 * Secrets that the program makes for itself on first start, kept under `DATA_DIR/keys`: no secret has a default
 * that is a constant. A file is written whole or not at all, is readable by its owner only, and is refused when
 * somebody has opened it to others.
 */
import { generateKeyPair, randomBytes } from 'node:crypto';
import { constants } from 'node:fs';
import { type FileHandle, link, open, rm } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { hasCode, messageOf, StartupError } from './errors.ts';
import { makeFolder, syncFolder, writeSyncedFile } from './files.ts';

/** Larger than any key in PEM; a file beyond it is not a key. */
const sizeLimit = 64 * 1024;
const saneName = /^[a-z0-9][a-z0-9.-]{0,63}$/;

export interface KeyFile {
  readonly path: string;
  /** The secret, without the line break at the end of the file. */
  readonly text: string;
  /** True when this call made it, so that the start can say where it is. */
  readonly made: boolean;
}

/** The secret in `dir/name`; made by `make` and stored when there is none yet. */
export async function readOrCreateKey(
  dir: string,
  name: string,
  make: () => string | Promise<string>,
): Promise<KeyFile> {
  if (!saneName.test(name)) throw new Error(`not a name for a key file: ${name}`);
  const path = join(dir, name);
  try {
    makeFolder(resolve(dir), 0o700);
  } catch (error) {
    throw new StartupError(`${dir} cannot be made: ${messageOf(error)}`);
  }
  await checkFolder(dir);
  const existing = await readKey(path);
  if (existing !== undefined) return { path, text: existing, made: false };
  const text = (await make()).trimEnd();
  if (await store(dir, path, text)) return { path, text, made: true };
  // Another process was first; its key is the key.
  const other = await readKey(path);
  if (other === undefined) throw new StartupError(`${path} vanished while it was read`);
  return { path, text: other, made: false };
}

/** A bearer token or admin key: 256 random bits, base64url. */
export function makeToken(): string {
  return randomBytes(32).toString('base64url');
}

/** An Ed25519 private key as PKCS #8 PEM (RFC 8410). */
export async function makeEd25519Key(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('ed25519', {});
  return privateKey.export({ format: 'pem', type: 'pkcs8' }).toString();
}

/** The secret in a file; undefined when there is none. */
export async function readKey(path: string): Promise<string | undefined> {
  const file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK).catch((error) => {
    if (hasCode(error, 'ENOENT')) return undefined;
    throw new StartupError(`${path} cannot be read: ${messageOf(error)}`);
  });
  if (file === undefined) return undefined;
  try {
    await checkFile(path, file);
    const text = (await file.readFile('utf8')).trimEnd();
    if (text === '')
      throw new StartupError(`${path} is empty: restore it, or remove it to have a new one made`);
    return text;
  } finally {
    await file.close();
  }
}

async function checkFile(path: string, file: FileHandle): Promise<void> {
  const stat = await file.stat();
  if (!stat.isFile()) throw new StartupError(`${path} is not a file`);
  if (stat.size > sizeLimit) throw new StartupError(`${path} is too large for a key (${stat.size} bytes)`);
  if (hasModes && (stat.mode & 0o077) !== 0) {
    throw new StartupError(
      `${path} is open to other users (mode ${octal(stat.mode)}): run "chmod 600 ${path}"`,
    );
  }
}

/** A user who may write to the folder could replace our key. */
async function checkFolder(dir: string): Promise<void> {
  const folder = await open(dir, constants.O_RDONLY);
  try {
    const { mode } = await folder.stat();
    if (hasModes && (mode & 0o022) !== 0) {
      throw new StartupError(
        `${dir} is writable by other users (mode ${octal(mode)}): run "chmod 700 ${dir}"`,
      );
    }
  } finally {
    await folder.close();
  }
}

/** False when the file is there already: a link, unlike a rename, never replaces what another process made. */
async function store(dir: string, path: string, text: string): Promise<boolean> {
  const temporary = join(dir, `.${randomBytes(8).toString('hex')}.tmp`);
  try {
    await writeSyncedFile(temporary, `${text}\n`, 0o600);
    await link(temporary, path);
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    throw new StartupError(`${path} cannot be written: ${messageOf(error)}`);
  } finally {
    await rm(temporary, { force: true });
  }
  await syncFolder(dir);
  return true;
}

/** Windows has no such modes; there the folder's own access list protects the keys. */
const hasModes = process.platform !== 'win32';

function octal(mode: number): string {
  return (mode & 0o7777).toString(8).padStart(4, '0');
}
