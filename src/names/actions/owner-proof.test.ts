import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { ed25519PrivateKey, signEd25519 } from '../../wallets/solana/ed25519.ts';
import type { RecordRequest } from '../requests/action.ts';
import {
  type OwnerProof,
  ownerText,
  proofMessages,
  readOwnerProof,
  verifyOwnerProof,
} from './owner-proof.ts';

const antId = parseSolanaAddress('US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
const owner = parseSolanaAddress('AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9');
const target = parseSolanaAddress('cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN');
const transactionId = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const nonce = '11111111-1111-4111-8111-111111111111';
const service = 'ServiceWalletServiceWalletServiceWalletSer0';
const publicKey = 'iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w';

const ownerOf = (request: RecordRequest, proof: OwnerProof, requireBound = false) =>
  verifyOwnerProof(request, proof, { service, requireBound }).address;

/** Signatures of a published client with the key whose seed is 32 times 0x01. */
const vectors: readonly (readonly [RecordRequest, string])[] = [
  [
    { action: 'set-record', antId, owner, undername: '@', transactionId, ttlSeconds: 3600 },
    'uijFSCwHR-vpo9t0_XZ__S7JYtr6w7QxYxLKVUdfficSiv5s2Q1RxvDPBy35k1fAId5r4qYdy5vryGIKo7_ADw',
  ],
  [
    { action: 'remove-record', antId, owner, undername: 'docs' },
    'GwgOk12Ec4Mmxmm5OoffYvUEC_gFLsSXt_AOTQ_XZ6chVIwiwGJWGa1EVNp2G8Vlk7eEkvA1aWzisTRHA7khDw',
  ],
  [
    { action: 'set-record-metadata', antId, owner, undername: '@', change: { displayName: 'My Blog' } },
    'NyVbP40BBJfWRWArx2wS3o7SEMa0E8Zezzv5HhVlb5Ht6uP6QAkepOz-z1ueKC30FoteBrX9aNvjC2Vs92NoDw',
  ],
  [
    { action: 'set-record-metadata', antId, owner, undername: '@', change: { recordDescription: '' } },
    'VhHdVWVTA7j-TOktbdT39cQle3Of4wGFKAEvThHIAnFnjvIxNTQb4w4WzMP-CWlq7GM2RO8eDQLmmnWWByIhCg',
  ],
  [
    { action: 'set-record-metadata', antId, owner, undername: '@', change: { recordKeywords: ['a', 'b'] } },
    'TnW0_-2VEWIlPmIjzUe-BJJWawSngbiXYGqZFR3x6da0sftrEPLUb9y0gwUp_ILdIurvB6FAMohHqhnusYQQDw',
  ],
  [
    { action: 'remove-record-metadata', antId, owner, undername: 'docs' },
    '-8DkX4gUymBmMRjR0_p4Db-uWkWtogRXA-qlXAstHLdndRH8T8IVE3y7gyYIeNf8jt9Zigz5C7JwHTEuo0e5DA',
  ],
  [
    { action: 'transfer-record', antId, owner, undername: 'docs', target },
    '1-PoTPMXPzvtM8Syim7AQXZsKbtYs0nZ09kxbVt61izFSserZWwFe2XnFLJ_T5xYFqH1kMWYrefyKVNO-dBRCA',
  ],
];

test('signatures of published clients hold', () => {
  for (const [request, signature] of vectors) {
    assert.equal(ownerOf(request, { publicKey, nonce, signature }), owner, request.action);
  }
});

test('a proof holds for its own request and no other', () => {
  for (const [index, [, signature]] of vectors.entries()) {
    for (const [other, [request]] of vectors.entries()) {
      if (index === other) continue;
      assert.throws(() => ownerOf(request, { publicKey, nonce, signature }), /unbound/);
    }
  }
  const [set, signature] = vectors[0]!;
  assert.ok(set.action === 'set-record');
  const changed: RecordRequest[] = [
    { ...set, antId: target },
    { ...set, undername: 'docs' },
    { ...set, ttlSeconds: 3601 },
    { ...set, transactionId: transactionId.replace('T', 'U') },
  ];
  for (const request of changed) {
    assert.throws(() => ownerOf(request, { publicKey, nonce, signature }), /unbound/);
  }
  assert.throws(() => ownerOf(set, { publicKey, nonce: `${nonce}x`, signature }), /unbound/);
  assert.throws(() => ownerOf(set, { publicKey: publicKey.replace('i', 'j'), nonce, signature }), /unbound/);
});

test('clearing, setting empty and leaving alone are told apart where the client tells them apart', () => {
  const base = { action: 'set-record-metadata' as const, antId, owner, undername: '@' };
  const [cleared] = proofMessages({ ...base, change: { displayName: null } });
  const [empty] = proofMessages({ ...base, change: { displayName: '' } });
  const [leftOut, strict] = proofMessages({ ...base, change: { recordLogo: null } });
  assert.notEqual(cleared, empty);
  assert.equal(cleared, leftOut);
  assert.notEqual(strict, leftOut);
  const key = ed25519PrivateKey(Buffer.alloc(32, 1));
  const signature = signEd25519(key, Buffer.from(strict + nonce)).toString('base64url');
  const request = { ...base, change: { recordLogo: null } };
  assert.equal(ownerOf(request, { publicKey, nonce, signature }), owner);
  assert.throws(() => ownerOf({ ...base, change: { displayName: null } }, { publicKey, nonce, signature }));
});

test('headers that are missing, doubled or of another kind are refused', () => {
  const headers = {
    'x-owner-public-key': publicKey,
    'x-owner-nonce': nonce,
    'x-owner-signature': 'x',
    'x-owner-signature-type': '4',
  };
  assert.equal(readOwnerProof(headers).nonce, nonce);
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-nonce': undefined }), /required/);
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-signature': ['a', 'b'] }), /required/);
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-signature-type': '3' }), /unbound/);
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-signature-type': undefined }), /required/);
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-service-address': ['a', 'b'] }), /unbound/);
  for (const broken of ['', '!', 'AAAA']) {
    assert.throws(() => ownerOf(vectors[0]![0], { publicKey, nonce, signature: broken }), /unbound/);
  }
});

test('the border between the fields and the nonce cannot move', () => {
  const key = ed25519PrivateKey(Buffer.alloc(32, 1));
  const sign = (message: string) => signEd25519(key, Buffer.from(message)).toString('base64url');
  const set = {
    action: 'set-record' as const,
    antId,
    owner,
    undername: '@',
    transactionId,
    ttlSeconds: 3600,
  };
  const signature = sign(proofMessages(set)[0] + nonce);
  assert.equal(ownerOf(set, { publicKey, nonce, signature }), owner);
  for (const [ttlSeconds, moved] of [
    [360, `0${nonce}`],
    [36, `00${nonce}`],
    [36_001, nonce.slice(1)],
  ] as const) {
    assert.throws(() => ownerOf({ ...set, ttlSeconds }, { publicKey, nonce: moved, signature }), /UUID/);
  }
  const remove = { action: 'remove-record' as const, antId, owner, undername: 'a' };
  const removal = sign(`${proofMessages(remove)[0]}b${nonce}`);
  assert.throws(() => ownerOf(remove, { publicKey, nonce: `b${nonce}`, signature: removal }), /UUID/);
  assert.equal(ownerOf({ ...remove, undername: 'ab' }, { publicKey, nonce, signature: removal }), owner);
  for (const other of ['', 'n', `${nonce}x`, nonce.replaceAll('-', ''), `{${nonce}}`, ` ${nonce}`]) {
    const own = sign(proofMessages(set)[0] + other);
    assert.throws(() => ownerOf(set, { publicKey, nonce: other, signature: own }), /UUID/, other);
  }
});

test('a proof is used up by its nonce in either letter case and by its signature in any encoding', () => {
  const key = ed25519PrivateKey(Buffer.alloc(32, 1));
  const request = { action: 'remove-record' as const, antId, owner, undername: 'docs' };
  const uuid = 'abcdefab-1111-4111-8111-abcdefabcdef';
  const proven = (given: string) => {
    const signature = signEd25519(key, Buffer.from(proofMessages(request)[0] + given)).toString('base64url');
    return verifyOwnerProof(
      request,
      { publicKey, nonce: given, signature },
      { service, requireBound: false },
    );
  };
  const [lower, upper] = [proven(uuid), proven(uuid.toUpperCase())];
  assert.deepEqual(lower.keys[0], upper.keys[0]);
  assert.notDeepEqual(lower.keys[1], upper.keys[1]);
  const signature = signEd25519(key, Buffer.from(proofMessages(request)[0] + uuid)).toString('base64url');
  const padded = { publicKey, nonce: uuid, signature: `${signature}==` };
  assert.deepEqual(verifyOwnerProof(request, padded, { service, requireBound: false }).keys, lower.keys);
});

test('a bound proof holds at the service that it names and nowhere else', () => {
  const key = ed25519PrivateKey(Buffer.alloc(32, 1));
  const request = { action: 'remove-record' as const, antId, owner, undername: 'docs' };
  const text = ownerText(proofMessages(request)[0] ?? '', { nonce, service });
  assert.equal(text, `turnpike owner proof\n${service}\narns\nremove-record\n${antId}\ndocs\n${nonce}`);
  const signature = signEd25519(key, Buffer.from(text)).toString('base64url');
  const bound = { publicKey, nonce, signature, service };
  assert.equal(ownerOf(request, bound, true), owner);
  // The example of docs/names.md.
  const [set] = vectors[0]!;
  const documented = {
    publicKey,
    nonce,
    service: 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM',
    signature: 'k8f92iCELrYS2YJ0x02DIJaWPVshXHNfSEGlqVMXDzlxy_pCCfj4oPQP8VaH28Chtv-pyVG6nZG-3VitlXCOAA',
  };
  const rules = { service: documented.service, requireBound: true };
  assert.equal(verifyOwnerProof(set, documented, rules).address, owner);
  const other = { ...bound, service: transactionId };
  assert.throws(() => ownerOf(request, other), /another service/);
  assert.throws(() => ownerOf(request, { publicKey, nonce, signature }), /unbound/);
  assert.throws(() => ownerOf({ ...request, undername: 'other' }, bound), /unbound/);
  const elsewhere = { service: transactionId, requireBound: false };
  assert.throws(() => verifyOwnerProof(request, bound, elsewhere), /another service/);
  const [, published] = vectors[1]!;
  assert.throws(() => ownerOf(request, { publicKey, nonce, signature: published }, true), /name it/);
});
