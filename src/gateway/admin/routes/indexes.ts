/** `GET /indexes`: what this gateway publishes, and whose indexes it follows. */

import type { IndexesState } from '../../../formats/gateway-admin-answers.ts';
import type { App } from '../../../kernel/http/server.ts';

export function indexesRoutes(app: App, state: () => Promise<IndexesState>): void {
  app.get(
    '/indexes',
    { schema: { summary: 'Published indexes, and those of others that are followed', tags: ['admin'] } },
    () => state(),
  );
}
