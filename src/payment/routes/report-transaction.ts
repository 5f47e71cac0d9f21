/** POST /account/balance/{token}: report a chain transaction that was sent to the service (interface §4.1). */
import { Type } from 'typebox';
import { HttpError } from '../../kernel/errors.ts';
import type { App } from '../../kernel/http/app.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import type { ChainPayments } from '../../payments/chain/chain-payments.ts';
import type { ChainPaymentRow } from '../../payments/chain/store.ts';
import { OracleUnavailable } from '../../pricing/pricing.ts';
import { neverCache, sendExact } from '../answers.ts';
import { missingTransactionId, transactionFailure } from '../errors.ts';
import { errorText } from '../schemas.ts';
import { renderTransaction } from './render-tmp.ts';

const MAX_BODY_BYTES = 64 * 1024;

const transaction = Type.Object({}, { additionalProperties: true, title: 'Payment transaction' });

/** `proxies`: how many of ours are in front; see `clientAddress`. */
export function reportTransactionRoute(app: App, payments: ChainPayments, proxies = 0): void {
  app.register(async (scope: App) => {
    // Published clients post JSON without a content type, older ones a form: the text itself tells.
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser(
      '*',
      { parseAs: 'string', bodyLimit: MAX_BODY_BYTES },
      (_request, body, done) => done(null, body),
    );
    scope.post(
      '/account/balance/:token',
      {
        schema: {
          summary: 'Report a chain transaction that was sent to the service',
          description: 'Body: `{"tx_id": "…"}`. Asking again answers the state it has now.',
          params: Type.Object({ token: Type.String() }),
          response: {
            200: Type.Object({ message: Type.String(), creditedTransaction: transaction }),
            202: Type.Object({ message: Type.String(), pendingTransaction: transaction }),
            400: Type.Union([
              Type.Object({ message: Type.String(), failedTransaction: transaction }),
              errorText,
            ]),
            403: errorText,
            404: errorText,
            429: errorText,
            503: errorText,
          },
        },
      },
      async (request, reply) => {
        const { params, body, headers } = request;
        const id = readTransactionId(body);
        if (id === undefined) throw missingTransactionId();
        const reporter = { client: clientAddress(request, proxies), referer: readReferer(headers.referer) };
        const row = await payments.report(params.token, id, reporter).catch((error: unknown) => {
          throw toAnswer(error);
        });
        const { status, answer } = outcome(row);
        reply.code(status);
        sendExact(reply, answer, neverCache);
      },
    );
  });
}

function outcome(row: ChainPaymentRow): { status: 200 | 202 | 400; answer: object } {
  const rendered = renderTransaction(row);
  switch (row.state) {
    case 'credited':
      return { status: 200, answer: { message: 'Transaction credited', creditedTransaction: rendered } };
    case 'pending':
      return { status: 202, answer: { message: 'Transaction pending', pendingTransaction: rendered } };
    case 'failed':
      return {
        status: 400,
        answer: { message: 'Transaction has already failed!', failedTransaction: rendered },
      };
  }
}

/** Whatever could not be found out (chain, oracle, database) may work later. */
function toAnswer(error: unknown): unknown {
  if (error instanceof HttpError) return error;
  return transactionFailure(error, error instanceof OracleUnavailable ? error.retryAfter : undefined);
}

function readTransactionId(body: unknown): string | undefined {
  if (typeof body !== 'string') return undefined;
  const text = body.trim();
  const id = /^[{[]/.test(text) ? jsonMember(text) : new URLSearchParams(text).get('tx_id');
  return typeof id === 'string' && id !== '' ? id : undefined;
}

function jsonMember(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null && 'tx_id' in value ? value.tx_id : undefined;
  } catch {
    return undefined;
  }
}

/** Kept for attribution only, when it is an address of the web. */
function readReferer(header: string | undefined): string | undefined {
  if (header === undefined || header.length > 500 || !URL.canParse(header)) return undefined;
  const url = new URL(header);
  return url.protocol === 'http:' || url.protocol === 'https:' ? url.href : undefined;
}
