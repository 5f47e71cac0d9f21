/**
 * The picture of docs/architecture.md as a check: which room may import which.
 * An upward or sideways import fails `npm run check` with one line per offence.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve, sep } from 'node:path';

const surfaces = ['payment', 'names', 'upload', 'gateway', 'router'];
const below = [
  'payments',
  'credits',
  'pricing',
  'registry',
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
  pricing: ['outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  credits: ['pricing', 'outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  payments: ['credits', 'pricing', 'outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  registry: ['outside', 'wallets', 'formats', 'kernel', 'config'],
  localnet: ['outside', 'formats', 'wallets', 'kernel', 'storage', 'config'],
  delivery: ['outside', 'wallets', 'formats', 'kernel', 'storage', 'config'],
  ...Object.fromEntries(surfaces.map((surface) => [surface, below])),
  // Who serves content.
  gateway: [...below, 'delivery'],
  router: [...below, 'delivery'],
  cli: [...surfaces, ...below, 'localnet'],
};

const importPattern =
  /(?:^|\s)(?:import|export)\s[^'"]*?from\s+['"](\.[^'"]+)['"]|import\(\s*['"](\.[^'"]+)['"]/g;

/** The offences of one file's text; the path is relative to the repository root. */
export function offences(path: string, text: string): string[] {
  const room = roomOf(path);
  if (room === undefined) return [];
  const found: string[] = [];
  for (const match of text.matchAll(importPattern)) {
    const target = join(dirname(path), match[1] ?? match[2] ?? '');
    const other = roomOf(target);
    const isTest = path.endsWith('.test.ts');
    if (other === undefined) {
      if (!isTest) found.push(`${path}: imports ${target}, outside src`);
    } else if (other !== room && !(allowed[room] ?? []).includes(other) && !isTest) {
      found.push(`${path}: ${room} may not import ${other} (${target})`);
    }
  }
  return found;
}

function roomOf(path: string): string | undefined {
  const parts = path.split(sep);
  return parts[0] === 'src' && parts.length > 2 ? parts[1] : undefined;
}

if (process.argv[1] === import.meta.filename) {
  const root = resolve(import.meta.dirname, '..');
  const files = readdirSync(join(root, 'src'), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && /\.tsx?$/.test(entry.name))
    .map((entry) => relative(root, join(entry.parentPath, entry.name)));
  const found = files.flatMap((file) => offences(file, readFileSync(join(root, file), 'utf8')));
  for (const line of found) console.error(line);
  if (found.length > 0) process.exit(1);
  console.log(`imports: ${files.length} files keep to their rooms`);
}
