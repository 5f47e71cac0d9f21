/**
 * GET /account/payments/{id}: what became of one payment, by the id that its payer knows. A deposit that nobody has reported
 * is looked for on its chain and credited once, as a report of it would.
 */
import { Type } from 'typebox';
import type { App, Reply } from '../../kernel/http/app.ts';
import { clientAddress } from '../../kernel/http/client-network.ts';
import type { ChainPayments } from '../../payments/chain/chain-payments.ts';
import { ChainPaymentRefused, type ChainRefusal } from '../../payments/chain/errors.ts';
import {
  describeChainPayment,
  type FoundPayment,
  findCardPayment,
  findX402Payment,
} from '../../payments/find-payment.ts';
import { AmountTooSmall } from '../../pricing/pricing.ts';
import type { SqlExecutor } from '../../storage/sql/sql.ts';
import { neverCache, sendExact } from '../answers.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import { invalidSignature } from '../errors.ts';
import { errorText, signatureHeaders } from '../schemas.ts';
import { answerOfChain } from './report-transaction.ts';

export interface AccountPaymentDeps {
  readonly sql: SqlExecutor;
  readonly auth: Authenticator;
  readonly chain: { readonly payments: Pick<ChainPayments, 'find'> };
  /** How many proxies of ours are in front. */
  readonly proxies: number;
}

const answer = Type.Object(
  {
    id: Type.String(),
    state: Type.String({
      description:
        'credited, pending, failed, returned, unclear; of a transaction that is no payment to us: not-found, not-mined, wrong-recipient, nothing-moved, excluded-sender, too-small',
    }),
    explanation: Type.String({ description: 'the same in one sentence' }),
  },
  { additionalProperties: true, title: 'Payment by id' },
);

export function accountPaymentRoute(app: App, { sql, auth, chain, proxies }: AccountPaymentDeps): void {
  app.get(
    '/account/payments/:id',
    {
      schema: {
        summary: 'What became of a payment: by chain transaction, x402 settlement, card quote or receipt',
        description:
          'A deposit that was sent to the service and that nobody has reported is found on its chain and credited. Of an x402 payment only its payer and the wallet that it credits, who sign, are told the wallets.',
        params: Type.Object({ id: Type.String({ pattern: '^[A-Za-z0-9_:-]{1,200}$' }) }),
        querystring: Type.Object({ token: Type.Optional(Type.String({ maxLength: 32 })) }),
        headers: signatureHeaders,
        response: { 200: answer, 403: errorText, 404: answer, 429: errorText, 503: errorText },
      },
      config: { invalid: 'Invalid payment id' },
    },
    async (request, reply) => {
      const { id } = request.params;
      const wallet = await auth.walletOf(request, reply);
      if (wallet === 'invalid') throw invalidSignature();
      const card = await findCardPayment(sql, id);
      if (card !== undefined) return tell(reply, card);
      const x402 = await findX402Payment(sql, id);
      if (x402 !== undefined) {
        const isParty = wallet?.address === x402.address || wallet?.address === x402.sender;
        return tell(reply, isParty ? x402 : { ...x402, sender: null, address: null });
      }
      const reporter = { client: clientAddress(request, proxies) };
      try {
        return tell(
          reply,
          describeChainPayment(await chain.payments.find(id, reporter, request.query.token)),
        );
      } catch (error) {
        const told = refusalOf(id, error);
        if (told === undefined) throw answerOfChain(error);
        if (told.state === 'not-found') reply.code(404);
        sendExact(reply, told, neverCache);
      }
    },
  );
}

function tell(reply: Reply, { createdAt, endedAt, ...payment }: FoundPayment): void {
  const iso = (at: number | null) => (at === null ? null : new Date(at).toISOString());
  sendExact(reply, { ...payment, createdAt: iso(createdAt), endedAt: iso(endedAt) }, neverCache);
}

/** What is told of a transaction that is no payment to this service; undefined where it is not known. */
function refusalOf(id: string, error: unknown) {
  if (error instanceof AmountTooSmall)
    return { id, state: 'too-small', explanation: 'It is worth less than one winc.' };
  if (!(error instanceof ChainPaymentRefused)) return undefined;
  const explanation = wordsOf(error.refusal);
  const state = error.refusal.kind === 'wrong-target' ? 'wrong-recipient' : error.refusal.kind;
  return explanation === undefined ? undefined : { id, state, explanation };
}

function wordsOf(refusal: ChainRefusal): string | undefined {
  switch (refusal.kind) {
    case 'not-found':
      return 'No payment here has this id, and no chain on which this service takes payments knows it. One that was just sent may take a moment.';
    case 'not-mined':
      return 'Its chain has seen the transaction and not mined it yet. Ask again in a moment.';
    case 'wrong-target':
      return `The transaction paid ${refusal.target}, which is no wallet of this service.`;
    case 'nothing-moved':
      return 'The transaction moved nothing.';
    case 'excluded-sender':
      return `Payments of ${refusal.sender} are not taken.`;
    case 'too-many-unknown':
    case 'token-not-supported':
      return undefined;
  }
}
