/** The chain reads of interface §4.4 and the node routes that published clients call besides. */
import type { Part } from '../../kernel/part.ts';
import type { ChainReadsDeps } from './answers.ts';
import { blockRoutes } from './block.ts';
import { chunkRoutes } from './chunk.ts';
import { nodeInfoRoutes } from './node-info.ts';
import { postRoutes } from './post.ts';
import { transactionRoutes } from './tx.ts';

export function createChainReadsPart(deps: ChainReadsDeps): Part {
  return {
    name: 'chain',
    routes(app) {
      nodeInfoRoutes(app, deps);
      blockRoutes(app, deps);
      transactionRoutes(app, deps);
      postRoutes(app, deps);
      chunkRoutes(app, deps);
    },
  };
}
