/** GET /account: everything about a wallet that anybody may know, by any form of its address. */
import { Type } from 'typebox';
import type { Balance, Credits } from '../../credits/credits.ts';
import type { TopUpPage } from '../../credits/lack.ts';
import type { App } from '../../kernel/http/app.ts';
import { readableAddress } from '../../wallets/address.ts';
import { formsOfAddress } from '../../wallets/address-forms.ts';
import { neverCache, sendExact } from '../answers.ts';
import { invalidAddress, missingAddress } from '../errors.ts';
import { approval, errorText, winc } from '../schemas.ts';
import type { FreeBytes } from './account-free.ts';

export interface AccountDeps {
  readonly credits: Pick<Credits, 'balance' | 'namesOf'>;
  readonly freeBytes: FreeBytes;
  readonly topUpPage?: TopUpPage | undefined;
}

const account = Type.Object(
  {
    address: Type.String({ description: 'what the account is called by' }),
    otherForms: Type.Array(Type.String(), {
      description: 'other texts that are known to be the same wallet',
    }),
    known: Type.Boolean({ description: 'whether the wallet ever had credits, or has some shared with it' }),
    winc,
    owedWinc: winc,
    controlledWinc: winc,
    effectiveBalance: winc,
    givenApprovals: Type.Array(approval),
    receivedApprovals: Type.Array(approval),
    bytesRemaining: Type.Union([Type.Integer(), Type.Null()], {
      description: 'that may still be uploaded for nothing; null is without limit',
    }),
    topUp: Type.Union([Type.String(), Type.Null()], { description: 'a page on which it can be topped up' }),
  },
  { title: 'Account' },
);

const nobody = {
  winc: 0n,
  controlledWinc: 0n,
  effectiveBalance: 0n,
  givenApprovals: [],
  receivedApprovals: [],
};

export function accountRoute(app: App, { credits, freeBytes, topUpPage }: AccountDeps): void {
  app.get(
    '/account',
    {
      schema: {
        summary: 'What anybody may know of a wallet, by any form of its address',
        querystring: Type.Object({ address: Type.Optional(Type.String()) }),
        response: { 200: account, 400: errorText, 503: errorText },
      },
    },
    async ({ query }, reply) => {
      if (query.address === undefined || query.address === '') throw missingAddress();
      const asked = readableAddress(query.address);
      if (asked === undefined) throw invalidAddress(query.address);
      const balance: Balance | undefined = await credits.balance(asked);
      const [address = asked, ...known] = await credits.namesOf(asked);
      const { givenApprovals, receivedApprovals, ...amounts } = balance ?? nobody;
      const answer = {
        address,
        otherForms: [...new Set([...known, ...formsOfAddress(address)])],
        known: balance !== undefined,
        winc: atLeastZero(amounts.winc),
        owedWinc: atLeastZero(-amounts.winc),
        controlledWinc: atLeastZero(amounts.controlledWinc),
        effectiveBalance: amounts.effectiveBalance.toString(),
        givenApprovals,
        receivedApprovals,
        bytesRemaining: await freeBytes(address),
        topUp: topUpPage?.(address) ?? null,
      };
      sendExact(reply, answer, neverCache);
    },
  );
}

const atLeastZero = (amount: bigint): string => (amount < 0n ? '0' : amount.toString());
