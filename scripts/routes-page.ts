/**
 * docs/routes.md: every route of every server, the file that adds it and the tests that ask it. The routes are those of
 * a running stack, the tests those that spell its path.
 */
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import type { StackRoute } from '../test/support/all-routes.ts';

const root = resolve(import.meta.dirname, '..');
export const routesPath = join(root, 'docs', 'routes.md');

/** Said once for all servers. */
const onEveryServer = ['/openapi.json', '/api-docs', '/api-docs.css', '/api-docs.js'];

export interface RouteRow {
  readonly server: string;
  readonly method: string;
  readonly path: string;
  readonly file: string;
  readonly tests: readonly string[];
}

interface TestFile {
  readonly file: string;
  readonly text: string;
}

/** The routes of a stack as rows of the page. */
export function routeRows(routes: readonly StackRoute[]): RouteRow[] {
  const tests = globSync(['src/**/*.test.ts', 'test/**/*.test.ts'], {
    cwd: root,
    exclude: (path) => String(path).includes('node_modules'),
  })
    .sort()
    .map((file) => ({ file, text: readFileSync(join(root, file), 'utf8') }));
  return routes.flatMap((route) => rowOf(route, tests));
}

function rowOf({ name, file }: StackRoute, tests: readonly TestFile[]): RouteRow[] {
  const [server = '', method = '', path = ''] = name.split(' ');
  if (file === undefined || onEveryServer.some((one) => path.endsWith(one))) return [];
  return [{ server, method, path, file, tests: testsOf(path, file, tests) }];
}

/**
 * One beside the code and one that drives a whole process. Short paths such as `/info` are common to many servers, so
 * that a test beside the code counts in the route's own room only; there one that names the last word of the path counts
 * too, because helpers put paths together and packages of others ask by method names.
 */
function testsOf(path: string, file: string, tests: readonly TestFile[]): string[] {
  const ownRoom = tests.filter((test) => roomOf(test.file) === roomOf(file));
  const spelled = patternOf(path);
  const word = path.split('/').findLast((part) => /^[a-z_.-]{3,}$/.test(part));
  const named = word === undefined ? /^\b$/ : new RegExp(`['"\`./]${word}\\b`);
  const beside = ownRoom.find((test) => test.file === file.replace(/\.ts$/, '.test.ts'));
  const naming = ownRoom.filter(({ text }) => spelled.test(text) || named.test(text));
  const inside = beside ?? nearest(naming, file) ?? nearest(ownRoom, file);
  const whole = tests.filter(({ file, text }) => file.startsWith('test/') && spelled.test(text));
  const outside = path.split('/').length > 2 || inside === undefined ? whole[0] : undefined;
  return [inside, outside].flatMap((test) => (test === undefined ? [] : [test.file]));
}

const roomOf = (file: string) => file.split('/').slice(0, 2).join('/');

/** How tests spell a path: with or without its version, with values or expressions in place of parameters. */
function patternOf(path: string): RegExp {
  const plain = path.replace(/^\/v1(?=\/)/, '');
  const parts = plain.split('/').map((part) => {
    if (part === '*') return '[^\'"`\\s]*';
    return part
      .replace(/[.*+?^$()|[\]\\]/g, '\\$&')
      .replace(/\{[^}]*\}/g, '(?:\\$\\{[^}]*\\}|[^/\'"`\\s?])+')
      .replace(/^gw$/, '(?:gw|ar-io)')
      .replace(/^router$/, '(?:router|wayfinder)');
  });
  return new RegExp(`${parts.join('/')}(?=['"\`?#\\s]|$)`, 'm');
}

/** The one that shares most of its folders with the file. */
function nearest(tests: readonly TestFile[], file: string): TestFile | undefined {
  const shared = (test: TestFile) => {
    const [a, b] = [test.file.split('/'), file.split('/')];
    const apart = a.findIndex((part, at) => part !== b[at]);
    return apart === -1 ? a.length : apart;
  };
  return tests.toSorted((a, b) => shared(b) - shared(a))[0];
}

export function routesPage(rows: readonly RouteRow[]): string {
  const lines = [
    '# Routes',
    '',
    'Every route of every server of a whole stack, the file that adds it, and a test or two that ask it. Names that',
    'clients call the same route by are one row: `/ar-io` is `/gw`, `/wayfinder` is `/router`, and a path with `/v1` in',
    'front stands for the one without. `ANY` answers every method. Every server also has `/openapi.json` and `/api-docs`.',
    'Who may call a route and what limits it is in [Security](security.md#every-route). This page is made by `npm run docs`.',
  ];
  let server = '';
  for (const row of rows) {
    if (row.server !== server) {
      server = row.server;
      lines.push('', `## ${server}`, '', '| Route | File | Tests |', '|---|---|---|');
    }
    const tests = row.tests.map((test) => `\`${test}\``).join(', ');
    lines.push(`| \`${row.method} ${row.path}\` | \`${row.file}\` | ${tests} |`);
  }
  return `${lines.join('\n')}\n`;
}
