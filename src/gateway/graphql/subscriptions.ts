/** The questions of the schema that are answered as long as somebody listens. */
import { GraphQLError } from 'graphql';
import { type Cursor, cursorText, parseCursor } from '../../events/feed.ts';
import type { LiveFeed } from '../../events/live-feed.ts';
import { toSummary } from '../chain-index/blocks.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';
import { BlockEvent, type ChainEvent, RecordEvent } from '../events/chain-event.ts';
import type { ChainQuery } from '../events/query.ts';
import { badInput, type ErrorCode } from './errors.ts';
import {
  type BlockEventsArgs,
  blockEvents,
  type TransactionEventsArgs,
  transactionEvents,
} from './event-query.ts';
import { Nodes, type Wants } from './nodes.ts';
import type { Resolver } from './schema.ts';

export interface SubscriptionContext {
  /** Field names that the operation selects. */
  readonly wants: Wants;
  /** The client has left, or wants no more. */
  readonly signal: AbortSignal;
}

/** One event, or what is wrong: the stream goes on behind either. */
type Emitted = Readonly<Record<string, object>>;

export function createSubscriptions(
  index: SqlGatewayIndex,
  feed: LiveFeed<ChainEvent, ChainQuery>,
): Record<string, Resolver<SubscriptionContext>> {
  const nodes = new Nodes(index);

  async function* follow(
    field: 'transactions' | 'blocks',
    { after, query }: { readonly after: Cursor; readonly query: ChainQuery },
    { wants, signal }: SubscriptionContext,
  ): AsyncGenerator<Emitted> {
    for await (const told of feed.follow(after, query, signal)) {
      if ('gap' in told) {
        yield { [field]: eventsGone(told.gap) };
        continue;
      }
      const { cursor, event } = told;
      const node = await nodeOf(event, wants);
      const state = event.state.toUpperCase();
      if (node !== undefined) yield { [field]: { cursor: cursorText(cursor), state, node } };
    }
  }

  async function nodeOf(event: ChainEvent, wants: Wants): Promise<object | undefined> {
    if (event instanceof BlockEvent) return toSummary(event.block);
    if (!(event instanceof RecordEvent)) return undefined;
    return (await nodes.edges([{ record: event.row.record }], wants))[0]?.node;
  }

  async function start(after: string | null | undefined): Promise<Cursor> {
    if (after === null || after === undefined || after === '') return await feed.newest();
    const cursor = parseCursor(after);
    if (cursor === undefined) throw badInput('after is not a cursor of an event');
    return cursor;
  }

  return {
    'Subscription.transactions': async (_root, args: TransactionEventsArgs, context) => {
      const query = transactionEvents(args);
      return follow('transactions', { after: await start(args.after), query }, context);
    },
    'Subscription.blocks': async (_root, args: BlockEventsArgs, context) => {
      const query = blockEvents(args);
      return follow('blocks', { after: await start(args.after), query }, context);
    },
  };
}

function eventsGone({ from, to }: { readonly from: Cursor; readonly to: Cursor }): GraphQLError {
  const gap = { from: cursorText(from), to: cursorText(to) };
  return new GraphQLError(`Events between ${gap.from} and ${gap.to} are no longer kept`, {
    extensions: { code: 'EVENTS_GONE' satisfies ErrorCode, ...gap },
  });
}
