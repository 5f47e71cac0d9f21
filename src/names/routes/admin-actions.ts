/** `GET /names/actions`: what is not finished, and what it waits for. */
import { Type } from 'typebox';
import type { OpenNameAction } from '../../formats/admin-answers.ts';
import { pageQuery, readPage } from '../../kernel/admin/paging.ts';
import type { App } from '../../kernel/http/app.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { listOpenActions } from '../actions/open-list.ts';

export function adminActionsRoute(app: App, sql: Sql, now: () => number): void {
  app.get(
    '/names/actions',
    {
      schema: {
        summary: 'Name actions and purchases that are not finished, the newest first',
        tags: ['admin'],
        querystring: Type.Object(pageQuery),
      },
    },
    async ({ query }): Promise<{ actions: readonly OpenNameAction[]; next: string | null }> => {
      const { items, next } = await listOpenActions(sql, readPage(query), now());
      return { actions: items, next };
    },
  );
}
