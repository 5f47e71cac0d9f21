import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { X509Certificate } from 'node:crypto';
import { existsSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { openLocalAuthority } from './local-authority.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-tls-'));
after(() => rmSync(folder, { recursive: true }));

const leafOf = (pem: string): X509Certificate => new X509Certificate(pem);
const dayMs = 24 * 3_600_000;
const openssl = ['/usr/bin/openssl', '/usr/local/bin/openssl'].find((path) => existsSync(path));

test('a server’s certificate is signed by the authority, for loopback, and for less than 825 days', async () => {
  const authority = await openLocalAuthority(folder);
  const leaf = leafOf((await authority.keyPairFor(undefined)).cert);
  assert.ok(leaf.checkIssued(authority.certificate));
  assert.ok(leaf.verify(authority.certificate.publicKey));
  assert.ok(leaf.checkPrivateKey(authority.serverKey));
  assert.equal(authority.certificate.ca, true);
  assert.equal(leaf.ca, false);
  assert.equal(leaf.checkHost('localhost'), 'localhost');
  assert.equal(leaf.checkIP('127.0.0.1'), '127.0.0.1');
  assert.equal(leaf.checkIP('::1'), '::1');
  assert.deepEqual(leaf.keyUsage, ['1.3.6.1.5.5.7.3.1']);
  const life = Date.parse(leaf.validTo) - Date.parse(leaf.validFrom);
  assert.ok(life > 30 * dayMs && life < 825 * dayMs);
  assert.ok(Date.parse(leaf.validFrom) < Date.now());
});

test('each host below localhost, and private hosts that servers are bound to, have certificates of their own', async () => {
  const authority = await openLocalAuthority(folder, ['192.168.7.9', '0.0.0.0', '8.8.8.8', 'example.com']);
  const bound = leafOf((await authority.keyPairFor(undefined)).cert);
  assert.equal(
    bound.subjectAltName,
    'DNS:localhost, IP Address:127.0.0.1, IP Address:0:0:0:0:0:0:0:1, IP Address:192.168.7.9',
  );
  const long = `${'a'.repeat(52)}.gateway.localhost`;
  assert.equal(leafOf((await authority.keyPairFor(long)).cert).subjectAltName, `DNS:${long}`);
  for (const host of [
    'example.com',
    'localhost.example.com',
    `${'a.'.repeat(200)}localhost`,
    'a b.localhost',
  ]) {
    assert.equal(leafOf((await authority.keyPairFor(host)).cert).subjectAltName, bound.subjectAltName, host);
  }
});

test('authority and key are kept, for their owner only', async () => {
  const first = await openLocalAuthority(folder);
  const second = await openLocalAuthority(folder);
  assert.equal(second.certificate.fingerprint256, first.certificate.fingerprint256);
  assert.ok(leafOf((await second.keyPairFor(undefined)).cert).checkPrivateKey(first.serverKey));
  for (const name of ['authority-key.pem', 'server-key.pem']) {
    assert.equal(statSync(join(folder, 'tls', name)).mode & 0o777, 0o600, name);
  }
});

test('an authority whose key was replaced is refused, and says what to remove', async () => {
  const other = mkdtempSync(join(tmpdir(), 'turnpike-tls-'));
  try {
    await openLocalAuthority(other);
    rmSync(join(other, 'tls', 'authority-key.pem'));
    await assert.rejects(openLocalAuthority(other), /remove .*tls for a new authority/);
  } finally {
    rmSync(other, { recursive: true });
  }
});

test('OpenSSL accepts the chain for the hosts it is for, and nothing that the authority may not sign', {
  skip: openssl === undefined ? 'SKIPPED: no openssl is installed' : false,
}, async () => {
  const authority = await openLocalAuthority(folder);
  const leaf = join(folder, 'leaf.pem');
  const verify = (...words: string[]): string =>
    execFileSync(
      openssl ?? '',
      ['verify', '-x509_strict', '-purpose', 'sslserver', '-CAfile', authority.path, ...words, leaf],
      { encoding: 'utf8', stdio: 'pipe' },
    );
  writeFileSync(leaf, (await authority.keyPairFor(undefined)).cert);
  assert.match(verify('-verify_hostname', 'localhost'), /OK/);
  assert.match(verify('-verify_ip', '127.0.0.1'), /OK/);
  assert.throws(() => verify('-verify_hostname', 'example.com'), /hostname mismatch/i);
  writeFileSync(leaf, (await authority.keyPairFor('x.gateway.localhost')).cert);
  assert.match(verify('-verify_hostname', 'x.gateway.localhost'), /OK/);
  const key = authority.path.replace('authority.pem', 'authority-key.pem');
  const foreign = 'subjectAltName=DNS:example.com\nextendedKeyUsage=serverAuth\n';
  writeFileSync(join(folder, 'foreign.cnf'), foreign);
  const request = execFileSync(
    openssl ?? '',
    ['req', '-new', '-key', key.replace('authority-key', 'server-key'), '-subj', '/CN=example.com'],
    { stdio: 'pipe' },
  );
  const signed = execFileSync(
    openssl ?? '',
    [
      'x509',
      '-req',
      '-CA',
      authority.path,
      '-CAkey',
      key,
      '-days',
      '2',
      '-extfile',
      join(folder, 'foreign.cnf'),
    ],
    { input: request, stdio: 'pipe' },
  );
  writeFileSync(leaf, signed);
  assert.throws(() => verify(), /permitted subtree violation/);
});
