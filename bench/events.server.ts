/**
 * The servers that events.bench.ts compares: `feed` follows a log of events, `bare` is node:http that keeps an answer open.
 * By message: `memory` tells what the process holds, `append` lets one event happen.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { readConfig } from '../src/config/config.ts';
import { appendEvents } from '../src/events/event-log.ts';
import { eventMigrations } from '../src/events/migrations.ts';
import { createEvents } from '../src/events/part.ts';
import { testRow, testSource } from '../src/events/testing.ts';
import { Metrics } from '../src/kernel/metrics.ts';
import { silentLog, testServer } from '../src/kernel/testing.ts';
import { openDatabase } from '../src/storage/sql/open.ts';

setFlagsFromString('--expose-gc');
const collectGarbage: () => void = runInNewContext('gc');
const [mode] = process.argv.slice(2);
const folder = mkdtempSync(join(tmpdir(), 'turnpike-bench-events-'));
const { url, append } = await (mode === 'bare' ? startBare() : startFeed());

process.on('message', async (message) => {
  if (message === 'append') await append();
  if (message !== 'memory') return;
  for (let round = 0; round < 4; round += 1) collectGarbage();
  const { rss, heapUsed, external } = process.memoryUsage();
  process.send?.({ kind: 'memory', rss, heapUsed, external });
});
process.on('disconnect', () => {
  rmSync(folder, { recursive: true, force: true });
  process.exit(0);
});
process.send?.({ kind: 'listening', url });

async function startFeed() {
  const config = readConfig({ DATA_DIR: folder, EVENTS_MAX_READERS_PER_NETWORK: '20000' });
  const sql = await openDatabase({
    databaseUrl: undefined,
    dataDir: folder,
    name: 'events',
    migrations: eventMigrations,
  });
  const metrics = new Metrics();
  const events = createEvents({ config, sql, source: testSource(), log: silentLog, metrics });
  const server = testServer({ metrics, maxConnections: 30_000 });
  server.app.get('/events', async (request, reply) => {
    await events.streams.send(request, reply, { after: undefined, query: { key: 'all' } });
    return reply;
  });
  for (const part of events.parts) await part.start?.();
  await server.listen();
  for (const job of events.parts.flatMap(({ jobs = [] }) => jobs)) job.start();
  return {
    url: server.url,
    async append() {
      await sql.transaction((tx) => appendEvents(tx, [testRow('a', [1])], Date.now()));
      events.feed.wake();
    },
  };
}

async function startBare() {
  const open = new Set<ServerResponse>();
  const server = createServer((_request, response) => {
    open.add(response);
    response.writeHead(200, { 'content-type': 'text/event-stream' }).write(':\n\n');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', 1024, resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async append() {
      for (const response of open) response.write('data: {"n":1}\n\n');
    },
  };
}
