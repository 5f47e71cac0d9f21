/**
 * Routes that want a key. The check is a hook of the scope that the routes are registered in, so that it runs for
 * whatever spelling of a path the framework takes for one of them; nothing looks at the text of a path. What does not
 * exist below the prefix is behind the key too: without the key nothing can be learned about the routes there are.
 */
import type { App, Reply, Request, Routes } from './app.ts';

declare module 'fastify' {
  interface FastifyContextConfig {
    /** Set on every route behind a guard: whether preflights are answered for it all the same. */
    guarded?: { readonly preflights: boolean };
  }
}

export interface Guard {
  /** Throws the refusal, or rejects with it, unless the request may pass. Runs before a body is read. */
  check(request: Request, reply: Reply): void | Promise<void>;
  /** What a path below the prefix that does not exist answers to a request with the key. */
  noSuchRoute(request: Request): Error;
  /** Pages elsewhere call these routes with a key of their own; without it they are refused like any request. */
  readonly preflights?: boolean;
}

const corsHeaders = ['access-control-allow-origin', 'access-control-expose-headers'];

/** Registers the routes below the prefix, behind the guard. */
export function mountGuarded(app: App, prefix: string, guard: Guard, routes: Routes): void {
  app.register(
    async (scope: App) => {
      scope.addHook('onRoute', (route) => {
        route.config = { ...route.config, guarded: { preflights: guard.preflights === true } };
      });
      scope.addHook('onRequest', async (request, reply) => {
        // Every answer of the server has them; pages elsewhere may not read what is behind a guard.
        if (guard.preflights !== true) for (const header of corsHeaders) reply.removeHeader(header);
        await guard.check(request, reply);
      });
      await routes(scope);
      scope.all('/', { schema: { hide: true } }, async (request) => {
        throw guard.noSuchRoute(request);
      });
      scope.all(
        '/*',
        {
          schema: { hide: true },
          // Before a body is read, and after the guard.
          onRequest: async (request) => {
            const allowed = scope.methods.allowed(request, { named: true });
            if (allowed.length > 0) throw scope.methods.refusal(request, allowed);
          },
        },
        async (request) => {
          throw guard.noSuchRoute(request);
        },
      );
    },
    { prefix },
  );
}
