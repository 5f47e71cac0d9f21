/**
 * Makes the chain transaction of a planned bundle: one pass over its bytes for the data root, the proofs of all chunks and the
 * proof that each item is what was uploaded; a price and an anchor from the network, a signature. It is stored before any
 * node gets it.
 */
import { bundleTags } from '../../formats/ans104/bundle-header.ts';
import type { DataTree } from '../../formats/arweave/data-root.ts';
import { newTransaction } from '../../formats/arweave/transaction.ts';
import { transactionToJson } from '../../formats/arweave/transaction-json.ts';
import { signTransactionAsync } from '../../formats/arweave/transaction-signature.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';
import { changeOne } from '../../storage/sql/change-one.ts';
import type { Transactions } from '../../storage/sql/lease.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import type { UploadMetrics } from '../metrics.ts';
import type { BundleRow } from './bundle-rows.ts';

export interface PrepareDeps {
  readonly nodes: ArweaveNodes;
  readonly wallet: ArweaveKey;
  readonly metrics: UploadMetrics;
  readonly now: () => number;
}

/** The bundler's wallet cannot pay for the bundle: an operator must fill it. */
export class WalletShort extends Error {
  override readonly name = 'WalletShort';
}

const appTags = [
  { name: 'App-Name', value: 'Turnpike' },
  { name: 'Bundler-App-Name', value: 'Turnpike' },
];

/** Signs for the bytes that the tree was made of. */
export async function prepareBundle(
  deps: PrepareDeps,
  transactions: Transactions,
  bundle: BundleRow,
  tree: DataTree,
): Promise<void> {
  const { nodes, wallet, now } = deps;
  const [reward, { anchor, height }, balance] = await Promise.all([
    nodes.price(tree.size),
    nodes.anchor(),
    nodes.balance(wallet.address),
  ]);
  deps.metrics.wallet(balance);
  if (balance < reward) {
    throw new WalletShort(`${wallet.address} has ${balance} winston, bundle ${bundle.plan} costs ${reward}`);
  }
  const unsigned = newTransaction({
    lastTx: anchor,
    reward,
    dataSize: tree.size,
    dataRoot: tree.root,
    tags: [...bundleTags, ...appTags],
  });
  const json = transactionToJson(await signTransactionAsync(unsigned, wallet.privateKey), 'header');
  await transactions.transaction((tx) =>
    changeOne(
      tx,
      `UPDATE upload_bundles SET state = 'prepared', tx_id = ?, tx = ?, anchor_height = ?, posted_at = NULL,
         changed_at = ?
       WHERE plan = ? AND state = 'planned'`,
      json.id,
      JSON.stringify(json),
      height,
      now(),
      bundle.plan,
    ),
  );
}
