/**
 * GET /account/returns: what of the signer's payments can be returned, and the returns that were made.
 * POST /account/returns: return what is left of a payment, or part of it, to where it came from.
 */
import { hash } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { Type } from 'typebox';
import {
  type ActingSigner,
  isActing,
  type RequestSignatures,
} from '../../credits/signatures/request-signatures.ts';
import type { App, Request } from '../../kernel/http/app.ts';
import type { CreditReturns } from '../../payments/returns/credit-returns.ts';
import type { ReturnablePayment } from '../../payments/returns/returnable.ts';
import { type CreditReturn, ReturnRefused } from '../../payments/returns/returns.ts';
import { MAX_WINC, parseAmount, winc as toWinc } from '../../pricing/pricing.ts';
import { neverCache, sendExact } from '../answers.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import {
  invalidReturnAmount,
  invalidSignature,
  returnRefused,
  signatureForAnotherService,
  signatureMustCover,
  signatureUsed,
} from '../errors.ts';
import { errorText, signatureHeaders, winc } from '../schemas.ts';

export interface AccountReturnsDeps {
  readonly returns: CreditReturns;
  readonly auth: Authenticator;
  readonly signatures: RequestSignatures;
}

const maxBody = 4_096;
const shownReturns = 100;
const textOrNull = Type.Union([Type.String(), Type.Null()]);

const shown = {
  payment: Type.String({ description: 'as POST takes it: a receipt, chain:transaction, or an x402 payment' }),
  kind: Type.String({ description: '`card`, `chain` or `x402`' }),
  token: Type.String({ description: 'what it was paid in: a token, or the currency of a card' }),
  to: Type.String({ description: 'the wallet that paid; `card` for a card' }),
};
const returnable = Type.Object(
  {
    ...shown,
    transactionId: textOrNull,
    date: Type.String(),
    until: Type.String({ description: 'until then it can be returned' }),
    wincCredited: winc,
    paid: Type.String({ description: 'base units of the token, minor units of the currency' }),
    unspentWinc: winc,
    amount: Type.String({ description: 'what would go back for all that is unspent, fee taken off' }),
    byHand: Type.Boolean({ description: 'the operator sends it, which takes longer' }),
    refusal: Type.Union([Type.String(), Type.Null()], { description: 'why it cannot be returned' }),
  },
  { title: 'ReturnablePayment' },
);
const creditReturn = Type.Object(
  {
    id: Type.String(),
    ...shown,
    winc,
    amount: Type.String(),
    state: Type.String({
      description: '`due`, `sent`, `by_hand`, `confirmed`; `failed` and `refused` gave the credits back',
    }),
    transaction: textOrNull,
    reason: textOrNull,
    date: Type.String(),
    changed: Type.String(),
  },
  { title: 'Return' },
);

export function accountReturnsRoutes(app: App, deps: AccountReturnsDeps): void {
  const { returns, auth } = deps;
  app.get(
    '/account/returns',
    {
      schema: {
        summary: "What of the signer's payments can be returned, and the returns that were made",
        headers: signatureHeaders,
        response: {
          200: Type.Object({
            windowDays: Type.Number({ description: '0: this service does not return payments' }),
            feePercent: Type.Number(),
            payments: Type.Array(returnable),
            returns: Type.Array(creditReturn),
          }),
          403: errorText,
          503: errorText,
        },
      },
    },
    async (request, reply) => {
      const wallet = await auth.walletOf(request, reply);
      if (wallet === undefined || wallet === 'invalid') throw invalidSignature();
      const payments = await returns.returnable(wallet.address);
      const made = await returns.of(wallet.address, shownReturns);
      const answer = {
        ...returnTerms(returns.rules),
        payments: payments.map((payment) => renderPayment(payment, returns)),
        returns: made.map(renderReturn),
      };
      sendExact(reply, answer, neverCache);
    },
  );
  app.register(async (scope: App) => returnRoute(scope, deps));
}

/** Bodies as they came, for the signatures that cover them. */
const bodies = new WeakMap<IncomingMessage, Buffer>();

function returnRoute(scope: App, { returns, signatures }: AccountReturnsDeps): void {
  const parse = scope.getDefaultJsonParser('error', 'error');
  scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    bodies.set(request.raw, Buffer.from(body));
    void parse(request, body.toString(), done);
  });
  scope.post(
    '/account/returns',
    {
      bodyLimit: maxBody,
      schema: {
        summary: 'Return what is left of a payment to where it came from',
        description:
          'Signed over this very request (`x-service-address`, `content-digest`), with a UUID as the nonce. The same request again answers the same return.',
        headers: signatureHeaders,
        body: Type.Object({
          payment: Type.String({ minLength: 1, maxLength: 256 }),
          amount: Type.Optional(
            Type.String({ maxLength: 40, description: 'winc; all that is unspent without it' }),
          ),
        }),
        response: {
          200: creditReturn,
          400: errorText,
          403: errorText,
          404: errorText,
          409: errorText,
          503: errorText,
        },
      },
      config: { acts: true },
    },
    async (request, reply) => {
      const signer = await requireSigner(request, signatures);
      const { payment } = request.body;
      const amount = readAmount(request.body.amount);
      const { address } = signer.wallet;
      const claim = hash(
        'sha256',
        JSON.stringify(['return', address, signer.uuid, request.body]),
        'base64url',
      );
      const { payer } = await signatures.claim(request, signer, claim);
      if (payer !== 'ours') throw signatureUsed();
      const requestKey = `${address}:${signer.uuid}`;
      const { made } = await returns
        .request({ wallet: signer.wallet, payment, amount, requestKey })
        .catch((error: unknown) => {
          throw error instanceof ReturnRefused ? returnRefused(error.kind, error.message) : error;
        });
      sendExact(reply, renderReturn(made), neverCache);
    },
  );
}

/** Only a signature over this very request moves credits: published clients have no such request to sign. */
async function requireSigner(request: Request, signatures: RequestSignatures): Promise<ActingSigner> {
  if (signatures.isForAnother(request)) throw signatureForAnotherService();
  const signer = await signatures.signerOf(request);
  if (signer === undefined) throw invalidSignature();
  const body = bodies.get(request.raw) ?? Buffer.alloc(0);
  if (!isActing(signer) || !signer.bound || !signatures.coversBody(request, body)) throw signatureMustCover();
  return signer;
}

function readAmount(text: string | undefined) {
  if (text === undefined) return undefined;
  const amount = parseAmount(text);
  if (amount === undefined || amount < 1n || amount > MAX_WINC) throw invalidReturnAmount();
  return toWinc(amount);
}

const hundredthsPerPercent = 100;
const dayMs = 86_400_000;

/** What the operator allows, as `/info` and lists of returns say it. */
export const returnTerms = ({ windowMs, feeBasisPoints }: CreditReturns['rules']) => ({
  windowDays: windowMs / dayMs,
  feePercent: Number(feeBasisPoints) / hundredthsPerPercent,
});

const isoDate = (unixMs: number): string => new Date(unixMs).toISOString();

const renderPayment = (payment: ReturnablePayment, returns: CreditReturns) => ({
  ...{ payment: payment.payment, kind: payment.kind, token: payment.token, to: payment.recipient },
  transactionId: payment.transactionId ?? null,
  ...{ date: isoDate(payment.paidAt), until: isoDate(payment.until) },
  wincCredited: payment.bought.toString(),
  paid: payment.paid.toString(),
  unspentWinc: payment.unspent.toString(),
  amount: payment.amount.toString(),
  byHand: !returns.isSentByService(payment),
  refusal: payment.refusal ?? null,
});

const renderReturn = (made: CreditReturn) => ({
  ...{ id: made.id, payment: made.payment, kind: made.kind, token: made.token, to: made.recipient },
  ...{ winc: made.winc.toString(), amount: made.amount.toString(), state: made.state },
  ...{ transaction: made.reference ?? null, reason: made.reason ?? null },
  ...{ date: isoDate(made.createdAt), changed: isoDate(made.changedAt) },
});
