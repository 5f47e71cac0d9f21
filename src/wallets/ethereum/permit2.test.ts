import assert from 'node:assert/strict';
import { test } from 'node:test';
import { nonceBitmapSelector, noncePlace, upToContract } from '../../formats/x402/permit2.ts';
import { examplePayment } from '../../formats/x402/testing.ts';
import { keccak256 } from './keccak.ts';
import { isPermitSignedByHolder, permitDigest } from './permit2.ts';
import { signEthereumDigest } from './personal-message.ts';

const { authorization, privateKey, payer } = examplePayment;
const permitted = { ...authorization, nonce: `0x${(70_000).toString(16).padStart(64, '0')}` };
const terms = {
  token: '0x036CbD53842c5426634e7929541eC2318f3dCF7e',
  spender: upToContract,
  facilitator: payer,
};
const chainId = 84_532;

test('a permit has the digest that viem gives it', () => {
  assert.equal(
    Buffer.from(permitDigest(permitted, terms, chainId)).toString('hex'),
    'bbe1843cc3f298b34dc1f2ac902c51dcd30c2dee7535772742f2603ab0e2427a',
  );
});

test('only what its holder signed counts', () => {
  const digest = permitDigest(permitted, terms, chainId);
  const signature = `0x${signEthereumDigest(digest, privateKey).toString('hex')}`;
  assert.equal(isPermitSignedByHolder(permitted, terms, signature, chainId), true);
  for (const changed of [
    { ...permitted, value: permitted.value + 1n },
    { ...permitted, to: payer },
    { ...permitted, nonce: authorization.nonce },
  ]) {
    assert.equal(isPermitSignedByHolder(changed, terms, signature, chainId), false);
  }
  const elsewhere = { ...terms, facilitator: examplePayment.payTo };
  assert.equal(isPermitSignedByHolder(permitted, elsewhere, signature, chainId), false);
  assert.equal(isPermitSignedByHolder(permitted, terms, signature, 1), false);
});

test("a nonce is a bit of the contract's map", () => {
  assert.deepEqual(noncePlace(permitted.nonce), { word: 273n, bit: 112n });
  const selector = Buffer.from(keccak256(Buffer.from('nonceBitmap(address,uint256)'))).toString('hex');
  assert.equal(nonceBitmapSelector, `0x${selector.slice(0, 8)}`);
});
