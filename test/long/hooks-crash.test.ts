import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { appendEvents } from '../../src/events/event-log.ts';
import { eventMigrations } from '../../src/events/migrations.ts';
import { testRow } from '../../src/events/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';
import { itOnEngine } from '../../src/storage/sql/testing.ts';
import { eventually } from '../support/eventually.ts';

const kills = 2;
const rows = 60;

/** Kills the sender again and again, before or after its receiver answered. */
async function survivesKills(databaseUrl: string | undefined, dataDir: string, name: string): Promise<void> {
  const messages = new Map<string, string>();
  const received: string[] = [];
  let child: ChildProcess | undefined;
  let killed = 0;
  const receiver = createServer(async (request, response) => {
    const parts: Buffer[] = [];
    for await (const part of request) parts.push(part);
    const text = Buffer.concat(parts).toString();
    const id = String(request.headers['webhook-id']);
    assert.equal(messages.get(id) ?? text, text, 'a message that comes again is the same');
    if (!messages.has(id)) {
      const { events }: { events: { id: string; type: string }[] } = JSON.parse(text);
      received.push(...events.flatMap((event) => (event.type === 'ping' ? [] : [event.id])));
    }
    messages.set(id, text);
    const isDue = killed < kills && received.length > ((killed + 1) * rows) / (kills + 2);
    if (!isDue) return void response.writeHead(204).end();
    killed += 1;
    // Every other time it has its answer, and cannot write it down any more.
    if (killed % 2 === 0) response.writeHead(204).end();
    child?.kill('SIGKILL');
  });
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const sql = await openDatabase({ databaseUrl, dataDir, name, migrations: eventMigrations });
  const script = join(import.meta.dirname, '../support/hooks-process.ts');
  const start = async (): Promise<void> => {
    child = spawn(process.execPath, [script, databaseUrl ?? '-', dataDir, name, url], {
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    child.once('exit', (_code, signal) => {
      if (signal === 'SIGKILL' && received.length < rows) void start();
    });
    await once(child.stdout ?? child, 'data');
  };
  try {
    await start();
    for (let row = 0; row < rows; row += 1) {
      await sql.transaction((tx) => appendEvents(tx, [testRow('a', [row])], Date.now()));
      // Several messages, not one of all.
      if (row % 20 === 19) await eventually('the row to be told', () => received.length > row);
    }
    assert.deepEqual(
      received,
      Array.from({ length: rows }, (_, row) => `${row + 1}-1`),
    );
    assert.equal(killed, kills);
  } finally {
    child?.removeAllListeners('exit');
    child?.kill('SIGKILL');
    await sql.close();
    receiver.closeAllConnections();
    receiver.close();
  }
}

itOnEngine('a sender that is killed again and again tells every event once and in order', survivesKills);
