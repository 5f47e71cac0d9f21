/**
 * GET /events: what happens to the signer's credits, uploads and names, as an event stream (docs/events.md).
 * POST /events/ticket: stands for the signer in the address of a stream, for browsers, which send no headers there.
 */
import { Type } from 'typebox';
import { BadQuery, cursorText, type FeedEvent } from '../../events/feed.ts';
import type { EventStreams } from '../../events/streams/event-streams.ts';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { neverCache, sendExact } from '../answers.ts';
import { TICKET_SECONDS } from '../auth/jwt.ts';
import { type Authenticator, requireWallet } from '../auth/request-wallet.ts';
import { invalidEventQuery, invalidSignature } from '../errors.ts';
import { errorText, signatureHeaders } from '../schemas.ts';
import { readTypes, type WalletQuery } from '../wallet-source.ts';

export interface EventsDeps {
  readonly auth: Authenticator;
  /** The `ledger` database. */
  readonly sql: Sql;
  readonly streams: Pick<EventStreams<FeedEvent, WalletQuery>, 'send'>;
}

const maxText = 1_024;
const text = Type.Optional(Type.String({ maxLength: maxText }));
const refusals = { 400: errorText, 403: errorText, 429: errorText, 503: errorText };

export function eventsRoutes(app: App, { auth, sql, streams }: EventsDeps): void {
  app.get(
    '/events',
    {
      schema: {
        summary: "What happens to the signer's credits, uploads and names, as text/event-stream",
        querystring: Type.Object({
          types: text,
          after: text,
          ticket: text,
          last: Type.Optional(
            Type.String({
              pattern: '^(?:[0-9]{1,3}|1000)$',
              description: 'begin so many rows of the log ago',
            }),
          ),
        }),
        headers: signatureHeaders,
        response: refusals,
      },
    },
    async (request, reply) => {
      const { types, ticket, last } = request.query;
      const address = await addressOf(auth, request, reply, ticket);
      const query = { subject: address, ...queryOf(types) };
      const after =
        request.query.after ??
        (last === undefined ? undefined : await placeBefore(sql, address, Number(last)));
      await streams.send(request, reply, { after, query });
    },
  );
  app.post(
    '/events/ticket',
    {
      schema: {
        summary: 'A ticket that opens the event stream of a wallet within a minute: GET /events?ticket=…',
        headers: signatureHeaders,
        response: {
          200: Type.Object({ ticket: Type.String(), expiresInSeconds: Type.Integer() }),
          ...refusals,
        },
      },
    },
    async (request, reply) => {
      const address = await addressOf(auth, request, reply);
      const answer = { ticket: auth.ticketFor(address), expiresInSeconds: TICKET_SECONDS };
      sendExact(reply, answer, neverCache);
    },
  );
}

async function addressOf(
  auth: Authenticator,
  request: Request,
  reply: Reply,
  ticket?: string,
): Promise<string> {
  if (ticket === undefined) return (await requireWallet(auth, request, reply)).address;
  const wallet = auth.ticketWallet(ticket);
  if (wallet === undefined) throw invalidSignature();
  return wallet.address;
}

/** The cursor behind which are so many of a wallet's newest rows. */
async function placeBefore(sql: Sql, address: string, rows: number): Promise<string> {
  const row = await sql.get<{ seq: number }>(
    `SELECT seq FROM event_log WHERE subject = ? AND subject <> '' AND seq IS NOT NULL
     ORDER BY seq DESC LIMIT 1 OFFSET ?`,
    address,
    rows,
  );
  return cursorText({ seq: row?.seq ?? 0 });
}

function queryOf(types: string | undefined): Omit<WalletQuery, 'subject'> {
  if (types === undefined) return { key: '' };
  try {
    const read = readTypes(types);
    return { types: read, key: [...read].sort().join() };
  } catch (error) {
    if (error instanceof BadQuery) throw invalidEventQuery(error.message);
    throw error;
  }
}
