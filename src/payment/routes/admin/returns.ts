/** `/returns…`: what the operator does with returns: see them, say that one was sent, try again, refuse. */
import { Type } from 'typebox';
import type { ReturnSummary } from '../../../formats/admin-answers.ts';
import { pageOf, pageQuery, readPage } from '../../../kernel/admin/paging.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/app.ts';
import { ChainUnavailable } from '../../../payments/chain/errors.ts';
import { NotSettled } from '../../../payments/returns/by-hand.ts';
import type { CreditReturns } from '../../../payments/returns/credit-returns.ts';
import { newestReturns } from '../../../payments/returns/rows.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { returnSummary } from '../../bookkeeping.ts';

const tags = ['admin'];
const params = Type.Object({ id: Type.String({ minLength: 1, maxLength: 64 }) });

export function adminReturnsRoutes(app: App, sql: Sql, returns: CreditReturns): void {
  app.get(
    '/returns',
    {
      schema: {
        summary: 'Returns of unused credits, the newest first',
        tags,
        querystring: Type.Object({
          ...pageQuery,
          state: Type.Optional(Type.String({ maxLength: 20, description: 'for example `by_hand`' })),
        }),
      },
    },
    async ({ query }): Promise<{ returns: readonly ReturnSummary[]; next: string | null }> => {
      const page = readPage(query);
      const rows = await newestReturns(sql, { state: query.state, page });
      const { items, next } = pageOf(rows, page.limit, ({ createdAt, id }) => ({ at: createdAt, id }));
      return { returns: items.map(returnSummary), next };
    },
  );
  const ended = (isEnded: boolean): { ended: true } => {
    if (!isEnded) throw new HttpError(404, 'There is no such return that waits');
    return { ended: true };
  };
  app.post(
    '/returns/:id/settle',
    {
      schema: {
        summary: 'The operator has sent it by that transaction, which is looked up on its chain',
        tags,
        params,
        body: Type.Object({ transaction: Type.String({ minLength: 1, maxLength: 128 }) }),
      },
    },
    async ({ params: { id }, body }) => {
      try {
        return ended(await returns.settle(id, body.transaction));
      } catch (error) {
        if (error instanceof NotSettled) throw new HttpError(409, `Not settled: ${error.message}`);
        if (error instanceof ChainUnavailable) {
          throw new HttpError(503, 'The chain cannot be asked', { cause: error, retryAfter: 10 });
        }
        throw error;
      }
    },
  );
  app.post(
    '/returns/:id/retry',
    { schema: { summary: 'Have the service try again to send it', tags, params } },
    async ({ params: { id } }) => ended(await returns.retry(id)),
  );
  app.post(
    '/returns/:id/refuse',
    {
      schema: {
        summary: 'Do not send it: the credits are given back',
        tags,
        params,
        body: Type.Object({ reason: Type.String({ minLength: 1, maxLength: 250 }) }),
      },
    },
    async ({ params: { id }, body }) => ended(await returns.refuse(id, body.reason)),
  );
}
