import assert from 'node:assert/strict';
import { appendFileSync, mkdtempSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { AuditLog, fingerprintOf, readAuditQuery } from './audit-log.ts';
import { silentLog } from './testing.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-audit-'));
after(() => rmSync(folder, { recursive: true, force: true }));
const actor = { who: fingerprintOf('the key'), via: 'api', from: '192.0.2.1' } as const;

test('keeps bounded lines for the operator alone, newest first, and what earlier releases wrote', async () => {
  const path = join(folder, 'audit.jsonl');
  const audit = new AuditLog(path, 'gateway', silentLog);
  assert.deepEqual(await audit.read({ limit: 10 }), []);
  appendFileSync(
    path,
    `{"at":"2020-01-01T00:00:00.000Z","actor":"api","action":"block","type":"txid","value":"x","reason":"law","source":"api"}\n`,
    { mode: 0o600 },
  );
  const huge = 'é'.repeat(100_000);
  await audit.record({ ...actor, action: 'block', value: huge, source: huge, notes: huge, result: huge });
  await audit.record({ ...actor, action: 'export', given: { outputDir: huge }, result: 'done' });
  appendFileSync(path, '{"at":"2030-01-01T00:00:00.000Z","action":"cut sho');
  assert.equal(statSync(path).mode & 0o077, 0);
  assert.ok(statSync(path).size < 16_000);
  const lines = await audit.read({ limit: 10 });
  assert.deepEqual(
    lines.map(({ action, who }) => [action, who]),
    [
      ['export', actor.who],
      ['block', actor.who],
      ['block', 'api'],
    ],
  );
  const { kind, value, notes, via, surface } = lines[2] ?? {};
  assert.deepEqual([kind, value, notes, via, surface], ['txid', 'x', 'law', 'api', 'gateway']);
  assert.equal((await audit.read({ limit: 1 }))[0]?.action, 'export');
  assert.equal((await audit.read({ limit: 10, since: Date.parse('2021-01-01') })).length, 2);
});

test('says where a line could not be written, and goes on', async () => {
  const audit = new AuditLog(join(folder, 'audit.jsonl', 'below a file'), 'gateway', silentLog);
  await audit.record({ ...actor, action: 'block', result: 'done' });
  assert.match(audit.problems()[0] ?? '', /audit log/);
});

test('a question that makes no sense is none', () => {
  assert.deepEqual(readAuditQuery({}), { since: undefined, limit: 100 });
  assert.deepEqual(readAuditQuery({ since: '2020-01-01', limit: '7' }), {
    since: Date.parse('2020-01-01'),
    limit: 7,
  });
  for (const bad of [{ since: 'soon' }, { limit: '0' }, { limit: '1001' }, { limit: '1.5' }]) {
    assert.equal(readAuditQuery(bad), undefined, JSON.stringify(bad));
  }
});
