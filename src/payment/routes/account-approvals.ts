/**
 * GET /account/approvals: what one wallet may still take of another.
 * GET /account/approvals/get: all a wallet gave and received (interface §4.1).
 */
import { Type } from 'typebox';
import type { Credits } from '../../credits/credits.ts';
import type { Approval } from '../../formats/approval.ts';
import type { App, Reply } from '../../kernel/http/app.ts';
import { readableAddress } from '../../wallets/address.ts';
import { neverCache, sendExact } from '../answers.ts';
import { invalidApprovedAddress, invalidPayingAddress, malformedApprovalQuery } from '../errors.ts';
import { approval, errorText, winc } from '../schemas.ts';

/** The contract's words for a database that cannot be reached, on these two routes. */
const databaseDown = 'Internal server error';

const pairQuery = Type.Object({
  payingAddress: Type.Optional(Type.String()),
  approvedAddress: Type.Optional(Type.String()),
});
const pairAnswer = Type.Object({
  approvals: Type.Array(approval),
  amount: winc,
  expiresBy: Type.Integer({ description: 'Unix milliseconds of the soonest expiry; 0 when none expires' }),
});

export function accountApprovalsRoutes(app: App, credits: Credits): void {
  app.get(
    '/account/approvals/get',
    {
      schema: {
        summary: 'Approvals that a wallet gave and received',
        querystring: Type.Object({ userAddress: Type.Optional(Type.String()) }),
        response: {
          200: Type.Object({
            givenApprovals: Type.Array(approval),
            receivedApprovals: Type.Array(approval),
          }),
          400: errorText,
          503: errorText,
        },
      },
      config: { databaseDown, invalid: () => malformedApprovalQuery('userAddress').body },
    },
    async ({ query }, reply) => {
      if (query.userAddress === undefined) throw malformedApprovalQuery('userAddress');
      const address = readableAddress(query.userAddress);
      if (address === undefined) throw invalidPayingAddress();
      sendExact(reply, await credits.approvalsOf(address), neverCache);
    },
  );
  approvalsOfPair(app, credits, '/account/approvals');
}

/** Also answered as `/account/approval`, without the `/v1` prefix. */
export function approvalsOfPair(app: App, credits: Credits, path: string): void {
  app.get(
    path,
    {
      schema: {
        summary: 'Approvals of one wallet for another',
        querystring: pairQuery,
        response: { 200: pairAnswer, 400: errorText, 503: errorText },
      },
      config: { databaseDown, invalid: () => malformedPair().body },
    },
    async ({ query }, reply) => {
      const { payingAddress, approvedAddress } = query;
      if (payingAddress === undefined || approvedAddress === undefined) throw malformedPair();
      const payer = readableAddress(payingAddress);
      if (payer === undefined) throw invalidPayingAddress();
      const approved = readableAddress(approvedAddress);
      if (approved === undefined) throw invalidApprovedAddress();
      answerApprovals(reply, await credits.approvals(payer, approved));
    },
  );
}

const malformedPair = () => malformedApprovalQuery('payingAddress', 'approvedAddress');

function answerApprovals(reply: Reply, approvals: readonly Approval[]): void {
  const amount = approvals.reduce(
    (sum, { approvedWincAmount, usedWincAmount }) =>
      sum + BigInt(approvedWincAmount) - BigInt(usedWincAmount),
    0n,
  );
  const soonest = approvals[0]?.expirationDate;
  const expiresBy = soonest === undefined ? 0 : Date.parse(soonest);
  sendExact(reply, { approvals, amount: amount.toString(), expiresBy }, neverCache);
}
