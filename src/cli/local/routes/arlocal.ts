/** `GET /reset`, as suites written for ArLocal begin anew. */
import type { App } from '../../../kernel/http/server.ts';
import type { LocalControl } from '../control.ts';

export function arlocalRoutes(app: App, control: LocalControl): void {
  app.get(
    '/reset',
    { config: { actsOnGet: true }, schema: { summary: 'Begin anew, with the same keys' } },
    async (_request, reply) => {
      await control.reset();
      return reply.header('content-type', 'text/plain; charset=utf-8').send('reset done');
    },
  );
}
