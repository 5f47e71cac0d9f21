/** The chain as a source of events. */
import type { EventSource } from '../../events/feed.ts';
import type { LiveFeed } from '../../events/live-feed.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import type { ChainEvent } from './chain-event.ts';
import { expandChanges } from './expand.ts';
import { type ChainQuery, parseChainQuery } from './query.ts';

export type ChainFeed = LiveFeed<ChainEvent, ChainQuery>;

export const chainSource = (index: SqlGatewayIndex): EventSource<ChainEvent, ChainQuery> => ({
  expand: (row) => expandChanges(index, row),
  matches: (event, query) => query.wants(event),
  parseQuery: parseChainQuery,
});
