/** `GET /bundles`, `GET /bundles/{id}`: how far bundles are, and what they wait for. */
import { Type } from 'typebox';
import type { BundleReport, ItemSummary } from '../../../formats/admin-answers.ts';
import { pageQuery, readPage } from '../../../kernel/admin/paging.ts';
import { HttpError } from '../../../kernel/errors.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import { isBundleList, listBundles, reportBundle } from '../../reports/bundles.ts';
import { itemsOfBundle } from '../../reports/items.ts';
import type { Circumstances } from '../../reports/why.ts';

export interface AdminBundlesDeps {
  readonly sql: Sql;
  readonly circumstances: () => Circumstances;
}

const maxId = 64;

export function adminBundlesRoutes(app: App, { sql, circumstances }: AdminBundlesDeps): void {
  app.get(
    '/bundles',
    {
      schema: {
        summary: 'Bundles, the newest first, with what each waits for',
        tags: ['admin'],
        querystring: Type.Object({
          ...pageQuery,
          state: Type.Optional(Type.String({ description: 'of one state, or `open`, or `stuck`' })),
        }),
      },
    },
    async ({ query }): Promise<{ bundles: readonly BundleReport[]; next: string | null }> => {
      if (query.state !== undefined && !isBundleList(query.state)) throw new HttpError(400, 'Invalid state');
      const { items, next } = await listBundles(sql, query.state, readPage(query), circumstances());
      return { bundles: items, next };
    },
  );
  app.get(
    '/bundles/:id',
    {
      schema: {
        summary: 'A bundle by its plan or its transaction, and the items in it',
        tags: ['admin'],
        params: Type.Object({ id: Type.String({ maxLength: maxId }) }),
        querystring: Type.Object(pageQuery),
      },
    },
    async ({
      params,
      query,
    }): Promise<{ bundle: BundleReport; items: readonly ItemSummary[]; next: string | null }> => {
      const page = readPage(query);
      const bundle = await reportBundle(sql, params.id, circumstances());
      if (bundle === undefined) throw new HttpError(404, 'Bundle not found');
      return { bundle, ...(await itemsOfBundle(sql, bundle.plan, page)) };
    },
  );
}
