/** Keys, signatures, transactions and payments of Ethereum wallets, and addresses of every kind. */
import assert from 'node:assert/strict';
import { FormatError } from '../../../src/formats/format-error.ts';
import { tryParseJson } from '../../../src/formats/json.ts';
import { decodePayment, readPayment } from '../../../src/formats/x402/payment.ts';
import {
  addressKinds,
  normalizeAddress,
  parseAddress,
  readableAddress,
} from '../../../src/wallets/address.ts';
import { formsOfAddress, mayBeOtherForm } from '../../../src/wallets/address-forms.ts';
import { itemOwner } from '../../../src/wallets/data-items/owner.ts';
import { verifyItem } from '../../../src/wallets/data-items/verify.ts';
import { isPermitSignedByHolder } from '../../../src/wallets/ethereum/permit2.ts';
import { recoverEthereumAddress } from '../../../src/wallets/ethereum/personal-message.ts';
import { uncompressedPublicKey } from '../../../src/wallets/ethereum/secp256k1.ts';
import { readTransfer, signTransfer } from '../../../src/wallets/ethereum/transaction.ts';
import { isSignedByHolder } from '../../../src/wallets/ethereum/transfer-authorization.ts';
import {
  encodeType,
  hashTypedData,
  type TypedData,
  TypedDataError,
} from '../../../src/wallets/ethereum/typed-data.ts';
import {
  canonicalUuid,
  formsOfRequestKey,
  signatureHeaderHash,
  verifyRequestSignatureAsync,
} from '../../../src/wallets/request-signature.ts';
import { optionsOf, readOrRefused, type Target, textsOf } from '../target.ts';

const privateKey = Buffer.alloc(32, 7);
const holder = '0x833589fCD6eDb6E08f4c7C32D4f71b54bdA02913';
const authorization = {
  from: holder,
  to: holder,
  value: '1000',
  validAfter: '0',
  validBefore: '99999999999',
  nonce: `0x${'11'.repeat(32)}`,
};
const signature = `0x${'22'.repeat(64)}1b`;
const payments = [
  { x402Version: 1, scheme: 'exact', network: 'base', payload: { signature, authorization } },
  {
    x402Version: 2,
    accepted: { scheme: 'exact', network: 'eip155:8453', amount: '1000', asset: holder, payTo: holder },
    payload: { signature, authorization },
  },
  {
    x402Version: 2,
    accepted: { scheme: 'upto', network: 'eip155:8453', amount: '1000', asset: holder, payTo: holder },
    payload: {
      signature,
      permit2Authorization: {
        from: holder,
        permitted: { token: holder, amount: '5' },
        spender: holder,
        nonce: '1',
        deadline: '9',
        witness: { to: holder, facilitator: holder, validAfter: '0' },
      },
    },
  },
];
const domain = { tokenName: 'USDC', tokenVersion: '2', chainId: 8453, asset: holder };
const typed = {
  domain: { name: 'a', version: '1', chainId: 1, verifyingContract: holder },
  types: {
    Mail: [
      { name: 'to', type: 'Person' },
      { name: 'cc', type: 'Person[2]' },
      { name: 'data', type: 'bytes' },
      { name: 'id', type: 'uint256' },
    ],
    Person: [
      { name: 'wallet', type: 'address' },
      { name: 'name', type: 'string' },
    ],
  },
  primaryType: 'Mail',
  message: { to: { wallet: holder, name: 'x' }, cc: [], data: '0x00', id: '1' },
};

export const targets: readonly Target[] = [
  {
    name: 'address',
    seeds: () => [
      holder,
      holder.toLowerCase(),
      'AnYvLJTWcG9lr2Ll5MwYWZR2o5uTE39WbpYB0zCxwKM',
      '4zvwRjXUKGfvwnParsHAS3HuSVzV5cA4McphgmoCtajS',
      'kyve1jvdhxpzfypqkjyh5ul3q65tudvqhzqk0h0z3p2',
    ],
    run(input) {
      const text = input.toString('utf8');
      const found = parseAddress(text);
      assert.equal(normalizeAddress(text), found?.address);
      readableAddress(text);
      for (const kind of addressKinds) parseAddress(text, kind);
      if (found === undefined) return;
      assert.equal(normalizeAddress(found.address, found.kind), found.address);
      assert.equal(parseAddress(found.address)?.address, found.address);
      for (const form of formsOfAddress(found.address)) assert.ok(mayBeOtherForm(form));
    },
  },
  {
    name: 'ethereum-transaction',
    seeds: () => [
      signTransfer(
        {
          chainId: 1,
          nonce: 3n,
          maxPriorityFeePerGas: 1n,
          maxFeePerGas: 2n,
          gasLimit: 21_000n,
          to: holder,
          value: 5n,
          data: '0x',
        },
        privateKey,
      ).raw,
    ],
    run(input) {
      const raw = input.toString('latin1');
      const read = readTransfer(raw);
      if (read === undefined) return;
      assert.match(read.from, /^0x[0-9a-fA-F]{40}$/);
      assert.match(read.hash, /^0x[0-9a-f]{64}$/);
      assert.match(read.to, /^0x[0-9a-f]{40}$/);
    },
  },
  {
    name: 'ethereum-signature',
    seeds: () => [
      Buffer.concat([Buffer.alloc(32, 3), Buffer.alloc(64, 2), Buffer.from([27])]),
      Buffer.alloc(97, 4),
    ],
    run(input) {
      const address = recoverEthereumAddress(input.subarray(0, 32), input.subarray(32, 97));
      if (address !== undefined) assert.match(address, /^0x[0-9a-fA-F]{40}$/);
      for (const length of [33, 65]) {
        const key = uncompressedPublicKey(input.subarray(0, length));
        if (key !== undefined) assert.equal(key.length, 65);
      }
    },
  },
  {
    name: 'typed-data',
    seeds: () => [JSON.stringify(typed)],
    run(input) {
      const data = tryParseJson(input.toString('utf8'));
      if (!isTypedData(data)) return;
      const hash = readOrRefused([TypedDataError], () => hashTypedData(data));
      if (hash === undefined) return;
      assert.equal(hash.length, 32);
      encodeType(data.types, data.primaryType);
    },
  },
  {
    name: 'x402-payment',
    longest: 8_192,
    seeds: () => payments.map((payment) => JSON.stringify(payment)),
    run(input) {
      const json = tryParseJson(input.toString('utf8'));
      const read = readOrRefused([FormatError], () => readPayment(json));
      const header = input.toString('base64');
      assert.deepEqual(
        readOrRefused([FormatError], () => decodePayment(header)),
        read,
      );
      readOrRefused([FormatError], () => decodePayment(input.toString('latin1')));
      if (read === undefined) return;
      if (read.permit === undefined) isSignedByHolder(read.authorization, read.signature, domain);
      else isPermitSignedByHolder(read.authorization, read.permit, read.signature, 8_453);
      // What is sent on reads as the same payment.
      assert.deepEqual(readPayment(JSON.parse(JSON.stringify(read.payload))), read);
    },
  },
  {
    name: 'request-signature',
    longest: 3_000,
    seeds: () => [
      `${Buffer.alloc(32, 1).toString('base64')}\0${Buffer.alloc(64, 2).toString('base64')}\0nonce\0${4}`,
      `0x02${'11'.repeat(32)}\0${Buffer.alloc(65, 2).toString('base64url')}\0nonce\0`,
      '\0\x00f81d4fae-7dec-11d0-a765-00a0c91e6bf6\x002',
    ],
    async run(input) {
      const text = textsOf(input);
      const request = {
        publicKey: text(0),
        signature: text(1),
        nonce: text(2),
        ...(text(3) !== '' && { signatureType: text(3) }),
      };
      assert.equal(await verifyRequestSignatureAsync(request), undefined, 'nobody signed this');
      formsOfRequestKey(request);
      signatureHeaderHash(request.signature);
      canonicalUuid(request.nonce);
    },
  },
  {
    name: 'item-signature',
    longest: 4_200,
    seeds: () =>
      [
        [2, 64, 32],
        [3, 65, 65],
        [4, 64, 32],
        [5, 64, 32],
        [6, 2_052, 1_025],
        [7, 65, 42],
      ].map(([type = 0, signatureBytes = 0, ownerBytes = 0]) =>
        Buffer.concat([
          Buffer.from([0, type, 0]),
          Buffer.alloc(signatureBytes, 3),
          Buffer.alloc(ownerBytes, 2),
          Buffer.alloc(18),
          Buffer.from('data'),
        ]),
      ),
    run(input) {
      const { bits, rest } = optionsOf(input);
      const item = verifyItem(rest, { lenient: (bits & 1) === 1 });
      if (typeof item === 'string') return;
      const { signatureType, owner } = item.header;
      itemOwner(signatureType, owner);
      assert.fail('nobody signed this');
    },
  },
];

/** Of the form that the type has; what the values are is for the function to say. */
function isTypedData(value: unknown): value is TypedData {
  if (typeof value !== 'object' || value === null) return false;
  const { domain: of, types, primaryType, message } = value as Record<string, unknown>;
  const isPlain = (one: unknown) => typeof one === 'object' && one !== null && !Array.isArray(one);
  return (
    isPlain(of) &&
    isPlain(types) &&
    isPlain(message) &&
    typeof primaryType === 'string' &&
    Object.values(types as object).every(
      (fields) =>
        Array.isArray(fields) &&
        fields.every(
          (field: unknown) =>
            typeof field === 'object' &&
            field !== null &&
            typeof Reflect.get(field, 'name') === 'string' &&
            typeof Reflect.get(field, 'type') === 'string',
        ),
    )
  );
}
