/**
 * Every route that wants a key, asked in every spelling of its path without one and with a wrong one; and every route at
 * all, asked with HEAD and with methods that it does not have. The routes are those that the running servers have, so
 * that a new one is asked too.
 */
import assert from 'node:assert/strict';
import { subscribe } from 'node:diagnostics_channel';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import type { RouteOptions } from 'fastify';
import { createStack, type Stack } from '../../src/cli/stack.ts';
import { readConfig } from '../../src/config/config.ts';
import type { App } from '../../src/kernel/http/server.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { type Spelling, spellingsOf } from '../support/path-spellings.ts';
import { RawClient } from '../support/raw-http.ts';
import { freePorts } from '../support/stack.ts';

interface Server {
  readonly app: App;
  readonly routes: RouteOptions[];
}

/** Prefixes below which everything wants a key, by the name of the server, and what there is open to all. */
const protectedBelow: Record<string, { prefixes: RegExp; open: RegExp }> = {
  gateway: { prefixes: /^\/(gw|ar-io)\/admin(\/|$)/, open: /^$/ },
  payment: { prefixes: /^\/v1\/admin(\/|$)/, open: /^$/ },
  upload: { prefixes: /^\/v1\/admin(\/|$)/, open: /^$/ },
  router: {
    prefixes: /^\/(router|wayfinder)\/(moderation|names)(\/|$)/,
    open: /^\/(router|wayfinder)\/moderation\/check\/:type\/:value$/,
  },
  // Of the operator's page nothing is open but its files.
  admin: { prefixes: /^/, open: /^\/(assets\/:name|icon\.svg)?$/ },
  card: { prefixes: /^\/(v1|test)(\/|$)/, open: /^$/ },
  // For its own page, which has a header in place of a key.
  console: { prefixes: /^\/api(\/|$)/, open: /^\/api\/settings$/ },
};
const pageHeader = { 'x-turnpike-console': '1' };

/** Where strangers ask from: too many wrong tokens of a network keep the right one out, but of no other network. */
const elsewhere = '127.0.0.2';
const spellingTurns = 6;
const wrongKeyTurns = 5;
const atOnce = 8;
const id = 'A'.repeat(43);
const client = new RawClient();
const root: Spelling = { name: 'the root', target: '/' };
const tokens = { gateway: 'g'.repeat(30), router: 'm'.repeat(30), admin: 'a'.repeat(30) };
/** What would do something, wherever it got through. */
const json = JSON.stringify({
  id,
  name: 'victim',
  type: 'txid',
  value: id,
  reason: 'x',
  gateway: 'http://127.0.0.1:9',
  drop: 7,
  indexedAtThreshold: 1,
});

describe('routes that want a key', () => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-guarded-'));
  const servers: Server[] = [];
  let stack: Stack;
  let urls: Record<string, string>;
  let cardKey: string;

  const onMade = (message: unknown): void => {
    const { fastify: app } = message as { fastify: App };
    const routes: RouteOptions[] = [];
    app.addHook('onRoute', (route) => void routes.push(route));
    servers.push({ app, routes });
  };

  before(async () => {
    subscribe('fastify.initialization', onMade);
    const config = readConfig({
      ...freePorts(),
      DATA_DIR: folder,
      ADMIN_API_KEY: tokens.gateway,
      MODERATION_ADMIN_TOKEN: tokens.router,
      ADMIN_TOKEN: tokens.admin,
      PING_ENABLED: 'false',
    });
    stack = createStack(config, silentLog);
    for (const surface of stack.surfaces) await surface.start();
    urls = Object.fromEntries(stack.addresses().map(({ name, url }) => [name, url]));
    cardKey = readFileSync(join(folder, 'keys', 'local-card-secret-key'), 'utf8').trim();
  });
  after(async () => {
    client.close();
    for (const surface of stack.surfaces.toReversed()) await surface.stop();
    rmSync(folder, { recursive: true, force: true });
  });

  const routesOf = (name: string): RouteOptions[] => {
    const port = Number(new URL(urls[name] ?? '').port);
    const server = servers.find(({ app }) => {
      const address = app.server.address();
      return typeof address === 'object' && address?.port === port;
    });
    assert.ok(server !== undefined, name);
    return server.routes;
  };
  const isGuarded = (route: RouteOptions): boolean => route.config?.guarded !== undefined;

  test('no server has a guarded route that this test does not know of, nor an open one below a guarded prefix', () => {
    for (const name of Object.keys(urls)) {
      const rules = protectedBelow[name];
      for (const route of routesOf(name)) {
        const wanted = rules?.prefixes.test(route.url) === true && !rules.open.test(route.url);
        assert.equal(isGuarded(route), wanted, `${name} ${String(route.method)} ${route.url}`);
      }
    }
  });

  for (const name of Object.keys(protectedBelow)) {
    test(`${name}: no spelling of a path gets through without the key, or with a wrong one`, async () => {
      const asked = guardedOf(routesOf(name));
      assert.ok(asked.length > 5, `${asked.length} routes`);
      const { host } = new URL(urls[name] ?? '');
      const jobs = asked.flatMap(({ method, path, preflights }, turn) => {
        const spellings = spellingsOf(path, host);
        assert.ok(spellings.length >= 50);
        // Of the local card provider: pages call it with a key that everybody may have.
        const closed = spellings.filter(({ headers }) => !preflights || headers?.origin === undefined);
        // Every spelling, though not each at every route: they take turns, and so do wrong keys.
        return closed.flatMap((spelling, index) => {
          if ((index + turn) % spellingTurns !== 0) return [];
          const isWrongKeysTurn = name !== 'console' && (index + turn) % wrongKeyTurns === 0;
          const keys = isWrongKeysTurn ? [undefined, `Bearer ${'x'.repeat(30)}`] : [undefined];
          return keys.map((authorization) => ({ method, spelling, authorization }));
        });
      });
      const before = await state();
      await inParallel(jobs, 24, async ({ method, spelling, authorization }) => {
        const status = await ask(host, method, spelling, authorization);
        const refusals = [400, 401, 404, 405];
        // A wrong token of the router's is 403, and 429 after a few of them; so is another origin at its page.
        if (authorization !== undefined || spelling.headers?.origin !== undefined) refusals.push(403, 429);
        if (name === 'console') refusals.push(403, 421);
        const wanted = spelling.isRoot ? [await ask(host, method, root, undefined)] : refusals;
        const what = `${spelling.method ?? method} ${spelling.target} (${spelling.name}) ${authorization ?? ''}`;
        assert.ok(wanted.includes(status), `${what}: ${status}`);
      });
      assert.deepEqual(await state(), before, 'nothing changed');
    });
  }

  test('what does not exist below a guarded prefix is 401 without the key, in every method', async () => {
    for (const [name, path] of [
      ['gateway', '/gw/admin/nothing'],
      ['gateway', '/ar-io/admin'],
      ['router', '/router/moderation/nothing'],
      ['router', '/wayfinder/moderation'],
      ['admin', '/api/nothing'],
      ['admin', '/api'],
      ['card', '/test/nothing'],
      ['card', '/v1/nothing'],
    ] as const) {
      for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']) {
        const spelling = { name: path, target: path };
        const { host } = new URL(urls[name] ?? '');
        assert.equal(await ask(host, method, spelling, undefined), 401, `${name} ${method} ${path}`);
      }
    }
  });

  test('with the key they answer, and what does not exist is 404', async () => {
    const key = { ...tokens, card: cardKey };
    for (const [name, path, status] of [
      ['gateway', '/gw/admin/blocks', 200],
      ['gateway', '/%67w/admin/blocks', 200],
      ['gateway', '/gw/admin/nothing', 404],
      ['router', '/router/moderation/stats', 200],
      ['router', '/router/moderation/nothing', 404],
      ['admin', '/api/status', 200],
      ['admin', '/%61pi/status', 200],
      ['admin', '/api/nothing', 404],
      ['card', '/test/webhooks', 200],
      ['card', '/v1/events', 200],
      ['card', '/v1/nothing', 404],
    ] as const) {
      const { host } = new URL(urls[name] ?? '');
      const spelling = { name: path, target: path };
      const got = await ask(host, 'GET', spelling, `Bearer ${key[name]}`, '127.0.0.1');
      assert.equal(got, status, `${name} ${path}`);
    }
  });

  test('no answer below a guarded prefix is for pages elsewhere', async () => {
    for (const [name, path] of [
      ['gateway', '/gw/admin/blocks'],
      ['gateway', '/ar-io/admin/block-data'],
      ['router', '/router/moderation/block'],
      ['router', '/wayfinder/moderation/stats'],
      ['admin', '/api/moderation/block'],
    ] as const) {
      for (const method of ['OPTIONS', 'GET']) {
        for (const authorization of ['', `Bearer ${tokens[name]}`]) {
          const answer = await fetch(`${urls[name]}${path}`, {
            method,
            headers: {
              ...(authorization !== '' && { authorization }),
              ...(name !== 'admin' && { origin: 'http://elsewhere.example' }),
              'access-control-request-method': 'POST',
            },
          });
          const told = [...answer.headers.keys()].filter((header) => header.startsWith('access-control-'));
          assert.deepEqual(told, [], `${name} ${method} ${path} ${answer.status}`);
        }
      }
    }
  });

  test('after too many wrong tokens a network waits, with the right one too, and other networks do not', async () => {
    const { host } = new URL(urls.router ?? '');
    const stats = { name: 'stats', target: '/router/moderation/stats' };
    const check = { name: 'check', target: `/router/moderation/check/txid/${id}` };
    const [attacker, operator] = ['127.0.0.3', '127.0.0.4'];
    const right = `Bearer ${tokens.router}`;
    assert.equal(await ask(host, 'GET', stats, right, attacker), 200);
    // The open route tells those with the token more: it is no place to guess either.
    for (let time = 0; time < 5; time += 1) await ask(host, 'GET', check, 'Bearer wrong', attacker);
    assert.equal(await ask(host, 'GET', stats, 'Bearer wrong', attacker), 429);
    assert.equal(await ask(host, 'GET', stats, right, attacker), 429);
    assert.equal(await ask(host, 'GET', stats, right, operator), 200);
  });

  /** A GET that does something: whoever only looks must not do it. */
  const acting = [
    'arweave /mine',
    'arweave /mine/:count',
    'arweave /mineWithFails',
    'arweave /mineWithFails/:count',
    'arweave /mint/:address/:winston',
    'payment /v1/arns/quote/:method/:address/:currency/:intent/:name',
    'payment /v1/redeem',
    'payment /v1/top-up/:method/:address/:currency/:amount',
    'payment /v1/x402/top-up',
    'upload /chunks/:token/-1/-1',
    'upload /v1/chunks/:token/-1/-1',
  ];

  /** Streams of events. */
  const endless = new Set(['console /api/live']);

  test('every GET is answered to HEAD with the same status and type and no body, but where it does something', async () => {
    const before = await state();
    const seen: string[] = [];
    const routes = Object.keys(urls).flatMap((name) =>
      [...methodsOf(routesOf(name))].map(([url, route]) => ({ name, url, ...route })),
    );
    await inParallel(routes, atOnce, async ({ name, url, methods, acts, guarded }) => {
      if (!methods.has('GET') || url.includes('*') || endless.has(`${name} ${url}`)) return;
      const head = await answerTo(name, 'HEAD', url);
      if (guarded) {
        const { host } = new URL(urls[name] ?? '');
        const status = await ask(host, 'HEAD', { name: 'without key', target: pathOf(url) }, undefined);
        assert.ok([401, 403, 429].includes(status), `${name} ${url}: ${status}`);
      }
      assert.equal(head.body, '', `${name} ${url}`);
      if (acts) {
        seen.push(`${name} ${url}`);
        assert.equal(head.status, 405, `${name} ${url}`);
        assert.match(head.allow, /\bGET\b/);
        assert.doesNotMatch(head.allow, /HEAD/);
        return;
      }
      const get = await answerTo(name, 'GET', url);
      // One that is given out once in a while was, to HEAD.
      if (get.status === 429) return;
      assert.deepEqual([head.status, head.type], [get.status, get.type], `${name} ${url}`);
    });
    assert.deepEqual(seen.sort(), acting);
    assert.deepEqual(await state(), before, 'nothing changed');
  });

  test('every other method is 405 and told what the path has, before its body is read', async () => {
    const before = await state();
    for (const name of Object.keys(urls)) {
      // A node answers what it does not know in its own words, whatever the method.
      if (name === 'arweave') continue;
      const known = methodsOf(routesOf(name));
      await inParallel([...known], atOnce, async ([url, { methods }]) => {
        if (url.includes('*')) return;
        for (const method of ['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE']) {
          // Another route may have the path too; below a key the prefix itself has every method.
          if (otherRoutesTake(known, method, url) || methods.size > 4) continue;
          const what = `${name} ${method} ${url}`;
          const answer = await answerTo(name, method, url, { 'content-type': 'application/x-odd' });
          assert.equal(answer.status, 405, what);
          for (const own of methods)
            if (own !== 'HEAD') assert.ok(answer.allow.split(', ').includes(own), what);
          assert.ok(!answer.allow.split(', ').includes(method), what);
        }
      });
    }
    assert.deepEqual(await state(), before, 'nothing changed');
  });

  const pathOf = (url: string): string => url.replace(/:[a-z0-9]+/gi, id);

  async function answerTo(name: string, method: string, url: string, headers: Record<string, string> = {}) {
    const key =
      url.startsWith('/v1/admin') && name !== 'card' ? tokens.gateway : { ...tokens, card: cardKey }[name];
    const path = pathOf(url);
    const hasBody = method !== 'GET' && method !== 'HEAD';
    const answer = await fetch(`${urls[name]}${path}`, {
      method,
      redirect: 'manual',
      headers: {
        ...(name === 'console' && pageHeader),
        ...(key !== undefined && { authorization: `Bearer ${key}` }),
        ...headers,
      },
      ...(hasBody && { body: '{' }),
    });
    const [type = '', allow = ''] = ['content-type', 'allow'].map(
      (header) => answer.headers.get(header) ?? '',
    );
    // Events come until the reader leaves.
    const isEndless = method === 'GET' && type.startsWith('text/event-stream');
    if (isEndless) await answer.body?.cancel();
    return { status: answer.status, type, allow, body: isEndless ? '' : await answer.text() };
  }

  /** What a call that got through would have changed. */
  async function state(): Promise<unknown> {
    const read = async (name: string, path: string, key: string) => {
      const answer = await fetch(`${urls[name]}${path}`, { headers: { authorization: `Bearer ${key}` } });
      assert.equal(answer.status, 200, path);
      return answer.json();
    };
    const gateways = (await read('admin', '/api/gateways', tokens.admin)) as {
      gateways: { state: string }[];
    };
    return {
      gateway: await read('gateway', '/gw/admin/blocks', tokens.gateway),
      pruned: await read('gateway', '/gw/admin/prune-stable-data-items/status', tokens.gateway),
      exported: await read('gateway', '/gw/admin/export-parquet/status', tokens.gateway),
      router: await read('admin', '/api/moderation', tokens.admin),
      states: gateways.gateways.map(({ state }) => state),
      webhooks: await read('card', '/test/webhooks', cardKey),
      events: await read('card', '/v1/events', cardKey),
    };
  }
});

interface PathMethods {
  readonly methods: Set<string>;
  acts: boolean;
  guarded: boolean;
}

function methodsOf(routes: readonly RouteOptions[]): Map<string, PathMethods> {
  const found = new Map<string, PathMethods>();
  for (const { url: spelled, method, config } of routes) {
    // The framework tells of a prefix once, without or with the slash at its end, which both answer.
    const url = spelled.replace(/(.)\/$/, '$1');
    const known = found.get(url) ?? { methods: new Set(), acts: false, guarded: false };
    found.set(url, known);
    for (const one of [method].flat()) known.methods.add(String(one));
    known.acts ||= config?.actsOnGet === true;
    known.guarded ||= config?.guarded !== undefined;
  }
  return found;
}

/** Whether a route of this method answers the path of another route. */
function otherRoutesTake(known: ReadonlyMap<string, PathMethods>, method: string, url: string): boolean {
  const path = url.replace(/:[a-z0-9]+/gi, id);
  return [...known].some(([other, { methods }]) => {
    if (!methods.has(method) || (other !== url && other.endsWith('*') && methods.size >= 4)) return false;
    const pattern = other
      .replace(/[.]/g, '\\.')
      .replace(/:[a-z0-9]+/gi, '[^/]+')
      .replace('*', '.*');
    return new RegExp(`^${pattern}$`).test(path);
  });
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly preflights: boolean;
}

/** Each guarded path with a method that it has; of the paths that do not exist a read and a write. */
function guardedOf(routes: readonly RouteOptions[]): Asked[] {
  const asked = new Map<string, Asked>();
  for (const { url, method: given, config } of routes) {
    if (config?.guarded === undefined) continue;
    const path = url.replace(/:[a-z]+/gi, id).replace('*', 'nothing/here');
    // HEAD is the route of its GET, and asked without the key below.
    const methods = [given]
      .flat()
      .filter((method) => method !== 'HEAD')
      .map(String);
    const some = methods.length > 2 ? ['GET', 'POST'] : methods;
    const { preflights } = config.guarded;
    for (const method of some) asked.set(`${method} ${path}`, { method, path, preflights });
  }
  return [...asked.values()];
}

/** The status of the answer. */
async function ask(
  host: string,
  method: string,
  { target, method: other, headers = {} }: Spelling,
  authorization: string | undefined,
  localAddress = elsewhere,
): Promise<number> {
  const verb = other ?? method;
  const body = ['POST', 'PUT', 'PATCH', 'DELETE'].includes(verb) ? json : '';
  const { status, body: told } = await client.ask({
    ...{ host, localAddress, target, body, method: verb },
    headers: {
      host,
      ...(authorization !== undefined && { authorization }),
      ...(body !== '' && { 'content-type': 'application/json', 'content-length': String(body.length) }),
      ...headers,
    },
  });
  // Every path that is no route of the console has its document.
  return told.includes('<div id="app">') ? 404 : status;
}

async function inParallel<T>(
  jobs: readonly T[],
  width: number,
  run: (job: T) => Promise<void>,
): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let job = jobs[next++]; job !== undefined; job = jobs[next++]) await run(job);
  };
  await Promise.all(Array.from({ length: width }, worker));
}
