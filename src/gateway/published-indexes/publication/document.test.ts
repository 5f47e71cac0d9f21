import assert from 'node:assert/strict';
import { createPrivateKey } from 'node:crypto';
import { test } from 'node:test';
import { canonicalJson } from '../../../formats/canonical-json.ts';
import { FormatError } from '../../../formats/format-error.ts';
import { type Publication, sha256Hex, signPublication, verifyPublication } from './document.ts';
import { observerOf } from './observer.ts';

/** RFC 8410: the prefix of an Ed25519 key in PKCS #8. */
const pkcs8 = Buffer.from('302e020100300506032b657004220420', 'hex');
const keyOf = (seed: Buffer) =>
  createPrivateKey({ format: 'der', type: 'pkcs8', key: Buffer.concat([pkcs8, seed]) });
const observer = observerOf(keyOf(Buffer.from(Array.from({ length: 32 }, (_, index) => index))));
const other = observerOf(keyOf(Buffer.alloc(32, 9)));

const publication: Publication = {
  version: 1,
  publisher: 'FAe4sisG95oZ42w7buUn5qEE4TAnfTTFPiguZUHmhiF',
  sequence: 1,
  previousManifestSha256: null,
  issuedAt: '2026-01-01T00:00:00.000Z',
  expiresAt: '2026-01-02T00:00:00.000Z',
  indexes: [
    {
      name: 'root-tx-index',
      kind: 'cdb64-root-tx',
      bands: [
        {
          id: 'band-a',
          files: [
            {
              name: '00.cdb',
              size: 4223,
              sha256: '5e9a6a2b9fe1dc18236180e546de3e29f7b43934787f2dae5b05dc4f54359444',
            },
            {
              name: 'manifest.json',
              size: 330,
              sha256: 'f9c91701af0761639ee4c235083d1ac57f3d46724b1e83ae136e8ec2b5ab725a',
            },
          ],
          heightRange: [0, 99],
          records: 1,
          http: { baseUrl: '/gw/indexes/root-tx-index/band-a/' },
        },
      ],
    },
  ],
};

test('the known document has the known bytes and signature', () => {
  assert.equal(observer.address, publication.publisher);
  assert.equal(
    sha256Hex(canonicalJson(publication)),
    'd5b24ea88a43b8f4eb9dba95ad024128bccc6efdceb42355e8b2f4275f271844',
  );
  const bytes = signPublication(publication, observer);
  assert.equal(bytes.length, 774);
  assert.equal(sha256Hex(bytes), '32303d7185e7368e93b997f3995ffc5c74be217d083eb53cb1ae19db7faaeb5b');
  assert.deepEqual(verifyPublication(bytes), { ...publication, keyId: observer.address });
});

test('members that are not known are ignored and signed all the same', () => {
  const bytes = signPublication(Object.assign({ future: { a: 1.5 } }, publication), observer);
  assert.equal(verifyPublication(bytes).sequence, 1);
  const changed = bytes.toString().replace('"a":1.5', '"a":2.5');
  assert.throws(() => verifyPublication(Buffer.from(changed)), FormatError);
});

test('a forged, altered or wrongly signed document is refused', () => {
  const text = signPublication(publication, observer).toString();
  const byOther: { signature: unknown } = JSON.parse(signPublication(publication, other).toString());
  const own: Record<string, unknown> = JSON.parse(text);
  const bare = observer.sign(Buffer.from(canonicalJson(publication))).toString('base64');
  for (const forged of [
    text.replace('"sequence":1', '"sequence":2'),
    text.replace('4223', '4224'),
    text.replace(/"sig":"./, '"sig":"A'),
    JSON.stringify({ ...own, signature: { ...Object(byOther.signature), keyId: observer.address } }),
    JSON.stringify({ ...own, signature: { alg: 'ed25519', keyId: observer.address, sig: bare } }),
    JSON.stringify({ ...own, signature: undefined }),
    '{}',
    '[]',
    'null',
    '\xff',
    '',
  ])
    assert.throws(() => verifyPublication(Buffer.from(forged, 'latin1')), FormatError, forged);
  assert.throws(() => verifyPublication(Buffer.alloc(4 * 1024 * 1024 + 1, 0x20)), FormatError);
});

test('names that are paths, prototype members, doubles and nonsense are refused though signed', () => {
  const band = publication.indexes[0]!.bands[0]!;
  const file = band.files[0]!;
  const withBand = (changed: object) => ({
    indexes: [{ ...publication.indexes[0], bands: [{ ...band, ...changed }] }],
  });
  for (const wrong of [
    { version: 2 },
    { publisher: '0OIl' },
    { sequence: -1 },
    { sequence: 1.5 },
    { previousManifestSha256: 'x' },
    { expiresAt: '2025-01-01T00:00:00Z' },
    { issuedAt: 'yesterday' },
    { indexes: [publication.indexes[0], publication.indexes[0]] },
    { indexes: [{ ...publication.indexes[0], name: '../etc' }] },
    { indexes: [{ ...publication.indexes[0], name: 'constructor' }] },
    withBand({ id: '..' }),
    withBand({ id: '.' }),
    withBand({ id: 'a/b' }),
    withBand({ id: 'toString' }),
    withBand({ files: [] }),
    withBand({ files: [file, file] }),
    withBand({ files: [{ ...file, name: '__proto__' }] }),
    withBand({ files: [{ ...file, name: 'a..b' }] }),
    withBand({ files: [{ ...file, size: -1 }] }),
    withBand({ files: [{ ...file, sha256: file.sha256.toUpperCase() }] }),
    withBand({ heightRange: [5, 4] }),
    withBand({ torrent: { infohashV1: 'x', magnet: 'm', torrentUrl: 'u' } }),
  ]) {
    const bytes = signPublication(Object.assign({}, publication, wrong), observer);
    assert.throws(() => verifyPublication(bytes), FormatError, JSON.stringify(wrong));
  }
});
