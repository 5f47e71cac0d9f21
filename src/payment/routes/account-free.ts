/** GET /account/free: how many bytes a wallet may still upload without paying. */
import { Type } from 'typebox';
import type { App } from '../../kernel/http/app.ts';
import { readableAddress } from '../../wallets/address.ts';
import { neverCache, sendExact } from '../answers.ts';
import { invalidAddress, missingAddress } from '../errors.ts';
import { errorText } from '../schemas.ts';

/** Null: without limit; 0: there is no free tier. */
export type FreeBytes = (address: string) => Promise<number | null>;

export function accountFreeRoute(app: App, freeBytes: FreeBytes): void {
  app.get(
    '/account/free',
    {
      schema: {
        summary: 'Bytes a wallet may still upload for nothing; null is without limit',
        querystring: Type.Object({ address: Type.Optional(Type.String()) }),
        response: {
          200: Type.Object({ bytesRemaining: Type.Union([Type.Integer(), Type.Null()]) }),
          400: errorText,
        },
      },
    },
    async ({ query }, reply) => {
      if (query.address === undefined || query.address === '') throw missingAddress();
      const address = readableAddress(query.address);
      if (address === undefined) throw invalidAddress(query.address);
      sendExact(reply, { bytesRemaining: await freeBytes(address) }, neverCache);
    },
  );
}
