/** Data that came with a transaction and that a node holds with it until its block is there. */
import { limits } from '../../../formats/arweave/transaction.ts';
import type { NodePool } from '../../../outside/arweave/node-pool.ts';
import { fetchSigned } from '../../import/fetch-block.ts';
import { inlineData } from '../../import/pending.ts';
import { isPending, only } from '../opened.ts';
import type { ContentSource } from './source.ts';

export function pendingTransactions(nodes: NodePool): ContentSource {
  return {
    name: 'pending-transactions',
    trusted: true,
    async open(id, located, range, _journey, signal) {
      if (!isPending({ located }) || (located?.size ?? 0) > limits.inlineDataBytes) return undefined;
      const transaction = await fetchSigned(nodes, id, 'unconfirmed_tx', { lane: 'bytes', signal });
      const data = transaction && inlineData(transaction);
      if (data === undefined) return undefined;
      return {
        size: data.length,
        proven: false,
        hash: undefined,
        hops: 0,
        stream: only(data.subarray(range?.start, range?.end)),
      };
    },
  };
}
