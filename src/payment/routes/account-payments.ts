/** GET /account/payments: the signer's own credited top-ups, newest first. */
import { Type } from 'typebox';
import type { Credits, Payment } from '../../credits/credits.ts';
import type { App } from '../../kernel/http/app.ts';
import { neverCache, sendExact } from '../answers.ts';
import { type Authenticator, requireWallet } from '../auth/request-wallet.ts';
import { invalidCursor, invalidLimit } from '../errors.ts';
import { errorText, signatureHeaders } from '../schemas.ts';

export interface AccountPaymentsDeps {
  readonly credits: Credits;
  readonly auth: Authenticator;
}

const DEFAULT_LIMIT = 50;

const payment = Type.Object(
  {
    type: Type.Union([Type.Literal('crypto'), Type.Literal('fiat')]),
    date: Type.String(),
    wincCredited: Type.String(),
  },
  { additionalProperties: true, title: 'Payment' },
);

export function accountPaymentsRoute(app: App, { credits, auth }: AccountPaymentsDeps): void {
  app.get(
    '/account/payments',
    {
      schema: {
        summary: "The signer's credited top-ups, newest first",
        querystring: Type.Object({
          limit: Type.Optional(Type.String()),
          cursor: Type.Optional(Type.String({ maxLength: 64 })),
        }),
        headers: signatureHeaders,
        response: {
          200: Type.Object({
            payments: Type.Array(payment),
            hasMore: Type.Boolean(),
            cursor: Type.Union([Type.String(), Type.Null()]),
          }),
          400: errorText,
          403: errorText,
          503: errorText,
        },
      },
    },
    async (request, reply) => {
      const wallet = await requireWallet(auth, request, reply);
      const limit = readLimit(request.query.limit);
      const before = readCursor(request.query.cursor);
      const page = await credits.payments(
        wallet.address,
        before === undefined ? { limit } : { limit, before },
      );
      const answer = {
        payments: page.items.map(render),
        hasMore: page.next !== undefined,
        cursor: page.next === undefined ? null : writeCursor(page.next),
      };
      sendExact(reply, answer, neverCache);
    },
  );
}

const render = ({ date, wincCredited, record }: Payment) => ({ ...record, date, wincCredited });

function readLimit(text: string | undefined): number {
  if (text === undefined) return DEFAULT_LIMIT;
  if (!/^(?:[1-9][0-9]?|100)$/.test(text)) throw invalidLimit();
  return Number(text);
}

/** Opaque to clients: the number of the last entry they saw. */
const writeCursor = (sequence: number): string => Buffer.from(`e${sequence}`).toString('base64url');

function readCursor(text: string | undefined): number | undefined {
  if (text === undefined) return undefined;
  const sequence = /^e([1-9][0-9]{0,15})$/.exec(Buffer.from(text, 'base64url').toString('latin1'))?.[1];
  if (sequence === undefined) throw invalidCursor();
  return Number(sequence);
}
