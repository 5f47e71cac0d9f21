import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { toTxId } from '../../formats/base64url.ts';
import { Gateway } from '../gateways/gateway.ts';
import { ExpectationSearch, provenExpectation } from './expectation.ts';
import type { ProvenContent } from './proven-store.ts';

const proven: ProvenContent = {
  digest: '0'.repeat(64),
  size: 1,
  contentType: 'text/plain',
  contentEncoding: undefined,
  method: 'quorum',
  by: [],
  verifiedAt: 0,
};

const id = toTxId(Buffer.alloc(32, 7));
const limits = {
  ...{ connections: 1, connectTimeoutMs: 1, requestTimeoutMs: 1, streamTimeoutMs: 1 },
  ...{ failureThreshold: 5, resetMs: 1_000 },
};

/** Who asked; of an answer it is told no more than it reads. */
interface Listener {
  answered(answer: object): void;
  failed(error: Error): void;
}

/** Tells a digest, or none, and knows no signature. */
function gatewaySaying(t: TestContext, origin: string, digest: string | undefined): Gateway {
  const gateway = new Gateway(origin, limits, () => {});
  const told =
    digest === undefined ? {} : { 'x-ar-io-digest': Buffer.from(digest, 'hex').toString('base64url') };
  const answer = {
    gateway,
    status: 200,
    headers: told,
    latencyMs: 1,
    judge: () => {},
    body: { discard: () => {} },
  };
  t.mock.method(gateway, 'put', ({ role }: { role: string }, listener: Listener) => {
    queueMicrotask(() => {
      if (role === 'digest') listener.answered(answer);
      else listener.failed(new Error('it knows of no signature'));
    });
  });
  return gateway;
}

test('one gateway’s word is no proof against another, however long it was believed', () => {
  assert.ok(provenExpectation(proven).conclusive);
  assert.ok(provenExpectation({ ...proven, method: 'signature' }).conclusive);
  assert.ok(!provenExpectation({ ...proven, method: 'single' }).conclusive);
});

test('of voices that are too few, one alone is believed and two that contradict each other are not', async (t) => {
  const settle = async (digests: readonly (string | undefined)[]) => {
    const gateways = digests.map((digest, index) =>
      gatewaySaying(t, `http://127.0.0.1:${index + 1}`, digest),
    );
    const search = new ExpectationSearch(id, gateways, [], digests.length + 1);
    const found = await search.settle(undefined);
    return found === undefined ? undefined : [found.method, found.digest];
  };
  const [one, two] = ['11'.repeat(32), '22'.repeat(32)];
  assert.deepEqual(await settle([one]), ['single', one]);
  assert.deepEqual(await settle([one, one]), ['single', one]);
  assert.deepEqual(await settle([one, undefined]), ['single', one]);
  assert.equal(await settle([one, two]), undefined);
  assert.equal(await settle([one, one, two]), undefined, 'nor the larger part of them');
  assert.equal(await settle([undefined]), undefined);
});
