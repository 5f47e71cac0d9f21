/** `GET /gw/events`, and the operator's webhooks below `/gw/admin/hooks`. */
import { type Static, Type } from 'typebox';
import { BadQuery } from '../../events/feed.ts';
import { hookRoutes } from '../../events/hooks/routes.ts';
import type { Events } from '../../events/part.ts';
import { tryParseJson } from '../../formats/json.ts';
import { HttpError } from '../../kernel/errors.ts';
import { type App, mount } from '../../kernel/http/server.ts';
import type { Part } from '../../kernel/part.ts';
import type { GatewayContext } from '../chain/context.ts';
import { gatewayPrefixes } from '../paths.ts';
import { type ChainEvent, eventTypes } from './chain-event.ts';
import { type ChainQuery, parseChainQuery } from './query.ts';

const Query = Type.Object({
  filter: Type.Optional(
    Type.String({ description: 'A filter as JSON, in the language of ANS104_UNBUNDLE_FILTER' }),
  ),
  types: Type.Optional(
    Type.String({ description: `Types of events, with commas between: ${eventTypes.join(', ')}` }),
  ),
  after: Type.Optional(Type.String({ description: 'The id of the last event that was seen' })),
  last: Type.Optional(
    Type.String({
      pattern: '^(?:[0-9]{1,3}|1000)$',
      description: 'Without a cursor: begin so many rows of the log ago',
    }),
  ),
});

export interface EventRoutesDeps extends Pick<GatewayContext, 'config'> {
  readonly events: Pick<Events<ChainEvent, ChainQuery>, 'streams' | 'hooks'>;
}

export function createEventRoutes({ config, events }: EventRoutesDeps): Part {
  return {
    name: 'chain events',
    routes: (app) =>
      mount(
        app,
        (scope: App) => {
          scope.get(
            '/events',
            {
              schema: {
                summary: 'What happens to blocks, transactions and items, as it happens',
                tags: ['gateway'],
                querystring: Query,
              },
              config: {
                invalid: 'Invalid query - filter, types, after and last (up to 1000) may be given once each',
              },
            },
            async (request, reply) => {
              await events.streams.send(request, reply, {
                after: request.query.after,
                last: Number(request.query.last ?? 0),
                query: queryOf(request.query),
              });
              return reply;
            },
          );
        },
        gatewayPrefixes(config.GW_ALIAS_PREFIXES),
      ),
    adminRoutes: (scope) => hookRoutes(scope, { hooks: events.hooks, ownerOf: () => '', tags: ['admin'] }),
  };
}

function queryOf({ filter, types }: Static<typeof Query>): ChainQuery {
  try {
    const parsed = filter === undefined ? undefined : tryParseJson(filter);
    if (filter !== undefined && parsed === undefined) throw new BadQuery('filter: is not JSON');
    return parseChainQuery({
      ...(filter !== undefined && { filter: parsed }),
      ...(types !== undefined && { types: types.split(',').map((type) => type.trim()) }),
    });
  } catch (error) {
    throw error instanceof BadQuery ? new HttpError(400, error.message) : error;
  }
}
