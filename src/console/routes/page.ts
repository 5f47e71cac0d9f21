/** The page itself: its document at every path that names no file, and its files. */
import type { App, Request } from '../../kernel/http/app.ts';
import { addPageRoutes } from '../../kernel/http/page/page-routes.ts';
import type { ConsoleSettings } from '../api.ts';
import { contentSecurityPolicy } from '../policy.ts';

export function pageRoutes(app: App, settingsFor: (request: Request) => ConsoleSettings): void {
  addPageRoutes(app, {
    name: 'console',
    path: '/*',
    title: 'Turnpike',
    withoutScript:
      'The console needs JavaScript. Everything it does can be done with the command "turnpike" too.',
    headers: (request) => ({
      'content-security-policy': contentSecurityPolicy(settingsFor(request)),
      'cache-control': 'no-cache',
    }),
  });
}
