/** The price of storage, asked of Arweave nodes in their order of preference. */
import { ArweaveNodes } from '../outside/arweave/nodes.ts';
import type { NetworkPriceSource } from './pricing.ts';
import { REFERENCE_BYTES } from './quotes/bytes.ts';

export function nodePrices(nodeUrls: readonly string[], timeoutMs = 5_000): NetworkPriceSource {
  const nodes = new ArweaveNodes(nodeUrls, { timeoutMs });
  return {
    async fetch() {
      const price = await nodes.price(REFERENCE_BYTES);
      if (price === 0n) throw new Error('an Arweave node stores 10 GiB for nothing');
      return price;
    },
  };
}
