/** The anchor (`last_tx`) that keeps a transaction from being mined twice: a recent block, or the wallet's last. */
import { isBlockHash } from '../../../formats/base64url.ts';
import type { SqlExecutor } from '../../../storage/sql/sql.ts';
import { ANCHOR_DEPTH } from '../rules.ts';
import { heightOf } from './blocks.ts';
import type { Wallet } from './wallets.ts';

/** True when a block on top of one at `height` may hold a transaction of `wallet` with this anchor. */
export async function isGoodAnchor(
  sql: SqlExecutor,
  anchor: string,
  wallet: Readonly<Wallet> | undefined,
  height: number,
): Promise<boolean> {
  if (anchor === (wallet?.lastTx ?? '')) return true;
  if (!isBlockHash(anchor)) return false;
  const anchored = await heightOf(sql, anchor);
  return anchored !== undefined && height - anchored < ANCHOR_DEPTH;
}
