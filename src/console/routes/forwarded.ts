/** Routes that pass requests on: bodies stay bytes, within the server's limit, and paths stay as they were written. */
import type { App, Request } from '../../kernel/http/app.ts';

export function forwardedScope(app: App, routes: (scope: App) => void): void {
  app.register(async (scope: App) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => done(null, body));
    routes(scope);
  });
}

/** What stands behind `/api` and the prefix, with the query, as it came. */
export const restOf = ({ url }: Pick<Request, 'url'>, prefix: string): string =>
  url.slice(`/api${prefix}`.length).replace(/^\//, '');
