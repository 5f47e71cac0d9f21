/** A person's Arweave wallet: a JWK in a file, as every Arweave tool keeps it. */
import { createPrivateKey, generateKeyPair } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { type ArweaveAddress, isArweaveAddress } from '../formats/base64url.ts';
import { hasCode, messageOf, StartupError } from '../kernel/errors.ts';
import { normalizeAddress } from '../wallets/address.ts';
import { type ArweaveKey, arweaveKey, exportJwk, importJwk } from '../wallets/arweave/rsa.ts';
import { readKeyFile } from './person-key.ts';

/** Wallets of services were kept as PEM once. */
export function readWallet(path: string): ArweaveKey {
  try {
    const text = readFileSync(path, 'utf8');
    return text.startsWith('-----BEGIN') ? arweaveKey(createPrivateKey(text)) : importJwk(text);
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? 'there is no such file' : messageOf(error);
    throw new StartupError(`wallet ${path} cannot be read: ${reason}`);
  }
}

/** A new wallet of the usual size, as the text of its file. */
export async function makeWalletText(): Promise<string> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 4096,
    publicExponent: 65_537,
  });
  return JSON.stringify(exportJwk(arweaveKey(privateKey)));
}

/** Never overwrites a file. */
export async function createWallet(path: string): Promise<ArweaveKey> {
  const text = await makeWalletText();
  try {
    writeFileSync(path, `${text}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const reason = hasCode(error, 'EEXIST') ? 'the file exists already' : messageOf(error);
    throw new StartupError(`wallet ${path} cannot be written: ${reason}`);
  }
  return importJwk(text);
}

/** The address of any chain, or that of the key file of this name. */
export function addressOfAnyWallet(fileOrAddress: string): string {
  return normalizeAddress(fileOrAddress) ?? readKeyFile(fileOrAddress).address;
}

/** What people name an Arweave wallet by: its file or its address. */
export function addressOfWallet(fileOrAddress: string): ArweaveAddress {
  return isArweaveAddress(fileOrAddress) ? fileOrAddress : readWallet(fileOrAddress).address;
}
