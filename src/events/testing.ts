/** A source for tests: each row is a JSON list of events, and a query names types. */
import type { NewEvent } from './event-log.ts';
import { BadQuery, type EventSource, type FeedEvent, type FeedQuery } from './feed.ts';

interface TestQuery extends FeedQuery {
  readonly types?: readonly string[];
}

export interface TestSource extends EventSource<FeedEvent, TestQuery> {
  /** Rows that were expanded. */
  expanded: number;
}

export function testSource(): TestSource {
  return {
    expanded: 0,
    async expand({ body, madeAt }) {
      this.expanded += 1;
      const events: { type: string; data: Record<string, unknown> }[] = JSON.parse(body.toString());
      return events.map(({ type, data }, index) => ({ index, type, time: madeAt, data }));
    },
    matches: ({ type }, { types }) => types === undefined || types.includes(type),
    parseQuery(json) {
      const { types } = json as TestQuery;
      if (types !== undefined && !Array.isArray(types)) throw new BadQuery('types must be a list');
      return types === undefined ? {} : { types };
    },
  };
}

/** A row of events of a type, with a number each. */
export function testRow(type: string, numbers: readonly number[], subject = ''): NewEvent {
  const events = numbers.map((n) => ({ type, data: { n } }));
  return { topic: 'test', subject, body: Buffer.from(JSON.stringify(events)) };
}
