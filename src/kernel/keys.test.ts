import assert from 'node:assert/strict';
import { constants, createPrivateKey, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import { chmod, mkdir, mkdtemp, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { StartupError } from './errors.ts';
import { makeFastRsaKey } from './fast-rsa-key.ts';
import { makeEd25519Key, makeToken, readOrCreateKey } from './keys.ts';

describe('key files', () => {
  let root: string;
  let count = 0;
  const folder = () => join(root, `keys-${count++}`);
  before(async () => {
    root = await mkdtemp(join(tmpdir(), 'turnpike-keys-'));
  });
  after(() => rm(root, { recursive: true, force: true }));

  test('a key is made once, for its owner only, and read from then on', async () => {
    const dir = folder();
    const first = await readOrCreateKey(dir, 'admin-key', makeToken);
    assert.equal(first.made, true);
    assert.match(first.text, /^[\w-]{43}$/);
    assert.equal((await stat(first.path)).mode & 0o777, 0o600);
    assert.equal((await stat(dir)).mode & 0o777, 0o700);
    const second = await readOrCreateKey(dir, 'admin-key', () => assert.fail('made again'));
    assert.deepEqual(second, { ...first, made: false });
    assert.deepEqual(await readdir(dir), ['admin-key']);
  });

  test('many starts at the same time agree on one key', async () => {
    const dir = folder();
    const keys = await Promise.all(
      Array.from({ length: 20 }, () => readOrCreateKey(dir, 'token', makeToken)),
    );
    assert.equal(new Set(keys.map((key) => key.text)).size, 1);
    assert.equal(keys.filter((key) => key.made).length, 1);
    assert.deepEqual(await readdir(dir), ['token']);
  });

  test('a key that others may read is refused with what to do, and left as it is', async () => {
    const dir = folder();
    const { path, text } = await readOrCreateKey(dir, 'token', makeToken);
    for (const mode of [0o640, 0o604, 0o644, 0o660]) {
      await chmod(path, mode);
      await assert.rejects(readOrCreateKey(dir, 'token', makeToken), (error) => {
        assert.ok(error instanceof StartupError);
        assert.match(error.message, /open to other users .*chmod 600/);
        assert.ok(!error.message.includes(text));
        return true;
      });
    }
    assert.equal((await readFile(path, 'utf8')).trim(), text);
  });

  test('a folder that others may write to is refused', async () => {
    const dir = folder();
    await mkdir(dir);
    await chmod(dir, 0o770);
    await assert.rejects(readOrCreateKey(dir, 'token', makeToken), /writable by other users .*chmod 700/);
    assert.deepEqual(await readdir(dir), []);
  });

  test('an empty, over-large or odd file is refused, never replaced', async () => {
    const dir = folder();
    await mkdir(join(dir, 'folder'), { recursive: true, mode: 0o700 });
    await writeFile(join(dir, 'empty'), '\n', { mode: 0o600 });
    await writeFile(join(dir, 'large'), 'x'.repeat(65 * 1024), { mode: 0o600 });
    await assert.rejects(readOrCreateKey(dir, 'empty', makeToken), /is empty/);
    await assert.rejects(readOrCreateKey(dir, 'large', makeToken), /too large/);
    await assert.rejects(readOrCreateKey(dir, 'folder', makeToken), /is not a file/);
    await assert.rejects(readOrCreateKey(dir, '../outside', makeToken), /not a name/);
    assert.equal(await readFile(join(dir, 'empty'), 'utf8'), '\n');
    assert.deepEqual((await readdir(dir)).sort(), ['empty', 'folder', 'large']);
  });

  test('when making the key fails nothing is left behind', async () => {
    const dir = folder();
    await assert.rejects(
      readOrCreateKey(dir, 'token', () => Promise.reject(new Error('no entropy'))),
      /no entropy/,
    );
    assert.deepEqual(await readdir(dir), []);
  });
});

describe('key makers', () => {
  test('tokens are 256 bits and differ', () => {
    assert.notEqual(makeToken(), makeToken());
    assert.equal(Buffer.from(makeToken(), 'base64url').length, 32);
  });

  test('an Ed25519 key signs what its public key verifies', async () => {
    const key = createPrivateKey(await makeEd25519Key());
    assert.equal(key.asymmetricKeyType, 'ed25519');
    const message = Buffer.from('message');
    assert.ok(verify(null, message, createPublicKey(key), sign(null, message, key)));
  });

  test('the service RSA key has four primes and is an ordinary 4096-bit key to every verifier', async () => {
    const pem = await makeFastRsaKey();
    const key = createPrivateKey(pem);
    const publicKey = createPublicKey(key);
    assert.deepEqual(key.asymmetricKeyDetails, { modulusLength: 4096, publicExponent: 65537n });
    const { n = '', e } = publicKey.export({ format: 'jwk' });
    assert.deepEqual([Buffer.from(n, 'base64url').length, e], [512, 'AQAB']);

    const message = Buffer.from('a receipt');
    const pss = { padding: constants.RSA_PKCS1_PSS_PADDING, saltLength: 32 };
    const signature = sign('sha256', message, { key, ...pss });
    assert.ok(verify('sha256', message, { key: publicKey, ...pss }, signature));
    assert.ok(!verify('sha256', Buffer.from('another'), { key: publicKey, ...pss }, signature));
    const name = { name: 'RSA-PSS', hash: 'SHA-256' };
    const imported = await crypto.subtle.importKey('jwk', { kty: 'RSA', n, e: 'AQAB' }, name, false, [
      'verify',
    ]);
    assert.ok(await crypto.subtle.verify({ name: 'RSA-PSS', saltLength: 32 }, imported, signature, message));

    // Version 1 of the PKCS #1 structure: "otherPrimeInfos are present" (RFC 8017 §A.1.2).
    const der = key.export({ format: 'der', type: 'pkcs1' });
    const ordinary = generateKeyPairSync('rsa', { modulusLength: 1024 }).privateKey;
    assert.deepEqual([...der.subarray(4, 7)], [0x02, 0x01, 0x01]);
    assert.deepEqual(
      [...ordinary.export({ format: 'der', type: 'pkcs1' }).subarray(4, 7)],
      [0x02, 0x01, 0x00],
    );
  });
});
