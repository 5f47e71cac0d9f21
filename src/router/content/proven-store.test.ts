import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { it, type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createLogger } from '../../kernel/log.ts';
import { openSqliteFile } from '../../storage/sql/open.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { type ProvenContent, ProvenStore, provenMigrations } from './proven-store.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const limits = { content: 3, names: 2 };

const known = (verifiedAt: number): ProvenContent => ({
  digest: 'd'.repeat(64),
  size: 5,
  contentType: 'text/plain',
  contentEncoding: undefined,
  method: 'quorum',
  by: ['http://a', 'http://b'],
  verifiedAt,
});
const name = (resolvedAt: number) => ({
  id: 'x'.repeat(43),
  antId: undefined,
  ttlSeconds: 60,
  by: ['http://a'],
  resolvedAt,
});

function folderFor(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-known-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

async function opened(folder: string, most = limits): Promise<ProvenStore> {
  const open = () => openSqliteFile(join(folder, 'known.db'), provenMigrations);
  const store = new ProvenStore(open, log, most);
  await store.start();
  assert.equal(store.problem, undefined);
  return store;
}

/** What a store that is opened anew finds on the disk. */
async function onDisk(folder: string, ids: readonly string[], labels: readonly string[]): Promise<string[]> {
  const store = await opened(folder, { content: 1_000, names: 1_000 });
  const found: string[] = [];
  for (const id of ids) if ((await store.get(id)) !== undefined) found.push(id);
  for (const label of labels) if ((await store.load(label)) !== undefined) found.push(label);
  await store.stop();
  return found;
}

test('what was proven and resolved longest ago leaves while the router runs', async (t) => {
  const folder = folderFor(t);
  const store = await opened(folder);
  store.set('c', known(3));
  store.set('a', known(1));
  store.set('b', known(2));
  store.save('first', name(1));
  store.save('second', name(2));
  await eventually('the rows are written', async () => (await store.load('second')) !== undefined);
  store.save('third', name(3));
  store.set('d', known(4));
  store.set('e', known(5));
  // Two of the same row are one row.
  store.set('e', known(6));
  await eventually('the later rows are written', async () => (await store.load('third')) !== undefined);
  assert.equal(await store.load('first'), undefined);
  // Forgotten rows make room: the next one pushes nobody out.
  store.forget('d');
  store.remove('second');
  store.save('fourth', name(4));
  store.set('f', known(7));
  await store.stop();
  assert.deepEqual(
    await onDisk(folder, ['a', 'b', 'c', 'd', 'e', 'f'], ['first', 'second', 'third', 'fourth']),
    ['c', 'e', 'f', 'third', 'fourth'],
  );
});

test('a file with more rows than may be kept is trimmed when it is opened', async (t) => {
  const folder = folderFor(t);
  const large = await opened(folder, { content: 100, names: 100 });
  for (let at = 1; at <= 9; at += 1) large.set(`i${at}`, known(at));
  await large.stop();
  await (await opened(folder)).stop();
  const ids = Array.from({ length: 9 }, (_, index) => `i${index + 1}`);
  assert.deepEqual(await onDisk(folder, ids, []), ['i7', 'i8', 'i9']);
});

test('what is kept is read back as it was', async (t) => {
  const folder = folderFor(t);
  const store = await opened(folder);
  store.set('a', known(1));
  store.set('a', { ...known(2), contentEncoding: 'gzip', method: 'signature', by: [] });
  await store.stop();
  const again = await opened(folder);
  assert.deepEqual(await again.get('a'), {
    ...known(2),
    contentEncoding: 'gzip',
    method: 'signature',
    by: [],
  });
  await again.stop();
});

forEachEngine((_engine, open) => {
  it('stays within its limits where several routers add to it', async () => {
    const start = async () => {
      const store = new ProvenStore(() => open(provenMigrations, 'known'), log, { content: 5, names: 5 });
      await store.start();
      assert.equal(store.problem, undefined);
      return store;
    };
    const [one, two] = [await start(), await start()];
    for (let at = 1; at <= 8; at += 1) {
      one.set(`one ${at}`, known(at * 2));
      two.set(`two ${at}`, known(at * 2 + 1));
    }
    await one.stop();
    await two.stop();
    const sql = await open(provenMigrations, 'known');
    const rows = await sql.all('SELECT verified_at FROM known_content ORDER BY verified_at');
    assert.deepEqual(
      rows,
      [13, 14, 15, 16, 17].map((verifiedAt) => ({ verified_at: verifiedAt })),
    );
    const later = await start();
    assert.equal((await later.get('two 8'))?.verifiedAt, 17, 'what another proved is known');
    await later.stop();
  });
});
