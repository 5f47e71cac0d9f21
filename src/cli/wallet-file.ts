/** A person's Arweave wallet: a JWK in a file, as every Arweave tool keeps it. */
import { createPrivateKey, generateKeyPair, type KeyObject } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { sha256 } from '../formats/arweave/merkle.ts';
import { rsaModulus } from '../formats/arweave/rsa-pss.ts';
import { type ArweaveAddress, isArweaveAddress, toArweaveAddress } from '../formats/base64url.ts';
import { StartupError } from '../kernel/errors.ts';

export interface WalletFile {
  readonly key: KeyObject;
  readonly address: ArweaveAddress;
}

export function readWallet(path: string): WalletFile {
  let key: KeyObject;
  try {
    key = createPrivateKey({ key: JSON.parse(readFileSync(path, 'utf8')), format: 'jwk' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'ENOENT' ? 'there is no such file' : 'it is not a JWK private key';
    throw new StartupError(`wallet ${path} cannot be read: ${reason}`);
  }
  if (key.asymmetricKeyType !== 'rsa') throw new StartupError(`wallet ${path} is not an RSA key`);
  return { key, address: addressOf(key) };
}

/** Makes a wallet of the usual size; never overwrites a file. */
export async function createWallet(path: string): Promise<WalletFile> {
  const { privateKey } = await promisify(generateKeyPair)('rsa', {
    modulusLength: 4096,
    publicExponent: 65_537,
  });
  try {
    const jwk = privateKey.export({ format: 'jwk' });
    writeFileSync(path, `${JSON.stringify(jwk)}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const reason = code === 'EEXIST' ? 'the file exists already' : code;
    throw new StartupError(`wallet ${path} cannot be written: ${reason}`);
  }
  return { key: privateKey, address: addressOf(privateKey) };
}

/** What people name a wallet by: its file or its address. */
export function addressOfWallet(fileOrAddress: string): ArweaveAddress {
  return isArweaveAddress(fileOrAddress) ? fileOrAddress : readWallet(fileOrAddress).address;
}

function addressOf(key: KeyObject): ArweaveAddress {
  return toArweaveAddress(sha256(rsaModulus(key)));
}
