import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { ed25519PrivateKey, signEd25519 } from '../../wallets/solana/ed25519.ts';
import type { RecordRequest } from './action.ts';
import { proofMessages, readOwnerProof, verifyOwnerProof } from './owner-proof.ts';

const antId = parseSolanaAddress('US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
const owner = parseSolanaAddress('AKnL4NNf3DGWZJS6cPknBuEGnVsV4A4m5tgebLHaRSZ9');
const target = parseSolanaAddress('cGfHiC6Kgg3FpFZvgwGcswsCRtp4aBP2fzuXRQPizuN');
const transactionId = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const nonce = '11111111-1111-4111-8111-111111111111';
const publicKey = 'iojj3XQJ8ZX9UtstPLpdcspnCb8dlBIb83SIAbQPb1w';

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
    assert.equal(verifyOwnerProof(request, { publicKey, nonce, signature }), owner, request.action);
  }
});

test('a proof holds for its own request and no other', () => {
  for (const [index, [, signature]] of vectors.entries()) {
    for (const [other, [request]] of vectors.entries()) {
      if (index === other) continue;
      assert.throws(() => verifyOwnerProof(request, { publicKey, nonce, signature }), /unbound/);
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
    assert.throws(() => verifyOwnerProof(request, { publicKey, nonce, signature }), /unbound/);
  }
  assert.throws(() => verifyOwnerProof(set, { publicKey, nonce: `${nonce}x`, signature }), /unbound/);
  assert.throws(
    () => verifyOwnerProof(set, { publicKey: publicKey.replace('i', 'j'), nonce, signature }),
    /unbound/,
  );
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
  assert.equal(verifyOwnerProof(request, { publicKey, nonce, signature }), owner);
  assert.throws(() =>
    verifyOwnerProof({ ...base, change: { displayName: null } }, { publicKey, nonce, signature }),
  );
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
  assert.throws(() => readOwnerProof({ ...headers, 'x-owner-nonce': 'n'.repeat(257) }), /unbound/);
  for (const broken of ['', '!', 'AAAA']) {
    assert.throws(() => verifyOwnerProof(vectors[0]![0], { publicKey, nonce, signature: broken }), /unbound/);
  }
});
