/** `/ledger/…`: what `turnpike ledger` does, over HTTP. */
import { Type } from 'typebox';
import { ChangeConflict } from '../../../credits/credits.ts';
import type {
  GivenCredits,
  LedgerAccount,
  LedgerCheckState,
  LedgerLosses,
  OpenMatters,
  WaitingGift,
} from '../../../formats/admin-answers.ts';
import { pageQuery, readPage } from '../../../kernel/admin/paging.ts';
import { within } from '../../../kernel/background/within.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/app.ts';
import { parseAddress, type WalletAddress } from '../../../wallets/address.ts';
import { type Bookkeeping, InvalidAmount, parseCredits, parseTransactionHash } from '../../bookkeeping.ts';

const tags = ['admin'];
/** A check of a large ledger takes longer: whoever began it asks how it ended. */
const checkWaitMs = 10_000;
const Id = Type.String({ minLength: 1, maxLength: 256 });

export function adminLedgerRoutes(app: App, books: Bookkeeping): void {
  readingRoutes(app, books);
  endingRoutes(app, books);
  app.post(
    '/ledger/credit',
    {
      schema: {
        summary: 'Give credits to a wallet; again with the same id gives nothing',
        tags,
        body: Type.Object({
          address: Id,
          credits: Type.String({ maxLength: 40, description: 'for example 0.5' }),
          id: Type.Optional(Id),
          message: Type.Optional(Type.String({ maxLength: 250 })),
        }),
      },
    },
    async ({ body }): Promise<GivenCredits> => {
      const wallet = walletOf(body.address);
      try {
        return await books.give({ ...body, wallet, amount: parseCredits(body.credits) });
      } catch (error) {
        if (error instanceof InvalidAmount) throw new HttpError(400, `Invalid credits - ${error.message}`);
        if (error instanceof ChangeConflict) throw new HttpError(409, error.message);
        throw error;
      }
    },
  );
}

function readingRoutes(app: App, books: Bookkeeping): void {
  app.get(
    '/ledger/check',
    { schema: { summary: 'How the last check of the ledger ended', tags } },
    (): LedgerCheckState => books.checkState,
  );
  app.post(
    '/ledger/check',
    { schema: { summary: 'Prove that every balance is the sum of its entries', tags } },
    async (): Promise<LedgerCheckState> => {
      await within(checkWaitMs, books.check());
      return books.checkState;
    },
  );
  app.get(
    '/ledger/open',
    { schema: { summary: 'Refunds that are owed, and payments that only a person can end', tags } },
    (): Promise<OpenMatters> => books.open(),
  );
  app.get(
    '/ledger/losses',
    {
      schema: {
        summary: 'Payments that went back and that no wallet owes',
        tags,
        querystring: Type.Object(pageQuery),
      },
    },
    ({ query }): Promise<LedgerLosses> => books.losses(readPage(query)),
  );
  app.get(
    '/ledger/gifts',
    { schema: { summary: 'Credits bought for email addresses that wait to be redeemed', tags } },
    async (): Promise<{ gifts: readonly WaitingGift[] }> => ({ gifts: await books.gifts() }),
  );
  app.get(
    '/ledger/accounts/:address',
    {
      schema: {
        summary: 'Balance, approvals and entries of a wallet, the newest first',
        tags,
        params: Type.Object({ address: Type.String() }),
        querystring: Type.Object(pageQuery),
      },
    },
    ({ params, query }): Promise<LedgerAccount> => books.account(walletOf(params.address), readPage(query)),
  );
}

function endingRoutes(app: App, books: Bookkeeping): void {
  const ended = (isEnded: boolean, otherwise: string): { ended: true } => {
    if (!isEnded) throw new HttpError(404, otherwise);
    return { ended: true };
  };
  const noPayment = 'There is no such payment to end';
  app.post(
    '/ledger/settle',
    {
      schema: {
        summary: 'An x402 payment was made after all, by that transaction: credit it',
        tags,
        body: Type.Object({ id: Id, transaction: Type.String({ maxLength: 66 }) }),
      },
    },
    async ({ body }) => {
      const transaction = parseTransactionHash(body.transaction);
      if (transaction === undefined) {
        throw new HttpError(400, 'Invalid transaction - must be 0x and 64 hex digits');
      }
      return ended(await books.settle(body.id, transaction), noPayment);
    },
  );
  app.post(
    '/ledger/void',
    {
      schema: {
        summary: 'An x402 or chain payment was never made, or was made good otherwise',
        tags,
        body: Type.Object({ id: Id }),
      },
    },
    async ({ body }) => ended(await books.void(body.id), noPayment),
  );
  app.post(
    '/ledger/refunded',
    {
      schema: {
        summary: 'A refund that failed for good was made by other means',
        tags,
        body: Type.Object({ quoteId: Id }),
      },
    },
    async ({ body }) => ended(await books.refunded(body.quoteId), 'There is no failed refund of this quote'),
  );
}

function walletOf(text: string): WalletAddress {
  const wallet = parseAddress(text);
  if (wallet === undefined) throw new HttpError(400, 'Invalid address');
  return wallet;
}
