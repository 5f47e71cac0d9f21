import assert from 'node:assert/strict';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { StartupError } from '../errors.ts';
import { openAuthority, readKeyPair, tlsKeysOf } from './tls-keys.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-keys-'));
after(() => rmSync(folder, { recursive: true }));
const file = (name: string): string => join(folder, name);

test('the local world has an authority of its own, others have none unless they ask for it', async () => {
  for (const [WORLD, answers] of [
    ['local', true],
    ['testnet', false],
    ['public', false],
  ] as const) {
    assert.equal(tlsKeysOf(readConfig({ WORLD, DATA_DIR: folder })) !== undefined, answers, WORLD);
  }
  assert.equal(tlsKeysOf(readConfig({ LOCAL_TLS: 'false', DATA_DIR: folder })), undefined);
  assert.ok(!existsSync(file('tls')), 'nothing is made before somebody asks');
  const keys = tlsKeysOf(readConfig({ DATA_DIR: folder }));
  const [one, two] = await Promise.all([keys?.keyPairFor(undefined), keys?.keyPairFor('localhost')]);
  assert.equal(one?.cert, two?.cert);
  assert.ok(existsSync(file('tls')));
});

test('files of the operator come first, in every world', async () => {
  const pair = await (await openAuthority(readConfig({ DATA_DIR: folder }))).keyPairFor(undefined);
  writeFileSync(file('own.pem'), pair.cert);
  writeFileSync(file('own-key.pem'), pair.key);
  const files = { TLS_CERTIFICATE_FILE: file('own.pem'), TLS_KEY_FILE: file('own-key.pem') };
  for (const WORLD of ['local', 'public']) {
    const keys = tlsKeysOf(readConfig({ ...files, WORLD, DATA_DIR: file('elsewhere') }));
    assert.deepEqual(await keys?.keyPairFor('any.example'), pair);
  }
  assert.ok(!existsSync(file('elsewhere')));
});

test('a certificate without its key, or that is none, is refused with its variables', async () => {
  assert.throws(() => readConfig({ TLS_KEY_FILE: 'x' }), /must be set together/);
  const other = await openAuthority(readConfig({ DATA_DIR: file('other') }));
  writeFileSync(file('other-key.pem'), (await other.keyPairFor(undefined)).key);
  writeFileSync(file('text.pem'), 'hello');
  for (const [certificate, key] of [
    ['own.pem', 'other-key.pem'],
    ['text.pem', 'own-key.pem'],
    ['own.pem', 'missing.pem'],
  ] as const) {
    assert.throws(
      () => readKeyPair(file(certificate), file(key)),
      (error) => error instanceof StartupError && error.message.startsWith('TLS_CERTIFICATE_FILE'),
    );
  }
});
