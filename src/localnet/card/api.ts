/**
 * How the API's routes are written: authentication, strict parameters, one transaction for a whole change
 * with its idempotency, and Stripe's headers. The files in `routes/` only say what each call does.
 */

import { createHash } from 'node:crypto';
import { isRecord, textOf } from '../../formats/json.ts';
import type { App, Guard, Reply, Request } from '../../kernel/http/server.ts';
import { sameSecret } from '../../kernel/same-secret.ts';
import type { Sql, SqlExecutor } from '../../storage/sql/sql.ts';
import { compare, memberPath } from './conditions.ts';
import type { Deliveries } from './deliveries.ts';
import { CardApiError, invalidRequest, noSuchRoute, secretKeyRequired, unauthorized } from './errors.ts';
import type { Faults } from './faults.ts';
import { FormError, Params, parseForm } from './params.ts';
import { getCheckout } from './sessions.ts';
import { apiVersion, type Change, findAnyObject, listObjects, newId, type Page } from './store.ts';

/** What the routes stand on. */
export interface Provider {
  readonly sql: Sql;
  readonly keys: ProviderKeys;
  readonly deliveries: Deliveries;
  readonly faults: Faults;
  /** Base address that browsers reach. */
  readonly url: () => string;
  /** Unix milliseconds. */
  readonly now: () => number;
}

export interface Call {
  readonly id: string;
  readonly params: Params;
  readonly caller: Caller;
}

/** Who may make a call. A browser must then show the secret of what it acts on: `requireClientSecret`. */
type Callers = 'merchant' | 'merchant or browser';

/** What an effect answers; a status other than 200 is kept like any other outcome. */
export interface Effected {
  readonly status?: number;
  readonly object: unknown;
}

export const unixSeconds = (provider: Provider) => Math.floor(provider.now() / 1000);

/** A change made by someone at a page rather than through the API. */
export function changeByVisitor(provider: Provider, tx: SqlExecutor): Change {
  return {
    tx,
    now: unixSeconds(provider),
    requestId: null,
    idempotencyKey: null,
    publicUrl: provider.url(),
  };
}

/** What a call does. It may read every parameter it knows; others are refused. */
type Effect = (change: Change, call: Call) => Promise<Effected>;

/** A call that changes something. */
export function post(
  app: App,
  provider: Provider,
  path: string,
  effect: Effect,
  callers: Callers = 'merchant',
): void {
  app.post(path, { schema: { hide: true } }, changing(provider, effect, callers));
}

/** A call that deletes something. */
export function remove(app: App, provider: Provider, path: string, effect: Effect): void {
  app.delete(path, { schema: { hide: true } }, changing(provider, effect, 'merchant'));
}

function changing(provider: Provider, effect: Effect, callers: Callers) {
  return async (request: Request, reply: Reply): Promise<Reply> => {
    const caller = admitted(request, provider, callers);
    const body = typeof request.body === 'string' ? request.body : '';
    const key = request.headers['idempotency-key'];
    const keyed: KeyedRequest | undefined =
      typeof key === 'string' && key !== '' ? { key, path: request.url, body } : undefined;
    if (keyed !== undefined && keyed.key.length > maxKeyLength) {
      throw invalidRequest(`Idempotency keys can be at most ${maxKeyLength} characters long`);
    }
    const requestId = newId.request();
    const now = unixSeconds(provider);

    const answer = await provider.sql.transaction(async (tx): Promise<Answer> => {
      const kept = keyed === undefined ? undefined : await keptAnswer(tx, keyed, now);
      if (kept !== undefined) return kept;
      const params = readForm(body);
      const expand = params.texts('expand') ?? [];
      const change: Change = {
        ...changeByVisitor(provider, tx),
        now,
        requestId,
        idempotencyKey: keyed?.key ?? null,
      };
      const { status = 200, object } = await effect(change, { id: idOf(request), params, caller });
      params.done();
      const made = { status, body: JSON.stringify(await expanded(tx, object, expand)), replayed: false };
      if (keyed !== undefined) await keepAnswer(tx, keyed, made, now);
      return made;
    });
    provider.deliveries.wake();
    if (answer.replayed) reply.header('idempotent-replayed', 'true');
    if (keyed !== undefined) reply.header('idempotency-key', keyed.key);
    return send(reply, requestId, answer.status, answer.body);
  };
}

const idOf = ({ params }: Request): string => textOf(params, 'id') ?? '';

/** A call that only reads. */
export function get(
  app: App,
  provider: Provider,
  path: string,
  read: (tx: SqlExecutor, call: Call) => Promise<unknown>,
  callers: Callers = 'merchant',
): void {
  app.get(path, { schema: { hide: true } }, async (request, reply) => {
    const caller = admitted(request, provider, callers);
    const params = readForm(queryOf(request));
    const expand = params.texts('expand') ?? [];
    const object = await read(provider.sql, { id: idOf(request), params, caller });
    params.done();
    return send(reply, newId.request(), 200, JSON.stringify(await expanded(provider.sql, object, expand)));
  });
}

const queryOf = (request: Request) => request.url.split('?', 2)[1] ?? '';

function readForm(text: string): Params {
  try {
    return new Params(parseForm(text));
  } catch (error) {
    if (error instanceof FormError) throw invalidRequest(error.message);
    throw error;
  }
}

function send(reply: Reply, requestId: string, status: number, body: string): Reply {
  return reply
    .code(status)
    .headers({ 'request-id': requestId, 'stripe-version': apiVersion, 'cache-control': 'no-store' })
    .header('content-type', 'application/json')
    .serializer(String)
    .send(body);
}

/** Most calls are for the holder of the secret key alone. */
function admitted(request: Request, { keys }: Provider, callers: Callers): Caller {
  const caller = callerOf(request.headers.authorization, keys);
  if (caller !== 'merchant' && callers === 'merchant') throw secretKeyRequired();
  return caller;
}

/** A browser may act on the one object whose secret it was given. */
export function requireClientSecret(call: Call, secret: string): void {
  const given = call.params.optionalText('client_secret');
  if (call.caller === 'merchant') return;
  if (given === undefined || !sameSecret(given, secret)) throw unauthorized();
}

/** `limit` (1–100, default 10). */
export function limitOf(params: Params): number {
  const limit = params.optionalInteger('limit') ?? 10;
  if (limit < 1 || limit > 100) {
    throw invalidRequest('Invalid integer: limit must be between 1 and 100', { param: 'limit' });
  }
  return limit;
}

/** `limit`, and either `starting_after` or `ending_before`. */
export function pageOf(params: Params): Page {
  const page = {
    limit: limitOf(params),
    startingAfter: params.optionalText('starting_after'),
    endingBefore: params.optionalText('ending_before'),
  };
  if (page.startingAfter !== undefined && page.endingBefore !== undefined) {
    throw invalidRequest('You may only specify one of these parameters: starting_after, ending_before.');
  }
  return page;
}

/** What was found for a page, one more than it holds where there is more; going backwards, the nearest first. */
export function listOf(url: string, page: Page, found: readonly unknown[]) {
  const shown = found.slice(0, page.limit);
  const data = page.endingBefore === undefined ? shown : shown.toReversed();
  return { object: 'list', url, has_more: found.length > page.limit, data };
}

const maxExpansions = 10;
const maxExpansionDepth = 4;

/** Replaces ids by the objects they name: `expand[]=payment_intent.latest_charge`, `data.charge` in lists. */
async function expanded(tx: SqlExecutor, object: unknown, paths: readonly string[]): Promise<unknown> {
  if (paths.length === 0) return object;
  if (paths.length > maxExpansions)
    throw invalidRequest(`You can expand at most ${maxExpansions} properties`);
  const copy: unknown = JSON.parse(JSON.stringify(object));
  for (const path of paths) {
    const parts = path.split('.');
    if (parts.length > maxExpansionDepth) {
      throw invalidRequest(`You cannot expand more than ${maxExpansionDepth} levels: ${path}`);
    }
    await expandPath(tx, copy, parts);
  }
  return copy;
}

async function expandPath(tx: SqlExecutor, holder: unknown, parts: readonly string[]): Promise<void> {
  const [part, ...rest] = parts;
  if (part === undefined) return;
  if (Array.isArray(holder)) {
    for (const entry of holder) await expandPath(tx, entry, parts);
    return;
  }
  if (!isRecord(holder)) throw notExpandable(part);
  // Members that are there only when they are asked for.
  const members = includable.get(`${textOf(holder, 'object')}.${part}`);
  if (members !== undefined) holder[part] ??= await members(tx, textOf(holder, 'id') ?? '');
  else if (!Object.hasOwn(holder, part)) throw notExpandable(part);
  const value = holder[part];
  if (typeof value === 'string') holder[part] = (await findAnyObject(tx, value)) ?? value;
  await expandPath(tx, holder[part] === null ? {} : holder[part], holder[part] === null ? [] : rest);
}

const notExpandable = (part: string) =>
  invalidRequest(`This property cannot be expanded (${part}).`, { param: 'expand' });

/** As a list of one page. */
const wholeList = { limit: 100, startingAfter: undefined };

const includable = new Map<string, (tx: SqlExecutor, id: string) => Promise<unknown>>([
  ['checkout.session.line_items', lineItemsOf],
  [
    'charge.refunds',
    async (tx, id) => {
      const refunds = await listObjects(tx, 'refund', [compare(memberPath('charge'), '=', id)], wholeList);
      return listOf(`/v1/charges/${id}/refunds`, wholeList, refunds);
    },
  ],
]);

/** What a checkout session sells. */
export async function lineItemsOf(tx: SqlExecutor, id: string, page: Page = wholeList) {
  const { items } = await getCheckout(tx, id);
  return listOf(`/v1/checkout/sessions/${id}/line_items`, page, items);
}

export interface ProviderKeys {
  readonly secretKey: string;
  readonly publishableKey: string;
  readonly webhookSecret: string;
}

type Caller = 'merchant' | 'browser';

/** `Authorization: Bearer <key>`, or Basic with the key as user name (what `curl -u key:` sends). */
function callerOf(authorization: string | undefined, keys: ProviderKeys): Caller {
  const key = keyOf(authorization ?? '');
  if (key !== undefined && sameSecret(key, keys.secretKey)) return 'merchant';
  if (key !== undefined && sameSecret(key, keys.publishableKey)) return 'browser';
  throw unauthorized();
}

function keyOf(authorization: string): string | undefined {
  const [scheme = '', value = ''] = authorization.split(' ', 2);
  if (/^bearer$/i.test(scheme)) return value;
  if (/^basic$/i.test(scheme)) return Buffer.from(value, 'base64').toString().split(':', 1)[0];
  return undefined;
}

/** Any key: what a browser may do with its own is each call's to say. */
export function apiGuard(keys: ProviderKeys): Guard {
  return {
    check: (request) => void callerOf(request.headers.authorization, keys),
    noSuchRoute: unknownPath,
    preflights: true,
  };
}

/** The secret key. */
export function merchantGuard(keys: ProviderKeys): Guard {
  return {
    check(request) {
      if (callerOf(request.headers.authorization, keys) !== 'merchant') throw secretKeyRequired();
    },
    noSuchRoute: unknownPath,
  };
}

export const unknownPath = ({ method, url }: Request): CardApiError =>
  noSuchRoute(method, url.split('?', 1)[0] ?? url);

const day = 24 * 3600;
const maxKeyLength = 255;

/** An answer of the API; `body` is JSON text, so that a replay is the same to the byte. */
interface Answer {
  readonly status: number;
  readonly body: string;
  readonly replayed: boolean;
}

interface KeyedRequest {
  readonly key: string;
  readonly path: string;
  readonly body: string;
}

const fingerprintOf = (request: KeyedRequest) =>
  createHash('sha256').update(`${request.path}\n${request.body}`).digest('hex');

async function keptAnswer(tx: SqlExecutor, request: KeyedRequest, now: number): Promise<Answer | undefined> {
  const row = await tx.get<{ fingerprint: string; status: number; body: string; created: number }>(
    'SELECT fingerprint, status, body, created FROM replies WHERE key = ?',
    request.key,
  );
  if (row === undefined) return undefined;
  if (row.created + day <= now) {
    await tx.run('DELETE FROM replies WHERE key = ?', request.key);
    return undefined;
  }
  if (row.fingerprint !== fingerprintOf(request)) {
    throw new CardApiError(400, {
      type: 'idempotency_error',
      message:
        'Keys for idempotent requests can only be used with the same parameters they were first used with.',
    });
  }
  return { status: row.status, body: row.body, replayed: true };
}

async function keepAnswer(
  tx: SqlExecutor,
  request: KeyedRequest,
  answer: Answer,
  now: number,
): Promise<void> {
  await tx.run(
    'INSERT INTO replies (key, fingerprint, status, body, created) VALUES (?, ?, ?, ?, ?)',
    request.key,
    fingerprintOf(request),
    answer.status,
    answer.body,
    now,
  );
}

/** Forgets what is older than a day. */
export async function forgetOldAnswers(tx: SqlExecutor, now: number): Promise<void> {
  await tx.run('DELETE FROM replies WHERE created <= ?', now - day);
}
