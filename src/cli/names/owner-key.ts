/** A person's Solana key: the JSON list of 64 numbers that Solana's own tools keep in a file. */
import { randomBytes } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { isSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { hasCode, StartupError } from '../../kernel/errors.ts';
import { ed25519PrivateKey, ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { type OwnerKey, readKeyFile } from '../person-key.ts';

export function readOwnerKey(path: string): OwnerKey {
  const { owner, kind } = readKeyFile(path);
  if (owner === undefined) throw new StartupError(`key ${path} is ${kind}'s: names are owned by Solana keys`);
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
  return readOwnerKey(path);
}

/** What people name an owner by: a key file or an address. */
export function ownerAddress(fileOrAddress: string): SolanaAddress {
  return isSolanaAddress(fileOrAddress) ? fileOrAddress : readOwnerKey(fileOrAddress).address;
}
