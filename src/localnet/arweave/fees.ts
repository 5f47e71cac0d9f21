/** What storage costs: the real network's formula with a price that stands still. */
import { weaveBytes } from '../../formats/arweave/tx-tree.ts';
import { KRYDER_MULTIPLIER, PRICE_PER_GIB_MINUTE } from './rules.ts';

/** Every transaction is charged for its header, as so many bytes. */
const HEADER_BYTES = 3_210n;
/** A new account is charged as so many bytes. */
const ACCOUNT_BYTES = 20_000_000n;
const MINUTES_PER_YEAR = 525_600n;
const REPLICAS = 20n;
/** Storage gets cheaper by this rate a year: the sum over all years is one year divided by it. */
const DECAY = { numerator: 5_012_541_823_544_286n, denominator: 10n ** 18n };
/** On top for the miner. */
const MARKUP = { numerator: 21n, denominator: 20n };

function feeFor(bytes: bigint): bigint {
  const perpetual =
    bytes * PRICE_PER_GIB_MINUTE * MINUTES_PER_YEAR * KRYDER_MULTIPLIER * REPLICAS * DECAY.denominator;
  return (perpetual * MARKUP.numerator) / (MARKUP.denominator * DECAY.numerator * 2n ** 30n);
}

/** Winston for a transaction with `size` bytes of data; more when it opens an account. */
export function storageFee(size: number, opensAccount: boolean): bigint {
  const fee = feeFor(BigInt(weaveBytes(size)) + HEADER_BYTES);
  return opensAccount ? fee + feeFor(ACCOUNT_BYTES) : fee;
}
