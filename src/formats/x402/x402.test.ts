import assert from 'node:assert/strict';
import { test } from 'node:test';
import { FormatError } from '../format-error.ts';
import { findX402Network, x402Networks } from './networks.ts';
import { decodePayment, MalformedPayment, UnknownPaymentVersion } from './payment.ts';
import type { X402Offer } from './requirements.ts';
import { challenge } from './requirements.ts';
import { encodeHeader, examplePayment } from './testing.ts';

const { authorization, signature, payTo } = examplePayment;
const v1 = {
  x402Version: 1,
  scheme: 'exact',
  network: 'base-sepolia',
  payload: { signature, authorization },
};
const v2 = {
  x402Version: 2,
  resource: { url: 'http://localhost/x' },
  accepted: {
    scheme: 'exact',
    network: 'eip155:84532',
    amount: '1000000',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    payTo,
    maxTimeoutSeconds: 300,
    extra: { name: 'USDC', version: '2' },
  },
  payload: { signature, authorization },
  extensions: { note: 'kept' },
};

const offer: X402Offer = {
  amount: 1234n,
  resource: 'http://localhost:4001/v1/x402/top-up?type=credits&qty=1',
  description: 'Credits',
  mimeType: 'application/json',
  maxTimeoutSeconds: 300,
  payTo,
  networks: x402Networks.filter(({ chainId }) => chainId === 84532 || chainId === 1),
};

test('networks are found by both names', () => {
  assert.equal(findX402Network('base')?.chainId, 8453);
  assert.equal(findX402Network('eip155:137')?.name, 'polygon');
  assert.equal(findX402Network('ethereum')?.caip2, 'eip155:1');
  assert.equal(findX402Network('base-mainnet'), undefined);
});

test('a 402 is the flat requirement, the list of version 1 and the header of version 2 at once', () => {
  const { body, headers } = challenge(offer, 'X-PAYMENT header is required');
  const requirement = {
    scheme: 'exact',
    network: 'base-sepolia',
    maxAmountRequired: '1234',
    resource: offer.resource,
    description: 'Credits',
    mimeType: 'application/json',
    payTo,
    maxTimeoutSeconds: 300,
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    extra: { name: 'USDC', version: '2' },
  };
  assert.deepEqual(body, {
    ...requirement,
    x402Version: 1,
    error: 'X-PAYMENT header is required',
    accepts: [requirement],
  });
  const header: { x402Version: number; accepts: { network: string; amount: string }[] } = JSON.parse(
    Buffer.from(headers['payment-required'] ?? '', 'base64').toString(),
  );
  assert.equal(header.x402Version, 2);
  assert.deepEqual(
    header.accepts.map(({ network, amount }) => [network, amount]),
    [
      ['eip155:84532', '1234'],
      ['eip155:1', '1234'],
    ],
  );
});

test('version 1 is read, and numbers may be JSON integers', () => {
  for (const value of ['1000000', 1_000_000]) {
    const payment = decodePayment(
      encodeHeader({ ...v1, payload: { signature, authorization: { ...authorization, value } } }),
    );
    assert.equal(payment.version, 1);
    assert.equal(payment.network, 'base-sepolia');
    assert.deepEqual(payment.authorization, authorization);
    assert.deepEqual(payment.payload, JSON.parse(Buffer.from(encodeHeader(v1), 'base64').toString()));
  }
});

test('version 2 is read with the requirement it answers, and its extensions go on to the facilitator', () => {
  const payment = decodePayment(encodeHeader(v2));
  assert.equal(payment.version, 2);
  assert.equal(payment.network, 'eip155:84532');
  assert.deepEqual(payment.accepted, {
    amount: '1000000',
    asset: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
    payTo,
  });
  assert.deepEqual(payment.payload.extensions, { note: 'kept' });
});

test('an unknown version is told apart from nonsense', () => {
  assert.throws(() => decodePayment(encodeHeader({ ...v1, x402Version: 3 })), UnknownPaymentVersion);
});

test('what is not a payment is refused', () => {
  const withAuthorization = (changed: object) => ({
    ...v1,
    payload: { signature, authorization: { ...authorization, ...changed } },
  });
  const wrong: unknown[] = [
    null,
    [],
    'text',
    {},
    { ...v1, x402Version: '1' },
    { ...v1, scheme: 1 },
    { ...v1, network: undefined },
    { ...v1, payload: undefined },
    { ...v1, payload: { signature, authorization: [] } },
    { ...v1, payload: { signature: 'zz', authorization } },
    { ...v1, payload: { signature: '0x', authorization } },
    { ...v1, payload: { signature: `0x${'00'.repeat(8193)}`, authorization } },
    { ...v2, accepted: undefined },
    withAuthorization({ from: '0x12' }),
    withAuthorization({ to: null }),
    withAuthorization({ value: '1e3' }),
    withAuthorization({ value: '0x10' }),
    withAuthorization({ value: '-1' }),
    withAuthorization({ value: '01' }),
    withAuthorization({ value: 1.5 }),
    withAuthorization({ value: (2n ** 256n).toString() }),
    withAuthorization({ validBefore: '' }),
    withAuthorization({ nonce: '0xab' }),
  ];
  for (const value of wrong) {
    assert.throws(() => decodePayment(encodeHeader(value ?? null)), MalformedPayment);
  }
  for (const header of ['', '{}', 'a b', '%%%', Buffer.from('{').toString('base64'), 'A'.repeat(40_000)]) {
    assert.throws(() => decodePayment(header), FormatError);
  }
});
