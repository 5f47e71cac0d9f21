/**
 * Whether the wallet is the one that paid for bundles before. Another one is legal; after a restore it is more likely that the
 * right one was not put back, and then neither its AR nor what is paid to it is there.
 */
import { decodeBase64url } from '../../formats/base64url.ts';
import { textOf, tryParseJson } from '../../formats/json.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Part } from '../../kernel/part.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { arweaveAddress } from '../../wallets/arweave/rsa.ts';

export interface WalletOfBeforeOptions {
  readonly sql: Sql;
  readonly log: Logger;
  /** The wallet that pays now, and those that are known to have paid. */
  readonly wallets: readonly [string, ...string[]];
}

export function createWalletOfBefore({ sql, log, wallets }: WalletOfBeforeOptions): Part {
  const [wallet] = wallets;
  /** As long as it is the last; while this process runs, only its own wallet can come after it. */
  let before: string | undefined;
  const look = async (): Promise<void> => {
    const payer = await lastPayer(sql);
    before = payer === undefined || wallets.includes(payer) ? undefined : payer;
  };
  return {
    name: 'wallet of before',
    async start() {
      await look();
      if (before !== undefined)
        log.warn(
          { wallet, before },
          'another wallet paid for the last bundle: put it back, or name it in FORMER_ARWEAVE_ADDRESSES',
        );
    },
    async problems() {
      if (before !== undefined) await look();
      return before === undefined
        ? []
        : [
            `The wallet is ${wallet}, and ${before} paid for the last bundle: put that one back, or name it in FORMER_ARWEAVE_ADDRESSES.`,
          ];
    },
  };
}

/** Who signed the newest bundle that has a transaction; undefined where there is none. */
async function lastPayer(sql: Sql): Promise<string | undefined> {
  const row = await sql.get<{ tx: string }>(
    'SELECT tx FROM upload_bundles WHERE tx IS NOT NULL ORDER BY created_at DESC, plan DESC LIMIT 1',
  );
  const owner = row && textOf(tryParseJson(row.tx), 'owner');
  return owner && arweaveAddress(decodeBase64url(owner));
}
