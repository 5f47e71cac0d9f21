/**
 * `GET /account/balance?address=` and `GET /account/balance/:token?address=`: a wallet's credits, at the host where
 * clients of the bundlr family ask before they upload. They read `balance`; a wallet that nobody knows has 0.
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import type { App } from '../../kernel/http/server.ts';
import { readableAddress } from '../../wallets/address.ts';
import { uploadErrors } from '../errors.ts';
import { checkToken } from './price.ts';

const schema = {
  summary: 'Credits of a wallet, for clients that ask the upload host',
  querystring: Type.Object({ address: Type.Optional(Type.String({ maxLength: 200 })) }),
  response: { 200: Type.Object({ winc: Type.String(), balance: Type.String({ description: 'winc' }) }) },
};

export function accountBalanceRoutes(app: App, credits: Pick<Credits, 'balance'>): void {
  const balanceOf = async (asked: string | undefined) => {
    if (asked === undefined || asked === '') throw uploadErrors.missingAddress();
    const address = readableAddress(asked);
    if (address === undefined) throw uploadErrors.invalidAddress();
    const own = (await credits.balance(address))?.winc ?? 0n;
    // A wallet that owes has nothing to spend.
    const winc = String(own < 0n ? 0n : own);
    return { winc, balance: winc };
  };
  app.get('/account/balance', { schema }, async ({ query }, reply) =>
    reply.header('cache-control', 'no-store').send(await balanceOf(query.address)),
  );
  app.get(
    '/account/balance/:token',
    { schema: { ...schema, params: Type.Object({ token: Type.String() }) } },
    async ({ params, query }, reply) => {
      checkToken(params.token);
      return reply.header('cache-control', 'no-store').send(await balanceOf(query.address));
    },
  );
}
