/** Every route of a whole stack, hidden ones included, in one spelling each. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { RouteWatch } from '../strangers/routes.ts';
import { startControlledStack } from './controlled-stack.ts';

export interface StackRoute {
  /** `server METHOD /path/{parameter}` */
  readonly name: string;
  /** The file that adds it; undefined where a library does. */
  readonly file: string | undefined;
}

/** Of a stack that is started and stopped again, sorted by name. */
export async function routesOfStack(): Promise<StackRoute[]> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-routes-'));
  const watch = new RouteWatch();
  const stack = await startControlledStack({ dataDir: folder });
  try {
    const ports = Object.entries(stack.urls).map(([name, url]) => [new URL(url).port, name] as const);
    // The control of the local network has no port of its own.
    const servers = new Map([...ports, ['0', 'local']]);
    const found = new Map<string, Set<string>>();
    const files = new Map<string, string | undefined>();
    for (const { port, method, url: told, file } of watch.routes()) {
      // Of a prefix, GET is told once for both its spellings and HEAD twice.
      const url = method === 'HEAD' ? told.replace(/(.)\/$/, '$1') : told;
      const path = `${servers.get(String(port)) ?? port} ${url.replace(/:([A-Za-z][A-Za-z0-9]*)/g, '{$1}')}`;
      found.set(path, (found.get(path) ?? new Set()).add(method));
      for (const one of [method, 'ANY']) files.set(path.replace(' ', ` ${one} `), file);
    }
    return inOneSpelling(found)
      .sort()
      .map((name) => ({ name, file: files.get(name) }));
  } finally {
    watch.stop();
    await stack.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** More methods than anybody means one by one: the route answers whatever is asked. */
const manyMethods = 4;

/**
 * Names that published clients call the same route by, and HEAD beside GET, are the same: `ar-io` is `gw`, `wayfinder`
 * is `router`, `farcaster` is `social`, and what answers with `/v1` and without it answers alike.
 */
export function inOneSpelling(found: ReadonlyMap<string, ReadonlySet<string>>): string[] {
  const names = new Set<string>();
  for (const [place, methods] of found) {
    const [server = '', path = ''] = place.split(' ');
    const plain = path
      .replace(/^\/ar-io(?=\/|$)/, '/gw')
      .replace(/^\/wayfinder(?=\/|$)/, '/router')
      .replace('/local/farcaster/', '/local/social/');
    const versioned = `/v1${plain === '/' ? '' : plain}`;
    const own = named(methods);
    const other = named(found.get(`${server} ${versioned}`) ?? new Set());
    // What a guard answers at its prefix is no other name of a page at the root.
    const isAlike = other.length > 0 && other.length >= manyMethods === own.length >= manyMethods;
    const known = isAlike ? versioned : plain;
    if (own.length >= manyMethods) names.add(`${server} ANY ${known}`);
    else for (const method of own) names.add(`${server} ${method} ${known}`);
  }
  return [...names];
}

const named = (methods: ReadonlySet<string>): string[] =>
  [...methods].filter((method) => method !== 'HEAD' || !methods.has('GET'));
