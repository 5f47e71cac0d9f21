/** What is fixed on the local network: the chain's own limits, and the figures that a real network votes on. */
import { createHash } from 'node:crypto';
import { CHUNK_BYTES } from '../../formats/arweave/chunks.ts';
import { toArweaveAddress } from '../../formats/base64url.ts';
import { localSign } from '../sign.ts';

/** Clients tell chains apart by this name: it can be mistaken for no public network. */
export const NETWORK = localSign.arweaveNetwork;
/** The protocol and release numbers of the node whose interface this is. */
export const PROTOCOL_VERSION = 5;
export const RELEASE = 92;

/** Blocks whose hashes a new transaction may name as its anchor. */
export const ANCHOR_DEPTH = 50;
/** `/tx_anchor` names the 6th newest block: recent, and unlikely to be orphaned. */
export const ANCHOR_AGE = 5;
export const MAX_BLOCK_TRANSACTIONS = 1_000;
/** Blocks a fork may replace. Undo records are kept this long. */
export const MAX_FORK_DEPTH = 100;
export const MAX_MINED_AT_ONCE = 10_000;
export const MAX_PENDING = 20_000;
/** How long an accepted transaction posted again is answered 208 without being looked at. */
export const PROCESSED_MEMORY_MS = 600_000;
/** The node serves whole data as one text only up to this. */
export const MAX_SERVED_DATA_BYTES = 12 * 1_024 * 1_024;
/** JSON of a transaction whose inline data has the 10 MiB that are allowed. */
export const MAX_TX_BODY_BYTES = 15 * 1_024 * 1_024;
export const MAX_CHUNK_BODY_BYTES = 750_000;
export const MAX_MINT = 10n ** 21n;
/** Of a size whose price is asked: the weave's own size is a number of 256 bits. */
export const MAX_SIZE_DIGITS = 78;

/** Winston per GiB and minute, and the factor on it: about 0.75 AR for a GiB, near the public network's price. */
export const PRICE_PER_GIB_MINUTE = 340n;
export const KRYDER_MULTIPLIER = 1n;

export const DIFFICULTY = 6;
/** Of each fee, one part in so many goes to the miner at once, the rest into the pool that pays for storage. */
export const MINER_SHARE = 21n;
/** JSON integers of the contract's Block record stay exact. */
export const MAX_REWARD_POOL = BigInt(Number.MAX_SAFE_INTEGER);

/** Nobody has its key: what it earns stays where a test can count it. */
export const MINER = toArweaveAddress(createHash('sha256').update('turnpike.local miner').digest());

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

/** Winston for a transaction with `size` bytes of data; more when it opens an account. Prices are asked beyond any data. */
export function storageFee(size: number | bigint, opensAccount: boolean): bigint {
  const chunk = BigInt(CHUNK_BYTES);
  const chunks = (BigInt(size) + chunk - 1n) / chunk;
  const fee = feeFor(chunks * chunk + HEADER_BYTES);
  return opensAccount ? fee + feeFor(ACCOUNT_BYTES) : fee;
}
