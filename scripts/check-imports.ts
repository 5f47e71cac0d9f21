/**
 * The picture of docs/architecture.md as a check: which room may import which, which floor inside a room stands on
 * which, no circles between files, and nothing exported that nobody uses. `npm run check` fails with one line per offence.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

const surfaces = ['payment', 'names', 'upload', 'gateway', 'router'];
const below = [
  'payments',
  'credits',
  'pricing',
  'registry',
  'events',
  'outside',
  'wallets',
  'formats',
  'kernel',
  'storage',
  'config',
];

/** Room -> the other rooms it may import. `config` is types and values only, so every room may name it. */
export const allowed: Record<string, string[]> = {
  formats: [],
  config: [],
  kernel: ['formats', 'config'],
  storage: ['formats', 'kernel', 'config'],
  wallets: ['formats'],
  outside: ['formats', 'kernel', 'config'],
  events: ['outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  pricing: ['outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  credits: ['pricing', 'events', 'outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  payments: ['credits', 'pricing', 'events', 'outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  registry: ['outside', 'wallets', 'formats', 'kernel', 'config'],
  fork: ['delivery', 'outside', 'formats', 'wallets', 'kernel', 'storage', 'config'],
  localnet: ['fork', 'outside', 'formats', 'wallets', 'kernel', 'storage', 'config'],
  delivery: ['outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  ...Object.fromEntries(surfaces.map((surface) => [surface, below])),
  // Who serves content.
  gateway: [...below, 'delivery', 'fork'],
  router: [...below, 'delivery'],
  upload: [...below, 'delivery'],
  console: ['outside', 'formats', 'kernel', 'config'],
  // In browsers: of formats what needs no Node, of the console the types that both speak.
  page: ['console', 'formats'],
  cli: [...surfaces, 'console', ...below, 'delivery', 'fork', 'localnet'],
  // Runs on an older Node than the rest, so it shares next to nothing with the rest.
  kit: ['formats', 'config', 'kernel', 'cli'],
};

/**
 * Room -> its floors, the lowest first: a folder or file imports from its own floor's neighbours never, from lower
 * floors freely. What is not named stands on the top floor. `testing` files are not part of the program.
 */
export const floors: Record<string, string[][]> = {
  payments: [
    ['newest.ts', 'outside-records.ts'],
    ['card', 'chain', 'x402'],
    ['returns', 'reconciliation'],
  ],
  events: [
    ['migrations.ts', 'event-log.ts'],
    ['feed.ts'],
    ['event-pages.ts'],
    ['live-feed.ts'],
    ['streams', 'hooks'],
  ],
  credits: [['errors.ts'], ['credits.ts'], ['ledger', 'signatures']],
  payment: [
    ['answers.ts', 'countries.ts', 'errors.ts', 'metrics.ts', 'promo-query.ts', 'referer.ts', 'schemas.ts'],
    ['auth', 'client-limits.ts', 'route-failures.ts', 'wallet-source.ts'],
    ['gifts.ts'],
    ['bookkeeping.ts'],
    ['routes'],
    ['card', 'chain', 'events', 'x402', 'returns'],
  ],
  names: [
    ['locks.ts', 'metrics.ts', 'settings.ts'],
    ['errors.ts', 'receipts.ts'],
    ['requests'],
    ['notices', 'prices', 'changes.ts', 'where.ts'],
    ['chain'],
    ['actions'],
    ['cards'],
    ['routes'],
  ],
  upload: [
    ['errors.ts', 'metrics.ts', 'migrations.ts'],
    ['items', 'hashing', 'announcer'],
    ['bundler', 'intake'],
    ['x402', 'multipart', 'proofs', 'reports', 'watcher'],
    ['routes'],
  ],
  gateway: [
    ['errors.ts', 'held-bytes.ts', 'observer-key.ts', 'paths.ts', 'meter.ts'],
    ['chain-index'],
    ['history'],
    ['filters', 'chain'],
    ['unbundle'],
    ['import'],
    ['content'],
    ['metering'],
    ['migrations.ts'],
    ['events'],
    ['graphql', 'httpsig', 'export', 'published-indexes'],
    ['routes'],
    ['admin'],
  ],
  router: [
    ['errors.ts', 'tokens.ts'],
    ['request', 'gateways'],
    ['settings.ts', 'metrics.ts', 'telemetry', 'names', 'moderation'],
    ['content'],
    ['database.ts'],
    ['routes'],
    ['admin'],
  ],
  page: [['texts.ts'], ['kit'], ['app'], ['services'], ['wallet'], ['items'], ['views'], ['sections.ts']],
  localnet: [
    ['sign.ts', 'hold-alone.ts'],
    ['arweave', 'solana', 'card', 'x402'],
  ],
};

const importPattern =
  /(?:^|\s)(?:import|export)\s[^'"]*?from\s+['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]/g;

/** The files of this repository that a file imports, types included; the paths are relative to the root. */
export function importsOf(path: string, text: string): string[] {
  return [...text.matchAll(importPattern)].map((match) => join(dirname(path), match[1] ?? match[2] ?? ''));
}

/** The offences of one file's text against rooms and floors. */
export function offences(path: string, text: string, floorsOfRooms = floors): string[] {
  const room = roomOf(path);
  if (room === undefined || path.endsWith('.test.ts')) return [];
  return importsOf(path, text).flatMap((target) => {
    const other = roomOf(target);
    if (other === undefined) return [`${path}: imports ${target}, outside src`];
    if (other !== room) {
      const isAllowed = (allowed[room] ?? []).includes(other);
      return isAllowed ? [] : [`${path}: ${room} may not import ${other} (${target})`];
    }
    return climbs(path, target, floorsOfRooms[room]) ? [`${path}: ${target} is not on a lower floor`] : [];
  });
}

function climbs(path: string, target: string, roomFloors: string[][] | undefined): boolean {
  if (roomFloors === undefined || isTesting(path) || isTesting(target)) return false;
  const [from, to] = [unitOf(path), unitOf(target)];
  if (from === to) return false;
  const floorOf = (unit: string) => {
    const floor = roomFloors.findIndex((units) => units.includes(unit));
    return floor === -1 ? roomFloors.length : floor;
  };
  return floorOf(to) >= floorOf(from);
}

/** The folder or file right below the room. */
const unitOf = (path: string): string => path.split(sep)[2] ?? '';

const isTesting = (path: string): boolean => /(?:^|\/)testing(?:[-./]|$)/.test(path);

function roomOf(path: string): string | undefined {
  const parts = path.split(sep);
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

/** Each circle of files that import each other, types included: one idea that was cut in two. */
export function circles(imports: ReadonlyMap<string, readonly string[]>): string[][] {
  const found: string[][] = [];
  const order = new Map<string, number>();
  const lowest = new Map<string, number>();
  const stack: string[] = [];
  // Tarjan's algorithm: a file whose lowest reachable file on the stack is itself closes a component.
  function visit(file: string): number {
    const own = order.size;
    order.set(file, own);
    stack.push(file);
    let low = own;
    for (const next of imports.get(file) ?? []) {
      if (!imports.has(next)) continue;
      if (!order.has(next)) low = Math.min(low, visit(next));
      else if (stack.includes(next)) low = Math.min(low, lowest.get(next) ?? order.get(next) ?? own);
    }
    lowest.set(file, low);
    if (low === own) {
      const component = stack.splice(stack.indexOf(file));
      if (component.length > 1 || imports.get(file)?.includes(file)) found.push(component.sort());
    }
    return low;
  }
  for (const file of imports.keys()) if (!order.has(file)) visit(file);
  return found;
}

const exportPattern =
  /^export (?:async )?(?:abstract )?(?:const|function\*?|class|interface|type) ([A-Za-z_$][\w$]*)/gm;

/**
 * Exports of the program that no other file names, and that their own file does not use either. Names are compared as
 * words, so that a common one may be missed; nothing in use is ever told.
 */
export function unusedExports(texts: ReadonlyMap<string, string>): string[] {
  const users = new Map<string, number>();
  for (const text of texts.values()) {
    for (const word of new Set(text.match(/[A-Za-z_$][\w$]*/g))) users.set(word, (users.get(word) ?? 0) + 1);
  }
  return [...texts]
    .filter(([file]) => roomOf(file) !== undefined && !file.endsWith('.test.ts'))
    .flatMap(([file, text]) =>
      [...text.matchAll(exportPattern)].flatMap(([, name = '']) => {
        const isUsedHere = text.split(new RegExp(`\\b${name}\\b`)).length > 2;
        return users.get(name) === 1 && !isUsedHere ? [`${file}: nobody uses ${name}`] : [];
      }),
    );
}

/** Every source file below these folders, with its text. */
function textsBelow(root: string, folders: readonly string[]): Map<string, string> {
  const entries = folders.flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true }),
  );
  const files = entries
    .filter(
      (entry) => entry.isFile() && /\.tsx?$/.test(entry.name) && !entry.parentPath.includes('node_modules'),
    )
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  return new Map(files.map((file) => [file, readFileSync(join(root, file), 'utf8')]));
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(import.meta.dirname, '..');
  const texts = textsBelow(root, ['src', 'test', 'bench', 'scripts']);
  const program = [...texts].filter(([file]) => file.startsWith('src'));
  const found = [
    ...program.flatMap(([file, text]) => offences(file, text)),
    ...circles(new Map(program.map(([file, text]) => [file, importsOf(file, text)]))).map(
      (files) => `these files import each other: ${files.join(' ')}`,
    ),
    ...unusedExports(texts),
  ];
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
  console.log(`imports: ${program.length} files keep to their rooms and floors, without a circle`);
}
