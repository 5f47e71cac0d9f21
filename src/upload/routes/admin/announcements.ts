/** `GET /announcements`: whether the gateway hears of new items, and which it was not told of yet. */
import type { Announcements } from '../../../formats/admin-answers.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import type { Announcer } from '../../announcer/announcer.ts';
import { countItems, unannounced } from '../../reports/items.ts';

const shown = 100;

export function adminAnnouncementsRoute(
  app: App,
  { sql, announcer }: { readonly sql: Sql; readonly announcer: Pick<Announcer, 'status'> | undefined },
): void {
  app.get(
    '/announcements',
    { schema: { summary: 'What the gateway was not told of yet, and why', tags: ['admin'] } },
    async (): Promise<Announcements> => {
      if (announcer === undefined) return { gateways: [], items: [] };
      const { unannounced: waiting } = await countItems(sql);
      return { gateways: [{ ...announcer.status, waiting }], items: await unannounced(sql, shown) };
    },
  );
}
