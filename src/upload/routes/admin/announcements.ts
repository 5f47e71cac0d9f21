/** `GET /announcements`: which gateways hear of new items, and which items they were not told of yet. */
import type { Announcements } from '../../../formats/admin-answers.ts';
import type { App } from '../../../kernel/http/server.ts';
import type { Sql } from '../../../storage/sql/sql.ts';
import type { Announcer } from '../../announcer/announcer.ts';
import { countWaiting, droppedByGateway, oldestWaiting } from '../../announcer/waiting-announcements.ts';

const shown = 100;

export function adminAnnouncementsRoute(
  app: App,
  { sql, announcer }: { readonly sql: Sql; readonly announcer: Pick<Announcer, 'gateways'> | undefined },
): void {
  app.get(
    '/announcements',
    { schema: { summary: 'What gateways were not told of yet, and why', tags: ['admin'] } },
    async (): Promise<Announcements> => {
      const gateways = announcer?.gateways ?? [];
      const dropped = await droppedByGateway(sql);
      return {
        gateways: await Promise.all(
          gateways.map(async ({ number, status }) => ({
            ...status,
            waiting: await countWaiting(sql, number),
            dropped: dropped.get(number) ?? 0,
          })),
        ),
        items: gateways.length === 0 ? [] : await oldestWaiting(sql, gateways, shown),
      };
    },
  );
}
