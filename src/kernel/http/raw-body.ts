/** Bodies of JSON as they came, for signatures that cover them. */
import type { IncomingMessage } from 'node:http';
import type { App, Request } from './app.ts';

const empty = Buffer.alloc(0);

/**
 * Routes of this scope have their JSON parsed as ever, and its bytes are kept: answers what reads them. A client may say
 * JSON and send nothing, where everything is in the query.
 */
export function keepBodies(app: App): (request: Request) => Buffer {
  const bodies = new WeakMap<IncomingMessage, Buffer>();
  const parse = app.getDefaultJsonParser('error', 'error');
  app.addContentTypeParser('application/json', { parseAs: 'buffer' }, (request, body, done) => {
    bodies.set(request.raw, Buffer.from(body));
    if (body.length === 0) done(null, undefined);
    else void parse(request, body.toString(), done);
  });
  return (request) => bodies.get(request.raw) ?? empty;
}
