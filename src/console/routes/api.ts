/** `/api`: what the page asks its own server. All of it but the settings is for this console's page alone. */
import type { App } from '../../kernel/http/app.ts';
import type { PageGuard } from '../guard.ts';

/** Mounts routes below `/api` behind the page's guard. Nothing of it is kept by a cache. */
export function mountApi(app: App, guard: PageGuard, routes: (scope: App) => void): void {
  app.register(
    async (scope: App) => {
      scope.addHook('onRequest', async (request, reply) => {
        reply.header('cache-control', 'no-store');
        guard.checkPage(request);
      });
      routes(scope);
    },
    { prefix: '/api' },
  );
}
