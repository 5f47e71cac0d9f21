/** GET /arns/my-names/{address}: what was bought by or for an address. Unknown addresses have an empty list. */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import { normalizeAddress } from '../../wallets/address.ts';
import { namesOf } from '../receipts.ts';
import type { NamesContext } from './context.ts';
import { errorText, ownedName } from './schemas.ts';

export function arnsMyNamesRoute(app: App, { sql }: NamesContext): void {
  app.get(
    '/arns/my-names/:address',
    {
      schema: {
        summary: 'List the names bought by or for an address',
        params: Type.Object({ address: Type.String() }),
        response: { 200: Type.Object({ names: Type.Array(ownedName) }), 503: errorText },
      },
    },
    async (request, reply) => {
      reply.header('cache-control', 'no-store');
      const { address } = request.params;
      return { names: await namesOf(sql, normalizeAddress(address) ?? address) };
    },
  );
}
