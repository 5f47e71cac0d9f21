import assert from 'node:assert/strict';
import { test } from 'node:test';
import { recoverEthereumAddress, signEthereumDigest } from './personal-message.ts';
import { domainSeparator, encodeType, hashTypedData, TypedDataError, typeHash } from './typed-data.ts';

const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex');

const authorization = {
  domain: {
    name: 'USDC',
    version: '2',
    chainId: 84532n,
    verifyingContract: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  },
  types: {
    TransferWithAuthorization: [
      { name: 'from', type: 'address' },
      { name: 'to', type: 'address' },
      { name: 'value', type: 'uint256' },
      { name: 'validAfter', type: 'uint256' },
      { name: 'validBefore', type: 'uint256' },
      { name: 'nonce', type: 'bytes32' },
    ],
  },
  primaryType: 'TransferWithAuthorization',
  message: {
    from: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    to: '0x209693Bc6afc0C5328bA36FaF03C514EF312287C',
    value: 1000000n,
    validAfter: '0',
    validBefore: 4102444800,
    nonce: Buffer.alloc(32, 0xab),
  },
} as const;

test('an EIP-3009 authorization has the digest and signature that wallets make', () => {
  assert.equal(
    hex(typeHash(authorization.types, 'TransferWithAuthorization')),
    '7c7c6cdb67a18743f49ec6fa9b35f50d52ed05cbed4cc592e13b44501c1a2267',
  );
  assert.equal(
    hex(domainSeparator(authorization.domain)),
    '71f17a3b2ff373b803d70a5a07c046c1a2bc8e89c09ef722fcb047abe94c9818',
  );
  const digest = hashTypedData(authorization);
  assert.equal(hex(digest), '8ac6a4a1c8178bac26f8f8501ecd58ff8caf07d5d8dad71b2370fbc8b45eabd3');
  const signature = signEthereumDigest(digest, Buffer.alloc(32, 0x11));
  assert.equal(
    hex(signature),
    '3e80517c48b8b06148ca45c904aa40869feb4c80a15f5e462c6fa768e900ae023015984a05a5a036d88bdfd56f74296fa6a97428befa24af58b96f70f062a4591b',
  );
  assert.equal(recoverEthereumAddress(digest, signature), authorization.message.from);
});

test('the example of EIP-712 itself holds, nested structs and all', () => {
  const types = {
    Person: [
      { name: 'name', type: 'string' },
      { name: 'wallet', type: 'address' },
    ],
    Mail: [
      { name: 'from', type: 'Person' },
      { name: 'to', type: 'Person' },
      { name: 'contents', type: 'string' },
    ],
  };
  assert.equal(
    encodeType(types, 'Mail'),
    'Mail(Person from,Person to,string contents)Person(string name,address wallet)',
  );
  const digest = hashTypedData({
    domain: {
      name: 'Ether Mail',
      version: '1',
      chainId: 1,
      verifyingContract: '0xCcCCccccCCCCcCCCCCCcCcCccCcCCCcCcccccccC',
    },
    types,
    primaryType: 'Mail',
    message: {
      from: { name: 'Cow', wallet: '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826' },
      to: { name: 'Bob', wallet: '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB' },
      contents: 'Hello, Bob!',
    },
  });
  assert.equal(hex(digest), 'be609aee343fb3c4b28e1df9e632fca64fcfaede20f02e86244efddf30957bd2');
});

test('values that do not fit their type are refused', () => {
  const hash = (type: string, value: Parameters<typeof hashTypedData>[0]['message'][string]) =>
    hashTypedData({
      domain: {},
      types: { T: [{ name: 'v', type }] },
      primaryType: 'T',
      message: { v: value },
    });
  for (const [type, value] of [
    ['uint8', 256],
    ['uint256', -1n],
    ['uint256', 1n << 256n],
    ['int8', 128],
    ['int8', -129],
    ['uint7', 1],
    ['uint256', '0x10'],
    ['uint256', '1e3'],
    ['uint256', 1.5],
    ['bool', 1],
    ['bytes4', '0x010203'],
    ['bytes', '0x1'],
    ['address', '0x01'],
    ['string', 1],
    ['uint8[2]', [1]],
    ['uint8[]', 1],
    ['Unknown', 1],
    ['T', 'text'],
  ] as const) {
    assert.throws(() => hash(type, value), TypedDataError, `${type} ${String(value)}`);
  }
  assert.equal(hash('int8', -128).length, 32);
  assert.equal(hash('uint8[2]', [1, 2]).length, 32);
  assert.throws(
    () =>
      hashTypedData({
        domain: {},
        types: { T: [{ name: 'v', type: 'bool' }] },
        primaryType: 'T',
        message: {},
      }),
    /T\.v is missing/,
  );
});
