/** Transactions and bundles that somebody asks for, out of the order in which the importer comes to them. */
import { Together } from '../../kernel/background/together.ts';
import type { NodePool } from '../../outside/arweave/node-pool.ts';
import type { Lane } from '../../outside/arweave/request-pacer.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { ranks } from '../unbundle/queue.ts';
import { fetchTransaction } from './fetch-block.ts';
import { indexHeader } from './pending.ts';
import { type BundleIntake, queueKnownBundle } from './queue-bundle.ts';

export interface OnDemandImportOptions extends BundleIntake {
  readonly index: SqlGatewayIndex;
  readonly nodes: NodePool;
}

export class OnDemandImport {
  readonly #options: OnDemandImportOptions;
  /** One fetch for all who ask for a transaction at the same time. */
  readonly #fetching = new Together<string, boolean>();

  constructor(options: OnDemandImportOptions) {
    this.#options = options;
  }

  /** Queues a bundle whatever the unbundle filter says; answers whether it is queued. */
  async queueBundle(id: string): Promise<boolean> {
    const { index, queue } = this.#options;
    const bytes = Buffer.from(id, 'base64url');
    const located = await index.locate(id);
    const root = located?.placement?.root;
    const added = await index.sql.transaction((tx) =>
      queue.add(tx, {
        id: bytes,
        root: root === undefined ? bytes : Buffer.from(root, 'base64url'),
        depth: root === undefined ? 0 : 1,
        height: located?.height ?? null,
        rank: ranks.asked,
        matches: true,
        bypass: true,
        again: true,
      }),
    );
    if (added) queue.notify();
    return added;
  }

  /**
   * Indexes a transaction now, and queues it when it is a bundle that the unbundle filter lets through; one that was
   * read before only where it is to be read `again`.
   */
  async queueTransaction(id: string, lane: Lane = 'import', again = false): Promise<boolean> {
    const { index, queue } = this.#options;
    if ((await index.locate(id)) === undefined && !(await this.#fetching.run(id, () => this.fetch(id, lane))))
      return false;
    const added = await queueKnownBundle(index, this.#options, id, ranks.asked, { again });
    if (added) queue.notify();
    return added;
  }

  /** Indexes the header of a transaction; false when the chain does not have it. */
  async fetch(id: string, lane: Lane = 'import'): Promise<boolean> {
    const { index, nodes } = this.#options;
    const mined = await fetchTransaction(nodes, id, 'tx', { lane });
    const header = mined ?? (await fetchTransaction(nodes, id, 'unconfirmed_tx', { lane }));
    if (header === undefined) return false;
    await indexHeader(index, header, mined === undefined);
    return true;
  }
}
