/** What costs nothing: small items, within an allowance per network address, and wallets on a list. */
import type { Config } from '../../config/config.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { formsOfAddress } from '../../wallets/address-forms.ts';
import { FreeAllowanceUsedUp } from '../errors.ts';

type FreeTierConfig = Pick<
  Config,
  'FREE_UPLOAD_LIMIT' | 'FREE_BYTES_PER_IP' | 'FREE_BYTES_PER_IP_TTL_SECS' | 'ALLOW_LISTED_ADDRESSES'
>;

export class FreeTier {
  readonly #config: FreeTierConfig;
  readonly #listed: ReadonlySet<string>;

  constructor(config: FreeTierConfig) {
    this.#config = config;
    this.#listed = new Set(
      config.ALLOW_LISTED_ADDRESSES.map((address) => normalizeAddress(address) ?? address),
    );
  }

  /** Under any form of its address that the address itself tells. */
  #isListed(signer: string): boolean {
    if (this.#listed.size === 0) return false;
    return [signer, ...formsOfAddress(signer)].some((form) => this.#listed.has(form));
  }

  /** Whether an item of this size by this wallet is free, leaving the allowance aside. */
  covers(size: number, signer: string): boolean {
    return size <= this.#config.FREE_UPLOAD_LIMIT || this.#isListed(signer);
  }

  /** Counts a free item against the allowance of the address it came from; throws 429 when that is used up. */
  async count(
    tx: SqlExecutor,
    size: number,
    signer: string,
    clientAddress: string,
    now: number,
  ): Promise<void> {
    if (this.#isListed(signer)) return;
    const row = (await lockRow(tx, clientAddress)) ?? (await openRow(tx, clientAddress, now));
    const windowMs = this.#config.FREE_BYTES_PER_IP_TTL_SECS * 1_000;
    const open = row !== undefined && now - row.window_start < windowMs;
    const bytes = (open ? row.bytes : 0) + size;
    if (bytes > this.#config.FREE_BYTES_PER_IP) {
      const left = open ? row.window_start + windowMs - now : windowMs;
      throw new FreeAllowanceUsedUp(Math.ceil(left / 1_000));
    }
    await tx.run(
      `INSERT INTO upload_free_bytes (address, bytes, window_start) VALUES (?, ?, ?)
       ON CONFLICT (address) DO UPDATE SET bytes = excluded.bytes, window_start = excluded.window_start`,
      clientAddress,
      bytes,
      open ? row.window_start : now,
    );
  }
}

interface FreeBytes {
  readonly bytes: number;
  readonly window_start: number;
}

function lockRow(tx: SqlExecutor, address: string): Promise<FreeBytes | undefined> {
  return tx.get<FreeBytes>(
    `SELECT bytes, window_start FROM upload_free_bytes WHERE address = ? ${tx.forUpdate}`,
    address,
  );
}

/** What is not there cannot be locked: of many who come first at once, each must see the others. */
async function openRow(tx: SqlExecutor, address: string, now: number): Promise<FreeBytes | undefined> {
  await tx.run(
    'INSERT INTO upload_free_bytes (address, bytes, window_start) VALUES (?, 0, ?) ON CONFLICT (address) DO NOTHING',
    address,
    now,
  );
  return lockRow(tx, address);
}
