/**
 * GET /balance: a wallet's credits, by signature, token or address (interface §4.1).
 * GET /account/balance and /account/balance/{token}: the same by address alone, as published clients ask.
 */
import { Type } from 'typebox';
import type { Balance, Credits } from '../../credits/credits.ts';
import type { App, Reply, Request } from '../../kernel/http/app.ts';
import { TextAnswers } from '../../kernel/http/text-answers.ts';
import { readableAddress } from '../../wallets/address.ts';
import { neverCache } from '../answers.ts';
import type { Authenticator } from '../auth/request-wallet.ts';
import { invalidAddress, invalidSignature, missingAddress, userNotFound } from '../errors.ts';
import { balance as balanceSchema, errorText, signatureHeaders } from '../schemas.ts';

export interface BalanceDeps {
  readonly credits: Credits;
  readonly auth: Authenticator;
}

const byAddress = Type.Object({ address: Type.Optional(Type.String()) });
const responses = { 200: balanceSchema, 400: errorText, 404: errorText, 503: errorText };

export function balanceRoutes(app: App, deps: BalanceDeps): void {
  const answer = balanceAnswers(deps.credits);
  app.get(
    '/balance',
    {
      schema: {
        summary: "A wallet's credits",
        querystring: byAddress,
        headers: signatureHeaders,
        response: { ...responses, 403: errorText },
      },
    },
    async (request, reply) => {
      const wallet = namesNoWallet(request) ? undefined : await deps.auth.walletOf(request, reply);
      if (wallet === 'invalid') throw invalidSignature();
      if (wallet !== undefined) return answer(wallet.address, reply);
      if (request.query.address === undefined) throw invalidSignature();
      return answer(readAddress(request.query.address), reply);
    },
  );
  accountBalanceRoutes(app, deps);
}

const namesNoWallet = ({ headers }: Request): boolean =>
  headers['x-signature'] === undefined && headers.authorization === undefined;

/** Also answered without the `/v1` prefix. */
export function accountBalanceRoutes(app: App, { credits }: Pick<BalanceDeps, 'credits'>): void {
  const answer = balanceAnswers(credits);
  for (const path of ['/account/balance', '/account/balance/:token']) {
    app.get(
      path,
      {
        schema: { summary: "A wallet's credits by its address", querystring: byAddress, response: responses },
      },
      async (request, reply) => {
        const { address } = request.query;
        if (address === undefined || address === '') throw missingAddress();
        await answer(readAddress(address), reply);
      },
    );
  }
}

function readAddress(text: string): string {
  const address = readableAddress(text);
  if (address === undefined) throw invalidAddress(text);
  return address;
}

function balanceAnswers(credits: Credits): (address: string, reply: Reply) => Promise<void> {
  const answers = new TextAnswers({
    'content-type': 'application/json; charset=utf-8',
    'cache-control': neverCache,
  });
  return async (address, reply) => {
    const found = await credits.balance(address);
    if (found === undefined) throw userNotFound();
    answers.send(reply, renderBalance(found));
  };
}

/**
 * Amounts carry no sign on the wire: a wallet that owes after a dispute shows 0, and what it owes apart.
 * `balance` repeats `winc` for tools that read only that.
 */
function renderBalance({ winc, controlledWinc, effectiveBalance, ...approvals }: Balance): string {
  const own = winc < 0n ? 0n : winc;
  const controlled = controlledWinc < 0n ? 0n : controlledWinc;
  const owed = winc < 0n ? `,"owedWinc":"${-winc}"` : '';
  const amounts = `"winc":"${own}","controlledWinc":"${controlled}","effectiveBalance":"${effectiveBalance}"`;
  const given = render(approvals.givenApprovals);
  const received = render(approvals.receivedApprovals);
  return `{${amounts},"balance":"${own}"${owed},"givenApprovals":${given},"receivedApprovals":${received}}`;
}

const render = (list: readonly unknown[]): string => (list.length === 0 ? '[]' : JSON.stringify(list));
