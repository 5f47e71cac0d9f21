/** The chain reads of interface §4.4 and the node routes that published clients call besides. */
import type { CreatePart } from '../context.ts';
import { blockRoutes } from './block.ts';
import { chunkRoutes } from './chunk.ts';
import { nodeInfoRoutes } from './node-info.ts';
import { postRoutes } from './post.ts';
import { transactionRoutes } from './tx.ts';

export const createChainReads: CreatePart = (context) => ({
  name: 'chain',
  routes(app) {
    nodeInfoRoutes(app, context);
    blockRoutes(app, context);
    transactionRoutes(app, context);
    postRoutes(app, context);
    chunkRoutes(app, context);
  },
});
