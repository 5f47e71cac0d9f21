/** A person's Solana key: the JSON list of 64 numbers that Solana's own tools keep in a file. */
import { type KeyObject, randomBytes } from 'node:crypto';
import { readFileSync, writeFileSync } from 'node:fs';
import { isSolanaAddress, type SolanaAddress, toSolanaAddress } from '../../formats/solana/address.ts';
import { hasCode, StartupError } from '../../kernel/errors.ts';
import { ed25519PrivateKey, ed25519RawPublicKey, signEd25519 } from '../../wallets/solana/ed25519.ts';

export interface OwnerKey {
  readonly address: SolanaAddress;
  sign(message: Uint8Array): Buffer;
}

export function readOwnerKey(path: string): OwnerKey {
  let bytes: unknown;
  try {
    bytes = JSON.parse(readFileSync(path, 'utf8'));
  } catch (error) {
    const reason = hasCode(error, 'ENOENT') ? 'there is no such file' : 'it is not JSON';
    throw new StartupError(`key ${path} cannot be read: ${reason}`);
  }
  const isByte = (value: unknown) => Number.isInteger(value) && Number(value) >= 0 && Number(value) <= 255;
  if (!Array.isArray(bytes) || bytes.length !== 64 || !bytes.every(isByte)) {
    throw new StartupError(`key ${path} is not a Solana key: a JSON list of 64 numbers`);
  }
  const key = Buffer.from(bytes);
  const owner = keyOf(ed25519PrivateKey(key.subarray(0, 32)));
  if (owner.address !== toSolanaAddress(key.subarray(32))) {
    throw new StartupError(`key ${path} is damaged: its two halves do not belong together`);
  }
  return owner;
}

/** Makes a key; never overwrites a file. */
export function createOwnerKey(path: string): OwnerKey {
  const seed = randomBytes(32);
  const privateKey = ed25519PrivateKey(seed);
  const bytes = Buffer.concat([seed, ed25519RawPublicKey(privateKey)]);
  try {
    writeFileSync(path, `${JSON.stringify([...bytes])}\n`, { mode: 0o600, flag: 'wx' });
  } catch (error) {
    const reason = hasCode(error, 'EEXIST') ? 'the file exists already' : String(error);
    throw new StartupError(`key ${path} cannot be written: ${reason}`);
  }
  return keyOf(privateKey);
}

/** What people name an owner by: a key file or an address. */
export function ownerAddress(fileOrAddress: string): SolanaAddress {
  return isSolanaAddress(fileOrAddress) ? fileOrAddress : readOwnerKey(fileOrAddress).address;
}

function keyOf(privateKey: KeyObject): OwnerKey {
  return {
    address: toSolanaAddress(ed25519RawPublicKey(privateKey)),
    sign: (message) => signEd25519(privateKey, message),
  };
}
