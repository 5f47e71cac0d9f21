/** What the page must know before it can show anything. */
import type { App, Request } from '../../kernel/http/app.ts';
import type { ConsoleSettings } from '../api.ts';

export function settingsRoutes(app: App, settingsFor: (request: Request) => ConsoleSettings): void {
  app.get(
    '/api/settings',
    { schema: { summary: 'The world, and where its services are', tags: ['console'] } },
    (request, reply) => reply.header('cache-control', 'no-store').send(settingsFor(request)),
  );
}
