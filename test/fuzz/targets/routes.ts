/**
 * Every route of a whole local network in this process, by what a client writes: a line with method and path, headers,
 * an empty line, a body. Whatever is asked, it is answered, in time, never with a failure of the program's own, and
 * nothing is charged by a request that is refused.
 */
import assert from 'node:assert/strict';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { Client } from 'undici';
import { tryParseJson } from '../../../src/formats/json.ts';
import { Generator } from '../../strangers/generate.ts';
import { Knowledge } from '../../strangers/knowledge.ts';
import { type KnownRoute, RouteWatch } from '../../strangers/routes.ts';
import { operatorSecrets } from '../../strangers/world.ts';
import { type ControlledStack, startControlledStack } from '../../support/controlled-stack.ts';
import { seededRandom } from '../../support/seeded-random.ts';
import type { Target } from '../target.ts';

/** Of the servers that the network has; that which changes it as a whole (`local`) is left alone. */
const servers = [
  'payment',
  'upload',
  'gateway',
  'router',
  'admin',
  'console',
  'arweave',
  'solana',
  'card',
  'x402',
] as const;

/** What throws the network's state away, or works for minutes. */
const leftAlone = /reset|revert|snapshot|reload|prune|export|mine|\/local\/|%|\/\.|\/\//i;

const environment = {
  ...operatorSecrets,
  ACTING_SIGNATURES_PER_MINUTE: '1000000',
  PAYMENT_RATE_LIMIT_PER_MINUTE: '0',
  PAYMENT_RATE_LIMIT_BURST: '1000000',
  UNKNOWN_PAYMENTS_PER_MINUTE: '1000000',
};

interface Network {
  readonly stack: ControlledStack;
  readonly routes: readonly KnownRoute[];
  readonly ledger: DatabaseSync;
  readonly clients: Map<string, Client>;
}

let opened: Promise<Network> | undefined;
let network: Network | undefined;
let users = 0;

async function open(): Promise<() => Promise<void>> {
  users += 1;
  opened ??= openNetwork();
  network = await opened;
  return async () => {
    users -= 1;
    if (users > 0 || network === undefined) return;
    const { stack, ledger, clients } = network;
    [network, opened] = [undefined, undefined];
    for (const client of clients.values()) await client.destroy();
    ledger.close();
    await stack.stop();
  };
}

async function openNetwork(): Promise<Network> {
  const watch = new RouteWatch();
  const stack = await startControlledStack({ environment });
  watch.stop();
  const ledger = new DatabaseSync(join(stack.dataDir, 'ledger.db'), { readOnly: true });
  return { stack, routes: watch.routes(), ledger, clients: new Map() };
}

function clientOf({ stack, clients }: Network, server: string): Client {
  const known = clients.get(server);
  if (known !== undefined) return known;
  // Long: the machine may be busy with others.
  const client = new Client(new URL(stack.urls[server]!).origin, {
    headersTimeout: 60_000,
    bodyTimeout: 60_000,
  });
  clients.set(server, client);
  return client;
}

/** One request for each route, filled in with what its parameters may mean. */
function seedsOf(server: string): string[] {
  if (network === undefined) return [];
  const port = Number(new URL(network.stack.urls[server]!).port);
  const generator = new Generator(seededRandom(1), new Knowledge(), {
    addresses: ['AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM', '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913'],
    names: ['a-name'],
    antIds: ['4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS'],
    sessions: [],
    ids: ['AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM'],
  });
  return network.routes
    .filter((route) => route.port === port && route.method !== 'OPTIONS' && route.method !== 'HEAD')
    .map((route) => {
      const isGuarded = /admin|moderation|operator/.test(route.url) || server === 'admin';
      const key = /moderation/.test(route.url)
        ? operatorSecrets.MODERATION_ADMIN_TOKEN
        : server === 'admin'
          ? operatorSecrets.ADMIN_TOKEN
          : operatorSecrets.ADMIN_API_KEY;
      const hasBody = route.method === 'POST' || route.method === 'PUT' || route.method === 'PATCH';
      return [
        `${route.method} ${generator.path(route)}`,
        ...(isGuarded ? [`authorization: Bearer ${key}`] : []),
        ...(hasBody ? ['content-type: application/json'] : []),
        '',
        hasBody ? generator.body(route) : '',
      ].join('\n');
    })
    .filter((seed) => !leftAlone.test(seed.split('\n', 1)[0] ?? ''));
}

interface Asked {
  readonly method: string;
  readonly path: string;
  readonly headers: readonly string[];
  readonly body: Buffer | undefined;
}

const methods = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']);

function readAsked(input: Buffer): Asked | undefined {
  const end = input.indexOf('\n\n');
  const head = input.toString('latin1', 0, end === -1 ? input.length : end).split('\n');
  const [, method = '', path = ''] = /^([A-Z]+) (\/[\x21-\x7e]*)$/.exec(head[0] ?? '') ?? [];
  if (!methods.has(method) || leftAlone.test(path.split('?', 1)[0] ?? '') || path.includes('#'))
    return undefined;
  const headers = head.slice(1, 20).flatMap((line) => {
    const [, name = '', value = ''] = /^([a-z0-9-]{1,60}): ?([\x20-\x7e\x80-\xff]*)$/.exec(line) ?? [];
    // What belongs to the connection is not the route's to read.
    return name === '' ||
      /^(?:content-length|transfer-encoding|connection|keep-alive|upgrade|expect|te|trailer)$/.test(name)
      ? []
      : [name, value];
  });
  const body = end === -1 ? undefined : input.subarray(end + 2);
  return { method, path, headers, body: method === 'GET' || method === 'HEAD' ? undefined : body };
}

interface Answered {
  readonly status: number;
  readonly type: string;
  readonly text: string;
}

async function send(client: Client, { method, path, headers, body }: Asked): Promise<Answered> {
  const answer = await client.request({
    method: method as 'GET',
    path,
    headers: [...headers],
    ...(body !== undefined && body.length > 0 && { body }),
  });
  const type = String(answer.headers['content-type'] ?? '');
  if (type.startsWith('text/event-stream')) {
    answer.body.on('error', () => undefined).destroy();
    return { status: answer.statusCode, type, text: '' };
  }
  const text = Buffer.from(await answer.body.arrayBuffer()).toString('utf8');
  return { status: answer.statusCode, type, text };
}

const entries = (ledger: DatabaseSync): number =>
  Number(ledger.prepare('SELECT count(*) AS n FROM credits_entries').get()?.n ?? 0);

function target(server: string): Target {
  return {
    name: `routes-${server}`,
    longest: 3_000,
    open,
    seeds: () => seedsOf(server),
    async run(input) {
      const asked = readAsked(input);
      if (asked === undefined || network === undefined) return;
      const client = clientOf(network, server);
      const before = entries(network.ledger);
      const { status, type, text } = await send(client, asked);
      const told = `${asked.method} ${asked.path.slice(0, 200)}: ${status} ${text.slice(0, 200)}`;
      // 501 to 504 are said of the outside and of limits; 500 is the program's own failure.
      assert.ok(status !== 500 && status < 505, told);
      if (
        asked.method !== 'HEAD' &&
        status !== 204 &&
        status !== 304 &&
        type.startsWith('application/json')
      ) {
        assert.notEqual(tryParseJson(text), undefined, `is no JSON: ${told}`);
      }
      assert.ok(status < 400 || entries(network.ledger) === before, `refused and charged: ${told}`);
    },
  };
}

export const targets: readonly Target[] = servers.map(target);
