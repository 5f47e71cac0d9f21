/** `GET /items`, `GET /items/{id}`: what was taken in, how far it is, and why it is not permanent yet. */
import { Type } from 'typebox';
import type { ItemReport, ItemSummary } from '../../../formats/admin-answers.ts';
import { isTxId } from '../../../formats/base64url.ts';
import { pageQuery, readPage } from '../../../kernel/admin/paging.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/server.ts';
import { uploadErrors } from '../../errors.ts';
import { type ItemDeps, isItemList, listItems, reportItem } from '../../reports/items.ts';
import type { Circumstances } from '../../reports/why.ts';

export interface AdminItemsDeps extends ItemDeps {
  readonly circumstances: () => Circumstances;
}

export function adminItemsRoutes(app: App, deps: AdminItemsDeps): void {
  app.get(
    '/items',
    {
      schema: {
        summary: 'Items that wait, are in a bundle that is not permanent, or failed',
        tags: ['admin'],
        querystring: Type.Object({
          ...pageQuery,
          state: Type.Optional(Type.String({ description: '`new` unless given, `planned` or `failed`' })),
        }),
      },
    },
    async ({ query }): Promise<{ items: readonly ItemSummary[]; next: string | null }> => {
      const { state = 'new' } = query;
      if (!isItemList(state)) throw new HttpError(400, 'Invalid state');
      return { ...(await listItems(deps.sql, state, readPage(query))) };
    },
  );
  app.get(
    '/items/:id',
    {
      schema: {
        summary: 'All that is known of an item, and why it is not permanent yet',
        tags: ['admin'],
        params: Type.Object({ id: Type.String({ description: 'Data item id' }) }),
      },
    },
    async ({ params }): Promise<ItemReport> => {
      if (!isTxId(params.id)) throw uploadErrors.invalidId();
      const report = await reportItem(deps, params.id, deps.circumstances());
      if (report === undefined) throw uploadErrors.unknownItem();
      return report;
    },
  );
}
