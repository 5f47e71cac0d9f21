/** The types that route files speak, and how a set of routes is mounted under one or several prefixes. */
import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { TypeBoxTypeProvider } from '@fastify/type-provider-typebox';
import type { FastifyBaseLogger, FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';

export type App = FastifyInstance<
  Server,
  IncomingMessage,
  ServerResponse,
  FastifyBaseLogger,
  TypeBoxTypeProvider
>;
export type Request = FastifyRequest;
export type Reply = FastifyReply;

/** A route file's export: registers its routes on the scope it is given. */
export type Routes = (app: App) => void | Promise<void>;

/** Which part of a request broke its schema. */
export type RequestPart = 'params' | 'querystring' | 'body' | 'headers';

declare module 'fastify' {
  interface FastifyContextConfig {
    /**
     * The body of the 400 when the request breaks the route's schema: the contract's own words. A function
     * chooses by part (and by the JSON pointer of the field, where it matters).
     */
    invalid?: string | object | ((part: RequestPart, field: string) => unknown);
  }
}

/** Where the client reached this server, as far as proxies that are trusted say; without a slash at its end. */
export const originOf = ({ protocol, host }: Pick<Request, 'protocol' | 'host'>): string =>
  `${protocol}://${host}`;

/**
 * Mounts the routes under every prefix (`''` is the root). Only the first is documented in OpenAPI; the others
 * are aliases that answer the same.
 */
export function mount(app: App, routes: Routes, prefixes: readonly string[] = ['']): void {
  prefixes.forEach((prefix, index) => {
    app.register(
      async (scope: App) => {
        if (index > 0) hideFromDocument(scope);
        await routes(scope);
      },
      { prefix },
    );
  });
}

/** Routes that this scope registers from here on stay out of the OpenAPI document. */
export function hideFromDocument(scope: App): void {
  scope.addHook('onRoute', (route) => {
    route.schema = { ...route.schema, hide: true };
  });
}
