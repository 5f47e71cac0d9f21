/**
 * The gateway ({base_url}, interface §4.4): follows the chain, indexes it, serves what it holds.
 *
 * - `chain/`    the nodes it asks, and the chain reads passed on to them
 * - `index/`    what it knows: blocks, transactions, data items, terms and their postings, in SQL
 * - `import/`   following the chain into the index: blocks, forks, pending transactions
 * - `unbundle/` reading bundles into data items, on the worker pool
 * - `filters/`  the filter language of unbundling, indexing and webhooks
 * - `graphql/`  the public query schema over the index
 * - `data/`     content: sources, cache, manifests, names, headers
 * - `admin/`    the operator's side: queues, moderation, export, pruning, behind the admin key
 * - `export/`   the index as Parquet files
 * - `httpsig/`  signed answers (RFC 9421)
 * - `metering/` how much a client may read, and paying for more
 * - `routes/`   one file per route or small family
 */
export type { ByteRange, ByteSource, OpenedBytes } from './chain/byte-source.ts';
export type { Chunks, Nodes } from './chain/nodes.ts';
export type { GatewayIndex, Located } from './chain-index/gateway-index.ts';
export type { CreatePart, GatewayContext, GatewayPart } from './context.ts';
export { createGatewaySurface, type GatewayDeps } from './surface.ts';
