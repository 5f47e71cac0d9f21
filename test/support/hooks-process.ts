/** A process that sends events to webhooks, for tests that kill it. Arguments: database url or `-`, folder, name, address. */

import { Hooks } from '../../src/events/hooks/hooks.ts';
import { LiveFeed } from '../../src/events/live-feed.ts';
import { eventMigrations } from '../../src/events/migrations.ts';
import { testSource } from '../../src/events/testing.ts';
import { silentLog } from '../../src/kernel/testing.ts';
import { openDatabase } from '../../src/storage/sql/open.ts';

const [databaseUrl = '-', dataDir = '', name = '', url = ''] = process.argv.slice(2);
const sql = await openDatabase({
  databaseUrl: databaseUrl === '-' ? undefined : databaseUrl,
  dataDir,
  name,
  migrations: eventMigrations,
});
const source = testSource();
const feed = new LiveFeed({ sql, source, log: silentLog, retentionMs: 3_600_000 });
const none = { inc() {} };
const day = 86_400_000;
const hooks = new Hooks({
  ...{ sql, feed, source, log: silentLog, metrics: { delivered: none, failed: none, dead: none } },
  limits: {
    ...{ maxHooks: 5, maxPerOwner: 5, timeoutMs: 5_000, allowPrivate: true, giveUpMs: day, endAfterMs: day },
    ...{ maxDeadLetters: 5, keepDeadLettersMs: day, leaseMs: 300 },
  },
});
const parts = [feed.part, hooks.part];
for (const part of parts) await part.start?.();
if ((await hooks.list('')).length === 0) await hooks.add('', { url });
for (const job of parts.flatMap(({ jobs = [] }) => jobs)) job.start();
console.log('started');
