/** The content routes (interface §4.4 "Data retrieval", "Frames"), and the hosts that are names or sandboxes. */
import { Type } from 'typebox';
import { asksForServiceWorker, opensPage, pagesVaryBy, type WebOrigin } from '../../delivery/isolation.ts';
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import { HttpError } from '../../kernel/errors.ts';
import { namesOneHost, originForm } from '../../kernel/http/one-host.ts';
import type { App, Reply, Request } from '../../kernel/http/server.ts';
import { blocked, invalidId, NameAbsent, notFound, serviceWorkerRefused } from '../errors.ts';
import { param } from '../paths.ts';
import { nameHeaders } from './answer/headers.ts';
import { frameRoutes } from './frames.ts';
import { type HostKind, isNameLabel, parseHost, splitLabel } from './names/host.ts';
import { sendNotFoundPage } from './not-found-page.ts';
import { redirectTo, resolveLabel, type ServeParts, serveName, servePlace, serveRaw } from './serve.ts';

export interface ContentRoutesOptions {
  /** Lower case, longest first. */
  readonly rootHosts: readonly string[];
  readonly sandbox: boolean;
  readonly sandboxProtocol: 'auto' | 'http' | 'https';
  /** Whether content that has no host of its own is kept apart from the host it is read at. */
  readonly isolate: boolean;
  readonly apexId: string | undefined;
  readonly apexName: string | undefined;
  /** Content that is shown in place of a name that nobody has. */
  readonly notFoundId: string | undefined;
  readonly aliasPrefixes: readonly string[];
}

const Id = Type.Object({ id: Type.String({ description: '43 base64url characters' }) });
const idFirst = /^\/([A-Za-z0-9_-]{43})(?=\/|$)/;
/** The operator chose it for the root host, which is as good as its own. */
const apexAnswer = { reason: 'apex', origin: 'own' } as const;

export function contentRoutes(app: App, parts: ServeParts, options: ContentRoutesOptions): void {
  /** Of the hosts that have routes; the others have content only. */
  const rootOrigin: WebOrigin = options.isolate ? 'shared' : 'own';
  // A host below a root host has its whole path space to itself: it is answered before any route is looked at.
  app.addHook('onRequest', (request, reply, done) => {
    if (!namesOneHost(request.raw)) {
      done(new HttpError(400, 'Bad Request', { headers: { 'cache-control': 'no-store' } }));
      return;
    }
    // The absolute form of a target is read like any other from here on.
    if (!request.url.startsWith('/')) request.raw.url = originForm(request.url);
    const host = parseHost(request.headers.host, options.rootHosts);
    if (host.kind !== 'root') serveHost(host, request, reply).catch(done);
    else if (!options.isolate || !asksForServiceWorker(request.headers) || isOfApex(request)) done();
    else done(serviceWorkerRefused());
  });

  const raw = (request: Request, reply: Reply, id: string) => serveRaw(parts, request, reply, id, rootOrigin);
  for (const [url, schema, serve] of [
    ['/raw/:id', { summary: 'Raw content, without manifest resolution' }, raw],
    ['/raw/:id/', { hide: true }, raw],
    ['/:id', { summary: 'Content of a transaction or data item' }, serveId],
    ['/:id/*', { hide: true }, serveId],
  ] as const) {
    app.route({
      method: ['GET', 'HEAD'],
      url,
      schema: { ...schema, params: Id },
      handler: (request, reply) => serve(request, reply, request.params.id),
    });
  }
  frameRoutes(app, parts, rootOrigin);
  for (const prefix of ['gw', ...options.aliasPrefixes]) {
    app.route({
      method: 'GET',
      url: `/${prefix}/resolver/:name`,
      schema: {
        summary: 'Where a name points',
        hide: prefix !== 'gw',
        params: Type.Object({ name: Type.String() }),
      },
      handler: (request, reply) => serveResolver(request, reply, asciiLowerCase(request.params.name)),
    });
  }

  /** `/{id}…` on the gateway's own host: to an origin of its own where there is one, else in place. */
  async function serveId(request: Request, reply: Reply, id: string): Promise<unknown> {
    if (!isTxId(id)) {
      if (id.length === 43) throw invalidId(id);
      // The gateway's own namespace is never a site's.
      if (id === 'gw' || options.aliasPrefixes.includes(id)) throw notFound();
      return await serveApexPath(request, reply);
    }
    const { rootHost } = rootOf(request);
    if (!options.sandbox || rootHost === undefined) {
      return await serveBelowId(request, reply, id, rootOrigin);
    }
    // What is not kept apart in place has its origin by its host alone, which not every resolver finds below localhost.
    if (!options.isolate) {
      const isLocal = rootHost.split(':', 1)[0] === 'localhost';
      return await (isLocal
        ? serveBelowId(request, reply, id, 'own')
        : toSandbox(request, reply, id, rootHost));
    }
    if (!opensPage(request.headers, rootHost)) {
      return await serveBelowId(request, reply, id, 'shared-without-pages');
    }
    return await toSandbox(request, reply.header('vary', pagesVaryBy), id, rootHost);
  }

  async function serveHost(host: HostKind, request: Request, reply: Reply): Promise<unknown> {
    if (request.method !== 'GET' && request.method !== 'HEAD') {
      throw new HttpError(405, 'Method Not Allowed', { headers: { allow: 'GET, HEAD, OPTIONS' } });
    }
    if (host.kind === 'nobody' || host.kind === 'root') throw notFound();
    const id = idFirst.exec(pathOf(request))?.[1];
    if (id !== undefined) {
      if (!isTxId(id)) throw invalidId(id);
      if (sandboxLabel(id) !== host.label) return await toSandbox(request, reply, id, host.rootHost);
      return await serveBelowId(request, reply, id, 'own');
    }
    if (host.kind === 'sandbox') throw notFound();
    try {
      return await serveName(parts, request, reply, host.label, pathOf(request).slice(1));
    } catch (error) {
      if (!(error instanceof NameAbsent) || host.label.includes('_')) throw error;
      return await sendNotFoundPage(parts, options.notFoundId, request, reply, host.label);
    }
  }

  async function serveBelowId(
    request: Request,
    reply: Reply,
    id: string,
    origin: WebOrigin,
  ): Promise<unknown> {
    // Not by the id's length: a client may have encoded some of its letters.
    const below = pathOf(request).replace(/^\/[^/]*/, '');
    const slashRedirect = below === '' ? `/${id}/${queryOf(request)}` : undefined;
    const place = { id, path: below.replace(/^\//, ''), slashRedirect };
    return await servePlace(parts, request, reply, place, { reason: 'content', origin });
  }

  async function toSandbox(request: Request, reply: Reply, id: TxId, rootHost: string): Promise<unknown> {
    const came = request.protocol === 'https' ? 'https' : 'http';
    const scheme = options.sandboxProtocol === 'auto' ? came : options.sandboxProtocol;
    return await redirectTo(reply, `${scheme}://${sandboxLabel(id)}.${rootHost}${request.url}`, 302);
  }

  /** Whether the path leads to the operator's own application. */
  function isOfApex(request: Request): boolean {
    if (options.apexId === undefined && options.apexName === undefined) return false;
    const { url } = request.routeOptions;
    return url === '/' || ((url === '/:id' || url === '/:id/*') && param(request, 'id').length !== 43);
  }

  /** A path that is no id belongs to the apex, where there is one. */
  async function serveApexPath(request: Request, reply: Reply): Promise<unknown> {
    const path = pathOf(request).slice(1);
    if (options.apexName !== undefined) return await serveName(parts, request, reply, options.apexName, path);
    if (options.apexId === undefined) throw notFound();
    return await servePlace(parts, request, reply, { id: options.apexId, path }, apexAnswer);
  }

  async function serveResolver(request: Request, reply: Reply, label: string): Promise<unknown> {
    if (!isNameLabel(label)) throw notFound();
    const target = await resolveLabel(parts, request, label);
    if (parts.blocklist.blocksId(target.id)) throw blocked(target.id);
    const { name, undername } = splitLabel(label);
    return await reply
      .headers(nameHeaders(label, name, undername, target))
      .header('cache-control', `public, max-age=${target.ttlSeconds}`)
      .send({
        txId: target.id,
        resolvedId: target.id,
        protocol: 'arweave',
        ttlSeconds: target.ttlSeconds,
        processId: target.antId,
        antId: target.antId,
        resolvedAt: target.resolvedAt,
        index: target.recordIndex ?? 0,
        limit: target.undernameLimit ?? 0,
      });
  }

  function rootOf(request: Request): { readonly rootHost: string | undefined } {
    const host = parseHost(request.headers.host, options.rootHosts);
    return host.kind === 'root' ? host : { rootHost: undefined };
  }
}

/** The apex as the gateway's `GET /`: undefined where none is configured. */
export function apexHandler(
  parts: ServeParts,
  options: Pick<ContentRoutesOptions, 'apexId' | 'apexName'>,
): ((request: Request, reply: Reply) => Promise<unknown>) | undefined {
  const { apexId, apexName } = options;
  if (apexName !== undefined) return (request, reply) => serveName(parts, request, reply, apexName, '');
  if (apexId === undefined) return undefined;
  return (request, reply) => servePlace(parts, request, reply, { id: apexId, path: '' }, apexAnswer);
}

function pathOf(request: Request): string {
  return request.url.split('?', 1)[0] ?? '/';
}

function queryOf(request: Request): string {
  const mark = request.url.indexOf('?');
  return mark === -1 ? '' : request.url.slice(mark);
}
