/**
 * Which reads may be answered by a standby: those of a scope, which is one request of a reader. Within it nothing goes
 * back in time. The first read chooses where it reads; after a write of its own, or once the primary had to be asked, it
 * stays with the primary. Everything outside of a scope (writers, background work, decisions about money) is read from
 * the primary.
 */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { App, Request } from '../../kernel/http/app.ts';

/** Where the reads of a scope go, by the database that they ask. */
export type ReadScope = Map<object, unknown>;

const scopes = new AsyncLocalStorage<ReadScope>();

export const currentReadScope = (): ReadScope | undefined => scopes.getStore();

export const inReadScope = <T>(work: () => T): T => scopes.run(new Map(), work);

/** Every request of the app of which `isRead` says so is a scope. Before the routes are added. */
export function addReadScopes(app: App, isRead: (request: Request) => boolean): void {
  const begin = (request: Request, _reply: unknown, done: () => void): void => {
    if (currentReadScope() === undefined && isRead(request)) inReadScope(done);
    else done();
  };
  app.addHook('onRequest', begin);
  // What reads a body goes on where the body ended, out of the scope: it begins again.
  app.addHook('preHandler', begin);
}
