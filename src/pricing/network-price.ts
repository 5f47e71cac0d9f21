/** The price of storage, asked of Arweave nodes in their order of preference. */

import type { NetworkPriceSource } from './pricing.ts';
import { REFERENCE_BYTES } from './quotes/bytes.ts';
import { getText } from './rates/http.ts';
import { parseAmount } from './units.ts';

export function nodePrices(nodeUrls: readonly string[], timeoutMs = 5_000): NetworkPriceSource {
  return {
    async fetch() {
      const failures: unknown[] = [];
      for (const url of nodeUrls) {
        try {
          const text = await getText(`${url}/price/${REFERENCE_BYTES}`, {}, timeoutMs, 1024);
          const price = parseAmount(text.trim());
          if (price === undefined || price === 0n) throw new Error(`${url} answered no price`);
          return price;
        } catch (error) {
          failures.push(error);
        }
      }
      throw new AggregateError(failures, 'no Arweave node answered the price of 10 GiB');
    },
  };
}
