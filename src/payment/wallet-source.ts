/** The ledger's log as events of wallets, and what a wallet may ask for of its own. */
import { BadQuery, type EventSource, type FeedEvent, type FeedQuery } from '../events/feed.ts';
import { readWalletEvents } from '../events/wallet-events.ts';
import { isRecord } from '../formats/json.ts';
import { walletEventTypes } from '../formats/wallet-event-types.ts';

export interface WalletQuery extends FeedQuery {
  /** Types and topics (`upload` is every type that begins with `upload.`); undefined is all. */
  readonly types?: readonly string[];
}

const topics = [...new Set(walletEventTypes.map(topicOf))];
const known: readonly string[] = [...walletEventTypes, ...topics];

export const walletSource: EventSource<FeedEvent, WalletQuery> = {
  expand: async (row) => readWalletEvents(row),
  matches: ({ type }, { types }) =>
    types === undefined || types.includes(type) || types.includes(topicOf(type)),
  parseQuery(json) {
    if (!isRecord(json)) throw new BadQuery('A query is an object, such as {"types":["upload"]}');
    const extra = Object.keys(json).find((name) => name !== 'types');
    if (extra !== undefined) throw new BadQuery(`A query has no field '${extra.slice(0, 40)}'`);
    return json.types === undefined ? {} : { types: readTypes(json.types) };
  },
};

/** As a list, or with commas between them. */
export function readTypes(given: unknown): readonly string[] {
  const types: unknown = typeof given === 'string' ? given.split(',') : given;
  if (!Array.isArray(types) || types.length === 0 || types.length > known.length) {
    throw new BadQuery(`Types are one or more of ${known.join(', ')}`);
  }
  for (const type of types) {
    if (!known.includes(type)) {
      throw new BadQuery(`There is no type '${String(type).slice(0, 40)}', only ${known.join(', ')}`);
    }
  }
  return types;
}

function topicOf(type: string): string {
  return type.slice(0, type.indexOf('.'));
}
