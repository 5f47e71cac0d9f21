/** `/api`: what the page asks its own server. All of it but the settings is for this console's page alone. */
import { type App, mountGuarded, type Routes } from '../../kernel/http/server.ts';
import { noSuchRoute } from '../errors.ts';
import type { PageGuard } from '../guard.ts';

/** Mounts routes below `/api` behind the page's guard. Nothing of it is kept by a cache. */
export function mountApi(app: App, guard: PageGuard, routes: Routes): void {
  const page = {
    check(request, reply) {
      reply.header('cache-control', 'no-store');
      guard.checkPage(request);
    },
    noSuchRoute,
  } satisfies Parameters<typeof mountGuarded>[2];
  mountGuarded(app, '/api', page, routes);
}
