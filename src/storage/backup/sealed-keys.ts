/**
 * The keys of a service in one piece that only a passphrase opens: AES-256-GCM under a key that scrypt makes of it
 * (RFC 7914), so that whoever finds a backup has to guess at some tries a second.
 */
import { createCipheriv, createDecipheriv, randomBytes, scrypt } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Type } from 'typebox';
import { messageOf, StartupError } from '../../kernel/errors.ts';
import { jsonReader } from '../sql/typed-rows.ts';

const magic = Buffer.from('TPkeys1\n');
const saltBytes = 16;
const nonceBytes = 12;
const tagBytes = 16;
/** 128 MiB of memory for each try. */
const cost = { N: 2 ** 17, r: 8, p: 1, maxmem: 192 * 1024 * 1024 };
const shortestPassphrase = 12;
const longestPassphrase = 1_024;
const mostBytes = 16 * 1024 * 1024;

const readKeys = jsonReader('the keys of a backup', Type.Record(Type.String(), Type.String()));

/** File name to content. */
export type KeyFiles = ReadonlyMap<string, Buffer>;

/** The first line of a file. Throws `StartupError` where it is none to seal keys with. */
export function readPassphrase(path: string): string {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    throw new StartupError(`the passphrase file ${path} cannot be read: ${messageOf(error)}`);
  }
  const [line = ''] = text.split(/\r?\n/);
  if (line.length < shortestPassphrase || line.length > longestPassphrase) {
    throw new StartupError(
      `the first line of ${path} must be a passphrase of ${shortestPassphrase} to ${longestPassphrase} characters`,
    );
  }
  return line;
}

export async function sealKeys(files: KeyFiles, passphrase: string): Promise<Buffer> {
  const salt = randomBytes(saltBytes);
  const nonce = randomBytes(nonceBytes);
  const cipher = createCipheriv('aes-256-gcm', await keyOf(passphrase, salt), nonce);
  const plain = Object.fromEntries([...files].map(([name, bytes]) => [name, bytes.toString('base64')]));
  const sealed = Buffer.concat([cipher.update(JSON.stringify(plain), 'utf8'), cipher.final()]);
  return Buffer.concat([magic, salt, nonce, cipher.getAuthTag(), sealed]);
}

/** Throws `StartupError` for another passphrase. */
export async function openKeys(sealed: Buffer, passphrase: string): Promise<KeyFiles> {
  const start = magic.length;
  if (sealed.length > mostBytes || !sealed.subarray(0, start).equals(magic)) {
    throw new StartupError('the keys of the backup are of another release');
  }
  const salt = sealed.subarray(start, start + saltBytes);
  const nonce = sealed.subarray(start + saltBytes, start + saltBytes + nonceBytes);
  const tagStart = start + saltBytes + nonceBytes;
  const decipher = createDecipheriv('aes-256-gcm', await keyOf(passphrase, salt), nonce, {
    authTagLength: tagBytes,
  });
  decipher.setAuthTag(sealed.subarray(tagStart, tagStart + tagBytes));
  let plain: string;
  try {
    plain = Buffer.concat([
      decipher.update(sealed.subarray(tagStart + tagBytes)),
      decipher.final(),
    ]).toString();
  } catch {
    throw new StartupError('the passphrase does not open the keys of the backup');
  }
  return new Map(Object.entries(readKeys(plain)).map(([name, text]) => [name, Buffer.from(text, 'base64')]));
}

function keyOf(passphrase: string, salt: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    scrypt(passphrase.normalize('NFC'), salt, 32, cost, (error, key) =>
      error === null ? resolve(key) : reject(error),
    );
  });
}
