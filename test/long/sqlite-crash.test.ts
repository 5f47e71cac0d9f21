import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { copyFileSync, fdatasync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { openSqlite } from '../../src/storage/sql/sqlite/open.ts';

describe('a crash', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'turnpike-crash-'));
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  it('of the process loses nothing that was acknowledged and leaves no half transaction', async () => {
    const path = join(folder, 'crash.db');
    const acknowledged = new Set<string>();
    for (const killAfter of [1, 40, 700, 3_000, 333]) {
      for (const line of await writeUntilKilled(path, killAfter)) acknowledged.add(line);
      const database = new DatabaseSync(path);
      const rows = database
        .prepare('SELECT process, writer, turn, count(*) AS halves FROM rows GROUP BY 1, 2, 3')
        .all();
      const check = database.prepare('PRAGMA integrity_check').get();
      database.close();
      assert.deepEqual({ ...check }, { integrity_check: 'ok' });
      const found = new Set(rows.map((row) => `${row.process} ${row.writer} ${row.turn}`));
      assert.deepEqual(
        rows.filter((row) => row.halves !== 2),
        [],
      );
      assert.deepEqual(
        [...acknowledged].filter((line) => !found.has(line)),
        [],
      );
    }
    assert.ok(acknowledged.size > 4_000);
  });

  it('of the machine loses nothing that was acknowledged', async () => {
    // What a power failure leaves: the files as they were when the last sync that completed began.
    const path = join(folder, 'power.db');
    let taken = 0;
    let durable = '';
    const sql = openSqlite(path, [{ id: 'power-001', up: 'CREATE TABLE rows (n BIGINT);' }], {
      datasync(descriptor, done) {
        taken += 1;
        const copy = join(folder, `copy-${taken}.db`);
        copyFileSync(path, copy);
        copyFileSync(`${path}-wal`, `${copy}-wal`);
        fdatasync(descriptor, (error) => {
          durable = copy;
          done(error);
        });
      },
    });
    const acknowledged: number[] = [];
    const afterPowerFailure = (): Set<unknown> => {
      const database = new DatabaseSync(durable);
      const rows = database.prepare('SELECT n FROM rows').all();
      database.close();
      return new Set(rows.map((row) => row.n));
    };
    let next = 0;
    for (let round = 0; round < 15; round += 1) {
      await Promise.all(
        Array.from({ length: round * 3 + 1 }, async () => {
          const n = next++;
          await sql.run('INSERT INTO rows VALUES (?)', n);
          acknowledged.push(n);
          if (n % 20 === 0) {
            const seen = await sql.all<{ n: number }>('SELECT n FROM rows');
            const there = afterPowerFailure();
            assert.deepEqual(
              seen.filter((row) => !there.has(row.n)),
              [],
              'what was read',
            );
            assert.deepEqual(
              acknowledged.filter((id) => !there.has(id)),
              [],
              'what was acknowledged',
            );
          }
        }),
      );
    }
    assert.ok(taken >= 15);
    await sql.close();
  });
});

/** The transactions that a process had acknowledged when it was killed, some time after so many. */
function writeUntilKilled(path: string, killAfter: number): Promise<string[]> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [join(import.meta.dirname, '../support/sqlite-writer.ts'), path], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    let lines = 0;
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      lines += text.split('\n').length - 1;
      if (lines >= killAfter) child.kill('SIGKILL');
    });
    child.on('error', reject);
    child.on('close', (code, signal) => {
      if (signal === 'SIGKILL') resolve(output.split('\n').slice(0, -1));
      else reject(new Error(`the writer ended by itself: ${code}`));
    });
  });
}
