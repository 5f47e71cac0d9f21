/**
 * A data folder that an earlier release left, with a wallet's credits, an upload that is permanent and a name
 * (`test/support/earlier-release.tar.gz`, of 15 November 2026): today's program opens it and keeps every row; and the way
 * back loses nothing either.
 */
import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { ledgerMigrations } from '../../src/cli/ledger-database.ts';
import { gatewayMigrations } from '../../src/gateway/migrations.ts';
import { StartupError } from '../../src/kernel/errors.ts';
import { openSqliteFile } from '../../src/storage/sql/open.ts';
import { eventually } from '../support/eventually.ts';
import { runTurnpike } from '../support/run-command.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const packed = resolve(import.meta.dirname, '../support/earlier-release.tar.gz');
const wallet = 'Tio37p1A0QlK2jt22iVyyqakxBji6IZ-1K591idMAII';
const item = 'k8GcxNnHso-6b3bZ3BPNqKIscrAdtyCCi1avUNsScVc';
const databases = ['ledger', 'gateway'] as const;

/** What a running program changes: who holds what now, where it was last, what is measured. */
const volatile = new Set([
  'schema_migrations',
  'sqlite_sequence',
  'leases',
  'upload_leases',
  'operator_jobs',
  'card_cursor',
  'chain_state',
]);

/** A table whose rows a migration took to another one, and how they are found there. */
const moved = {
  table: 'arns_spent_nonce',
  left: `SELECT n.signer || ' ' || n.nonce AS lost FROM earlier.arns_spent_nonce n WHERE NOT EXISTS
    (SELECT 1 FROM spent_signatures s WHERE s.signer = n.signer AND s.key = LOWER(n.nonce))`,
} as const;

type Rows = Map<string, { readonly columns: readonly string[]; readonly rows: readonly string[] }>;

/** Every row of every table, as text, by the columns that it has there or that are asked for. */
function rowsOf(path: string, asked?: Rows): Rows {
  const database = new DatabaseSync(path, { readOnly: true });
  try {
    const tables = database
      .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")
      .all()
      .map(({ name }) => String(name))
      .filter(
        (name) => !volatile.has(name) && name !== moved.table && (asked === undefined || asked.has(name)),
      );
    return new Map(
      tables.map((table) => {
        const all = database.prepare(`SELECT name FROM pragma_table_info(?)`).all(table);
        const columns = asked?.get(table)?.columns ?? all.map(({ name }) => String(name));
        const listed = columns.map((name) => `quote("${name}")`).join(` || ',' || `);
        const rows = database.prepare(`SELECT ${listed} AS row FROM "${table}" ORDER BY row`).all();
        return [table, { columns, rows: rows.map(({ row }) => String(row)) }];
      }),
    );
  } finally {
    database.close();
  }
}

/** Rows of before that are not there any more, each with its table. */
function lost(before: Rows, now: Rows): string[] {
  return [...before].flatMap(([table, { rows }]) => {
    const left = new Set(now.get(table)?.rows ?? []);
    return rows.filter((row) => !left.has(row)).map((row) => `${table}: ${row.slice(0, 200)}`);
  });
}

const lists = [
  ['ledger', ledgerMigrations],
  ['gateway', gatewayMigrations],
] as const;

/** The migrations that a database has had. */
function idsOf(path: string): string[] {
  const database = new DatabaseSync(path, { readOnly: true });
  const rows = database.prepare('SELECT id FROM schema_migrations ORDER BY id').all();
  database.close();
  return rows.map(({ id }) => String(id));
}

let folder: string;
/** A copy that only the databases are opened of. */
let migrated: string;
let original: Record<(typeof databases)[number], Rows>;
let stack: RunningStack | undefined;

before(() => {
  folder = mkdtempSync(join(tmpdir(), 'turnpike-earlier-'));
  assert.equal(spawnSync('tar', ['xzf', packed, '-C', folder]).status, 0);
  migrated = mkdtempSync(join(tmpdir(), 'turnpike-migrated-'));
  cpSync(folder, migrated, { recursive: true });
  original = {
    ledger: rowsOf(join(folder, 'ledger.db')),
    gateway: rowsOf(join(folder, 'gateway.db')),
  };
});
after(async () => {
  await stack?.end();
  for (const one of [folder, migrated]) rmSync(one, { recursive: true, force: true });
});

describe('a data folder of an earlier release', () => {
  it('has something to lose', () => {
    const count = (rows: Rows) => [...rows.values()].reduce((sum, one) => sum + one.rows.length, 0);
    assert.ok(count(original.ledger) >= 10 && count(original.gateway) >= 50);
  });

  it('is brought up to date without a row less, and without a value changed', async () => {
    for (const [name, migrations] of lists) {
      const path = join(migrated, `${name}.db`);
      await (await openSqliteFile(path, migrations)).close();
      assert.deepEqual(lost(original[name], rowsOf(path, original[name])), []);
    }
    const ledger = new DatabaseSync(join(migrated, 'ledger.db'));
    ledger.exec(`ATTACH DATABASE '${join(folder, 'ledger.db')}' AS earlier`);
    assert.equal(ledger.prepare(`SELECT count(*) AS count FROM earlier.${moved.table}`).get()?.count, 1);
    assert.deepEqual(ledger.prepare(moved.left).all(), []);
    ledger.close();
  });

  it('that is up to date is refused by the earlier release in one line, which changes nothing', async () => {
    for (const [name, migrations] of lists) {
      const path = join(migrated, `${name}.db`);
      const known = idsOf(join(folder, `${name}.db`));
      const earlier = migrations.filter(({ id }) => known.includes(id));
      assert.ok(earlier.length < migrations.length);
      const [ids, rows] = [idsOf(path), rowsOf(path)];
      await assert.rejects(
        openSqliteFile(path, earlier),
        (error: Error) =>
          error instanceof StartupError && /this version does not know: start the newer/.test(error.message),
      );
      assert.deepEqual(idsOf(path), ids);
      assert.deepEqual(rowsOf(path), rows);
    }
  });

  it('is served on: the balance, the item and the name are what they were, and the ledger adds up', async () => {
    stack = await startStack({ dataDir: folder });
    const { payment, gateway, router } = stack.urls;
    const balance = await (await fetch(`${payment}/v1/account/balance?address=${wallet}`)).json();
    assert.equal((balance as { winc: string }).winc, '18806250435103');
    const read = async (url: string, headers = {}) => (await fetch(url, { headers })).text();
    await eventually(
      'the item is read',
      async () => (await read(`${gateway}/raw/${item}`)) === 'kept by an earlier release\n',
    );
    assert.equal(await read(`${router}/${item}`), 'kept by an earlier release\n');
    await eventually('the name leads to it', async () => {
      const answer = await fetch(`${gateway}/ar-io/resolver/kept-name`);
      return answer.ok && ((await answer.json()) as { txId: string }).txId === item;
    });
    const environment = { ...freePorts(), DATA_DIR: folder };
    const checked = await runTurnpike(['ledger', 'check'], environment);
    assert.equal(checked.code, 0, checked.out + checked.error);
    assert.equal(await stack.end(), 0);
  });

  it('has every row still after the program ran on it', () => {
    // A row that the program goes on with is the same row: its key is there, whatever else changed in it.
    for (const name of databases) {
      const path = join(folder, `${name}.db`);
      assert.ok(existsSync(path));
      const now = rowsOf(path, original[name]);
      for (const [table, { rows }] of original[name]) {
        assert.ok((now.get(table)?.rows.length ?? 0) >= rows.length, `${name}.${table}`);
      }
    }
    const ledger = rowsOf(join(folder, 'ledger.db'), original.ledger);
    const money = ['credits_accounts', 'credits_entries', 'credits_spendings', 'arns_action', 'arns_receipt'];
    const kept: Rows = new Map([...original.ledger].filter(([table]) => money.includes(table)));
    assert.equal(kept.size, money.length);
    assert.deepEqual(lost(kept, ledger), []);
  });
});
