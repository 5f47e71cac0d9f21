/** docs/routes.md and the tables of docs/security.md have a row for every route of every server, and no other. */
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, it } from 'node:test';
import { inOneSpelling, routesOfStack } from '../test/support/all-routes.ts';
import { routeRows, routesPage, routesPath } from './routes-page.ts';

const text = readFileSync(resolve(import.meta.dirname, '../docs/security.md'), 'utf8');
const everywhere = 'Every server';
/** The pages, the ledger and the control of the local network have no documents of their own. */
const withoutDocuments = new Set(['admin', 'console', 'solana', 'local']);

/** `server METHOD /path` of each row, by the heading above its table. */
function routesOfRows(markdown: string): string[] {
  const [, tables = ''] = markdown.split('\n## Every route\n');
  const [own = ''] = tables.split('\n## ', 1);
  return own.split('\n### ').flatMap((section) => {
    const [server = ''] = section.split('\n', 1);
    const rows = section.split('\n').filter((line) => line.startsWith('| `'));
    return rows.flatMap((row) => {
      const cells = row.split('|').map((cell) => cell.trim());
      assert.equal(cells.length, 7, `a row has five cells: ${row}`);
      for (const cell of cells.slice(1, -1)) assert.notEqual(cell, '', `an empty cell: ${row}`);
      return [...(cells[1] ?? '').matchAll(/`([A-Z]+ \/[^`]*)`/g)].map(([, route]) => `${server} ${route}`);
    });
  });
}

/** What a guard answers below its prefix where there is no route: refused as those are that have a row. */
function isRestOf(route: string, documented: ReadonlySet<string>): boolean {
  const [, server, prefix] = /^(\S+) ANY (\/.+?)(?:\/\*)?$/.exec(route) ?? [];
  if (server === undefined || prefix === undefined || prefix === '/*') return false;
  return [...documented].some((row) => row.startsWith(`${server} `) && row.includes(` ${prefix}/`));
}

const routesNow = routesOfStack();

describe('docs/routes.md', () => {
  it('is what `npm run docs` writes, and every route has a file and a test', async () => {
    const rows = routeRows(await routesNow);
    assert.equal(readFileSync(routesPath, 'utf8'), routesPage(rows));
    assert.deepEqual(
      rows.filter(({ tests }) => tests.length === 0).map(({ method, path }) => `${method} ${path}`),
      [],
    );
  });
});

describe('docs/security.md', () => {
  const rows = routesOfRows(text);

  it('has one row for every route that a stack answers, and no other', async () => {
    const routes = (await routesNow).map(({ name }) => name);
    const servers = new Set(routes.map((route) => route.split(' ', 1)[0] ?? ''));
    const shared = rows.filter((row) => row.startsWith(everywhere));
    const own = rows.filter((row) => !row.startsWith(everywhere));
    const documented = new Set([
      ...own,
      ...[...servers]
        .filter((server) => !withoutDocuments.has(server))
        .flatMap((server) => shared.map((row) => row.replace(everywhere, server))),
    ]);
    assert.deepEqual(
      routes.filter((route) => !documented.has(route) && !isRestOf(route, documented)),
      [],
      'these routes have no row',
    );
    assert.deepEqual(
      [...documented].filter((route) => !routes.includes(route)),
      [],
      'these rows have no route',
    );
  });

  it('names no route twice', () => {
    assert.deepEqual(rows.length, new Set(rows).size);
  });
});

describe('routes in one spelling', () => {
  it('are told once by all the names that clients call them', () => {
    const found = new Map([
      ['gateway /gw/info', new Set(['GET', 'HEAD'])],
      ['gateway /ar-io/info', new Set(['GET'])],
      ['upload /v1/tx', new Set(['POST'])],
      ['upload /tx', new Set(['POST'])],
      ['upload /only', new Set(['GET'])],
      ['router /*', new Set(['GET', 'HEAD', 'POST', 'PUT', 'DELETE'])],
    ]);
    assert.deepEqual(inOneSpelling(found), [
      'gateway GET /gw/info',
      'upload POST /v1/tx',
      'upload GET /only',
      'router ANY /*',
    ]);
  });
});
