/**
 * From a request to an answer: what the host and path mean, whether it may be served, and in which mode. The
 * blocklist is asked at every hop: the name, what it points at, the manifest, the file in it.
 */
import { asksForServiceWorker, opensPage, pagesVaryBy, type WebOrigin } from '../../delivery/isolation.ts';
import type { TxId } from '../../formats/base64url.ts';
import { sandboxLabel } from '../../formats/sandbox-label.ts';
import type { Span } from '../../kernel/http/byte-ranges.ts';
import type { Reply, Request } from '../../kernel/http/server.ts';
import { noHealthyGateways, serviceWorkerRefused } from '../errors.ts';
import type { GatewaySet } from '../gateways/gateway-set.ts';
import type { NameResolver } from '../names/resolver.ts';
import type { Host } from '../request/host.ts';
import { parseTarget, type Target, type TargetRules } from '../request/target.ts';
import { type ContentRequest, redirect } from './content-request.ts';
import { ReadyAnswers } from './ready.ts';
import { refuseUnverified, serveUnverified } from './unverified.ts';
import { digestOf, refuseVerified, serveVerified, type VerifiedParts } from './verified.ts';

export interface ServeParts extends Omit<VerifiedParts, 'ready'> {
  readonly gateways: GatewaySet;
  readonly names: NameResolver;
  readonly targetRules: TargetRules;
  readonly verification: boolean;
  readonly defaultMode: 'proxy' | 'route';
  readonly allowModeOverride: boolean;
  readonly onHit: () => void;
}

/** What the router answers itself. */
export type OwnTarget = Extract<Target, { kind: 'chain' | 'graphql' | 'self' }>;

export class Serve {
  readonly #parts: ServeParts & VerifiedParts;

  constructor(parts: ServeParts) {
    this.#parts = { ...parts, ready: new ReadyAnswers(parts) };
  }

  /** Answers what was answered before, at once; false where it takes more than that. */
  serveReady(request: Request, reply: Reply): boolean {
    return this.#parts.ready.send(request, reply);
  }

  /** Answers content; where something else is asked for, says what. */
  async serve(request: Request, reply: Reply, host: Host): Promise<OwnTarget | undefined> {
    const { pathname, query } = splitUrl(request.url);
    const { targetRules } = this.#parts;
    const target = parseTarget(host, pathname, targetRules, (rootHost) =>
      opensPage(request.headers, rootHost),
    );
    if (asksForServiceWorker(request.headers) && webOriginOf(target, targetRules) !== 'own') {
      throw serviceWorkerRefused();
    }
    switch (target.kind) {
      case 'sandbox-redirect':
        this.#parts.refusals.id(target.id);
        redirect(reply, 302, `//${sandboxLabel(target.id)}.${target.authority}${pathname}${query}`, {
          'cache-control': 'public, max-age=3600',
          'x-router-txid': target.id,
          ...(target.pagesOnly ? { vary: pagesVaryBy } : {}),
        });
        return undefined;
      case 'name': {
        const { label, path } = target;
        this.#parts.refusals.name(label);
        const name = await this.#parts.names.resolve(label);
        const below = {
          id: name.id,
          path,
          slash: true,
          byId: false,
          raw: false,
          name,
          query,
          origin: 'own',
        } as const;
        await this.#serve(request, reply, below, pathname);
        return undefined;
      }
      case 'raw': {
        const { id, origin } = target;
        const asked = { id, path: '', slash: true, byId: true, raw: true, query, origin };
        await this.#serve(request, reply, asked, pathname);
        return undefined;
      }
      case 'id':
        await this.#serve(request, reply, { ...target, raw: false, query }, pathname);
        return undefined;
      default:
        return target;
    }
  }

  async #serve(request: Request, reply: Reply, asked: ContentRequest, pathname: string): Promise<void> {
    // The name too: it took time to find out what it points at.
    this.#parts.refusals.path(asked);
    const mode = this.#mode(asked.query);
    if (mode.route) await this.#sendOn(reply, asked, pathname, mode.query);
    else if (this.#parts.verification) await serveVerified(this.#parts, request, reply, asked);
    else await serveUnverified(this.#parts, request, reply, asked);
  }

  /**
   * Redirect mode: the reader goes to a gateway, at an origin of the content's own where the gateway has those. Nobody is
   * sent to what is blocked here: while anything is, what the reader would be shown is found out first.
   */
  async #sendOn(reply: Reply, asked: ContentRequest, pathname: string, query: string): Promise<void> {
    if (!this.#parts.refusals.list.isEmpty) {
      await (this.#parts.verification ? refuseVerified : refuseUnverified)(this.#parts, asked);
      this.#parts.refusals.path(asked);
    }
    const gateway = this.#parts.gateways.choose(new Set(), 'first');
    if (gateway === undefined) throw noHealthyGateways();
    const { id, name, byId } = asked;
    const { protocol, host } = new URL(gateway.origin);
    const path = byId ? pathname : `/${id}${pathname}`;
    let location = `${gateway.origin}${path}${query}`;
    if (gateway.hasSubdomains && !asked.raw) {
      const label = name?.label ?? sandboxLabel(id);
      location = `${protocol}//${label}.${host}${name === undefined ? path : pathname}${query}`;
    }
    redirect(reply, 302, location, {
      'cache-control': 'no-store',
      'x-router-mode': 'route',
      'x-router-routed-via': gateway.origin,
      'x-router-txid': id,
      ...(name === undefined ? {} : { 'x-arns-resolved-id': id, 'x-arns-name': name.label }),
    });
  }

  /** `mode` is the router's own parameter and goes no further. */
  #mode(query: string): { route: boolean; query: string } {
    const { defaultMode, allowModeOverride } = this.#parts;
    if (!allowModeOverride || !query.includes('mode=')) return { route: defaultMode === 'route', query };
    const parts = query.slice(1).split('&');
    const asked = parts.findLast((part) => part === 'mode=proxy' || part === 'mode=route');
    const rest = parts.filter((part) => !part.startsWith('mode='));
    return {
      route: (asked ?? `mode=${defaultMode}`) === 'mode=route',
      query: rest.length === 0 ? '' : `?${rest.join('&')}`,
    };
  }

  /** Throws where the data of a transaction is blocked, or the asked bytes of it (all of them unless told). */
  async refuseData(id: TxId, span?: Span): Promise<void> {
    const { refusals, verification, passThrough } = this.#parts;
    refusals.id(id);
    const region = await refusals.regionOf(id, undefined);
    if (region !== undefined) refusals.parts(id, region, span && [span]);
    if (!refusals.list.wantsHashes) return;
    const digest = verification ? digestOf(this.#parts, id) : passThrough.digestOf(id, () => false);
    refusals.digest(await digest);
  }
}

/** Whose the origin is in which a script from there would run. */
function webOriginOf(target: Target, { isolate }: TargetRules): WebOrigin {
  if (target.kind === 'id' || target.kind === 'raw') return target.origin;
  return isolate && target.kind !== 'name' ? 'shared' : 'own';
}

function splitUrl(url: string): { pathname: string; query: string } {
  // The absolute form (RFC 9112 §3.2.2) names the host once more; the Host header is what counts.
  const path = url.startsWith('/') ? url : url.replace(/^[a-z]+:\/\/[^/]*/i, '') || '/';
  const mark = path.indexOf('?');
  return mark === -1
    ? { pathname: path, query: '' }
    : { pathname: path.slice(0, mark), query: path.slice(mark) };
}
