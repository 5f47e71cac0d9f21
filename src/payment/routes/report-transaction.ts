/** POST /account/balance/{token}: report a chain transaction that was sent to the service (interface §4.1). */
import { Type } from 'typebox';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import type { HttpError } from '../../kernel/errors.ts';
import type { App } from '../../kernel/http/app.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import type { ChainPayments } from '../../payments/chain/chain-payments.ts';
import { ChainPaymentRefused, type ChainRefusal, TooManyLookUps } from '../../payments/chain/errors.ts';
import type { ChainPaymentRow } from '../../payments/chain/store.ts';
import { AmountTooSmall, OracleUnavailable } from '../../pricing/pricing.ts';
import { jsonReader } from '../../storage/sql/typed-rows.ts';
import { neverCache, sendExact } from '../answers.ts';
import {
  excludedSender,
  missingTransactionId,
  notMinedYet,
  paymentTooSmall,
  tokenNotSupported,
  tooManyLookUps,
  transactionFailure,
  transactionNotFound,
  wrongTarget,
  zeroQuantity,
} from '../errors.ts';
import { readReferer } from '../referer.ts';
import { adjustments, errorText } from '../schemas.ts';

const MAX_BODY_BYTES = 64 * 1024;

const readAdjustments = jsonReader('the fees of chain payment', adjustments);
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
        const reporter = {
          client: clientAddress(request, proxies),
          referer: readReferer(headers.referer, 500)?.href,
        };
        const row = await payments.report(params.token, id, reporter).catch((error: unknown) => {
          throw answerOfChain(error);
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

/** Of what may work later, or the contract has words for. */
export function answerOfChain(error: unknown): HttpError {
  if (error instanceof ChainPaymentRefused) return refusalOf(error.refusal);
  if (error instanceof AmountTooSmall) return paymentTooSmall(error.message);
  if (error instanceof TooManyLookUps) return transactionFailure(undefined, error.retryAfter);
  // What could not be found out (chain, oracle, database) may work later.
  return transactionFailure(error, error instanceof OracleUnavailable ? error.retryAfter : undefined);
}

function refusalOf(refusal: ChainRefusal): HttpError {
  switch (refusal.kind) {
    case 'token-not-supported':
      return tokenNotSupported();
    case 'not-found':
      return transactionNotFound();
    case 'not-mined':
      return notMinedYet(refusal.id);
    case 'wrong-target':
      return wrongTarget(refusal.id, refusal.target);
    case 'nothing-moved':
      return zeroQuantity();
    case 'excluded-sender':
      return excludedSender(refusal.id, refusal.sender);
    case 'too-many-unknown':
      return tooManyLookUps(refusal.retryAfter);
  }
}

function readTransactionId(body: unknown): string | undefined {
  if (typeof body !== 'string') return undefined;
  const text = body.trim();
  const id = /^[{[]/.test(text)
    ? memberOf(tryParseJson(text), 'tx_id')
    : new URLSearchParams(text).get('tx_id');
  return typeof id === 'string' && id !== '' ? id : undefined;
}

/**
 * Interface §2 "Payment transaction" and its credited and failed forms. `transactionQuantity` is a number in the
 * contract; as a bigint it keeps all digits on the wire.
 */
function renderTransaction(row: ChainPaymentRow) {
  const common = {
    transactionId: row.transaction_id,
    transactionQuantity: BigInt(row.quantity),
    createdAt: iso(row.created_at),
    tokenType: row.token,
    destinationAddress: row.destination,
    destinationAddressType: row.destination_type,
    winstonCreditAmount: row.winc,
    adjustments: readAdjustments(row.adjustments, row.transaction_id),
    transactionSenderAddress: row.sender,
  };
  switch (row.state) {
    case 'pending':
      return common;
    case 'credited':
      return { ...common, blockHeight: row.block_height ?? 0, creditedAt: iso(row.ended_at ?? 0) };
    case 'failed':
      return {
        ...common,
        failedAt: iso(row.ended_at ?? 0),
        failureReason: row.failure_reason ?? '',
        // The name under which published services send it.
        failedReason: row.failure_reason ?? '',
      };
  }
}

const iso = (milliseconds: number): string => new Date(milliseconds).toISOString();
