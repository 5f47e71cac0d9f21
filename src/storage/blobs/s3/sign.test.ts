import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import { S3Signer } from './sign.ts';

// The examples of the service's own documentation, "Signature Calculations for the Authorization Header".
const signer = new S3Signer({
  accessKeyId: 'AKIAIOSFODNN7EXAMPLE',
  secretAccessKey: 'wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY',
  region: 'us-east-1',
});
const day = new Date('2013-05-24T00:00:00.000Z');
const empty = createHash('sha256').digest('hex');
const host = 'https://examplebucket.s3.amazonaws.com';

for (const [path, signature] of [
  ['/?lifecycle', 'fea454ca298b7da1c68078a5d1bdbfbbe0d65c699e0f91ac7a200a0136783543'],
  ['/?max-keys=2&prefix=J', '34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7'],
] as const)
  test(`a request for ${path} is signed as documented`, () => {
    const request = { method: 'GET', url: new URL(host + path), headers: {}, bodyDigest: empty };
    assert.deepEqual(signer.sign(request, day), {
      'x-amz-content-sha256': empty,
      'x-amz-date': '20130524T000000Z',
      authorization: `AWS4-HMAC-SHA256 Credential=AKIAIOSFODNN7EXAMPLE/20130524/us-east-1/s3/aws4_request, SignedHeaders=host;x-amz-content-sha256;x-amz-date, Signature=${signature}`,
    });
  });

test('an upload with headers and an odd key is signed as documented', () => {
  const bodyDigest = createHash('sha256').update('Welcome to Amazon S3.').digest('hex');
  const headers = { date: 'Fri, 24 May 2013 00:00:00 GMT', 'x-amz-storage-class': 'REDUCED_REDUNDANCY' };
  const url = new URL(`${host}/test$file.text`);
  assert.match(
    signer.sign({ method: 'PUT', url, headers, bodyDigest }, day).authorization ?? '',
    /Signature=98ad721746da40c64f1a55b78f14c238d841ea1380cd77a1b5971af0ece108bd$/,
  );
});

test('the key of another day is another', () => {
  const request = { method: 'GET', url: new URL(host), headers: {}, bodyDigest: empty };
  const signatures = [day, new Date('2013-05-25T00:00:00.000Z'), day].map((now) => signer.sign(request, now));
  assert.notEqual(signatures[0]?.authorization, signatures[1]?.authorization);
  assert.deepEqual(signatures[0], signatures[2]);
});

test('the part that is asked for is sent and not signed', () => {
  const request = { method: 'GET', url: new URL(host), headers: { range: 'bytes=0-9' }, bodyDigest: empty };
  const { range, authorization } = signer.sign(request, day);
  assert.equal(range, 'bytes=0-9');
  assert.ok(!authorization?.includes('range'));
});
