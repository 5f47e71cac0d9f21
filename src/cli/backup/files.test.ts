import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { readKeys, writeKeys } from './files.ts';

test('keys that settings name or hold are kept with those that were made, and come back beside them', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-keys-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const [from, to] = [join(folder, 'from'), join(folder, 'to')];
  mkdirSync(join(from, 'keys', 'given'), { recursive: true });
  writeFileSync(join(from, 'keys', 'receipt-key.pem'), 'made', { mode: 0o600 });
  writeFileSync(join(from, 'keys', 'given', 'RECEIPT_KEY_FILE'), 'of an earlier restore');
  const wallet = join(folder, 'wallet.json');
  writeFileSync(wallet, '{"of":"the operator"}\n', { mode: 0o600 });
  const config = readConfig({ DATA_DIR: from, SERVICE_WALLET_FILE: wallet, JWT_SECRET: 'a secret' });

  const keys = readKeys(from, config);
  assert.deepEqual([...keys.keys()].sort(), [
    'given/JWT_SECRET',
    'given/SERVICE_WALLET_FILE',
    'receipt-key.pem',
  ]);
  const given = await writeKeys(to, keys);
  assert.deepEqual(given.sort(), [
    join(to, 'keys', 'given', 'JWT_SECRET'),
    join(to, 'keys', 'given', 'SERVICE_WALLET_FILE'),
  ]);
  assert.equal(readFileSync(join(to, 'keys', 'receipt-key.pem'), 'utf8'), 'made');
  assert.equal(readFileSync(given[1] ?? '', 'utf8'), '{"of":"the operator"}\n');
  assert.equal(statSync(given[1] ?? '').mode & 0o777, 0o600);
});

test('a key that settings name and nobody can read is told, and no name of a backup leaves the folder', async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-keys-'));
  t.after(() => rmSync(folder, { recursive: true, force: true }));
  const config = readConfig({ DATA_DIR: folder, DATA_KEY_FILE: join(folder, 'gone.pem') });
  assert.throws(() => readKeys(folder, config), /^StartupError: DATA_KEY_FILE .*: the backup would lack it$/);
  for (const name of ['given/../x', 'given/x', 'other/JWT_SECRET', '../JWT_SECRET', 'given/JWT_SECRET/..']) {
    await assert.rejects(writeKeys(folder, new Map([[name, Buffer.from('x')]])), /strange name/, name);
  }
});
