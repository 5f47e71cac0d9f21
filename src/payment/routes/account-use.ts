/**
 * GET /account/spending: what the signer's wallet spent, by day.
 * GET /account/holds: what is held for uploads and names that are not finished.
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import type { App } from '../../kernel/http/app.ts';
import { neverCache, sendExact } from '../answers.ts';
import { type Authenticator, requireWallet } from '../auth/request-wallet.ts';
import { invalidDays } from '../errors.ts';
import { errorText, signatureHeaders } from '../schemas.ts';

export interface AccountUseDeps {
  readonly credits: Pick<Credits, 'spendingByDay' | 'holds'>;
  readonly auth: Authenticator;
}

const DEFAULT_DAYS = 30;
const MOST_HOLDS = 100;
const amount = Type.String({ pattern: '^-?[0-9]+$', description: 'winc; below zero where more came back' });

export function accountUseRoutes(app: App, { credits, auth }: AccountUseDeps): void {
  app.get(
    '/account/spending',
    {
      schema: {
        summary: "What the signer's wallet spent, by day (UTC), the newest first",
        querystring: Type.Object({ days: Type.Optional(Type.String()) }),
        headers: signatureHeaders,
        response: {
          200: Type.Object({
            days: Type.Array(
              Type.Object({
                date: Type.String({ description: 'of UTC; days without spending are left out' }),
                winc: amount,
                uploads: amount,
                names: amount,
                byOthers: Type.String({ description: 'winc that others spent of what the wallet shares' }),
              }),
            ),
            complete: Type.Boolean({ description: 'false: there was more than is counted here' }),
          }),
          400: errorText,
          403: errorText,
          503: errorText,
        },
      },
    },
    async (request, reply) => {
      const wallet = await requireWallet(auth, request, reply);
      const { days, complete } = await credits.spendingByDay(wallet.address, readDays(request.query.days));
      const texts = days.map(({ date, winc, uploads, names, byOthers }) => {
        return { date, winc: `${winc}`, uploads: `${uploads}`, names: `${names}`, byOthers: `${byOthers}` };
      });
      sendExact(reply, { days: texts, complete }, neverCache);
    },
  );
  app.get(
    '/account/holds',
    {
      schema: {
        summary: "What is held of the signer's credits for what is not finished, the newest first",
        headers: signatureHeaders,
        response: {
          200: Type.Object({
            holds: Type.Array(
              Type.Object({
                id: Type.String({ description: 'data item, payment or action' }),
                reason: Type.String(),
                winc: amount,
                since: Type.String(),
              }),
            ),
            count: Type.Integer({ description: 'of all; at most a hundred are listed' }),
          }),
          403: errorText,
          503: errorText,
        },
      },
    },
    async (request, reply) => {
      const wallet = await requireWallet(auth, request, reply);
      const { holds, count } = await credits.holds(wallet.address, MOST_HOLDS);
      const texts = holds.map(({ id, reason, amount: winc, since }) => {
        return { id, reason, winc: `${winc}`, since: new Date(since).toISOString() };
      });
      sendExact(reply, { holds: texts, count }, neverCache);
    },
  );
}

function readDays(text: string | undefined): number {
  if (text === undefined) return DEFAULT_DAYS;
  if (!/^[1-9][0-9]{0,2}$/.test(text) || Number(text) > 366) throw invalidDays();
  return Number(text);
}
