/** Program-derived addresses: SHA-256 of seeds, bump, program and a marker, kept off the curve. */
import { createHash } from 'node:crypto';
import { FormatError } from '../format-error.ts';
import { addressBytes, isOnCurve, type SolanaAddress, toSolanaAddress } from './address.ts';

export interface DerivedAddress {
  readonly address: SolanaAddress;
  readonly bump: number;
  /** What the program signs for the address with: the seeds, and the bump as the last. */
  readonly seeds: readonly Uint8Array[];
}

const marker = Buffer.from('ProgramDerivedAddress');
const maxSeeds = 16;
const maxSeedLength = 32;

/** Each derivation tries a few points of the curve, and callers ask for the same accounts again and again. */
const derived = new Map<string, DerivedAddress>();
const maxDerived = 8192;

/** The derived address with the highest bump that is off the curve, as every client computes it. */
export function findProgramAddress(seeds: readonly Uint8Array[], programId: SolanaAddress): DerivedAddress {
  const key = `${programId}/${seeds.map((seed) => Buffer.from(seed).toString('hex')).join('/')}`;
  const known = derived.get(key);
  if (known !== undefined) return known;
  for (let bump = 255; bump >= 0; bump -= 1) {
    const withBump = [...seeds, Uint8Array.of(bump)];
    const address = tryCreateProgramAddress(withBump, programId);
    if (address === undefined) continue;
    const found = { address, bump, seeds: withBump };
    if (derived.size >= maxDerived) derived.clear();
    derived.set(key, found);
    return found;
  }
  throw new FormatError('no program-derived address for these seeds');
}

/** The address of exactly these seeds (the bump among them), or undefined where it falls on the curve. */
export function tryCreateProgramAddress(
  seeds: readonly Uint8Array[],
  programId: SolanaAddress,
): SolanaAddress | undefined {
  if (seeds.length > maxSeeds || seeds.some((seed) => seed.length > maxSeedLength)) {
    throw new FormatError('a derived address takes at most 16 seeds of 32 bytes');
  }
  const hash = createHash('sha256');
  for (const seed of seeds) hash.update(seed);
  const digest = hash.update(addressBytes(programId)).update(marker).digest();
  return isOnCurve(digest) ? undefined : toSolanaAddress(digest);
}
