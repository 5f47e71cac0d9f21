import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { test } from 'node:test';
import { formsOfAddress, formsOfEthereumKey, formsOfSolanaKey, mayBeOtherForm } from './address-forms.ts';
import { publicKeyOf } from './ethereum/secp256k1.ts';
import { localWallets } from './local-wallets.ts';

const { solana, ethereum, arweave } = localWallets(1);

test('a Solana wallet is told by its address or its key, and both tell the same', () => {
  const key = Buffer.from(solana[0]!.bytes.slice(32));
  const forms = formsOfSolanaKey(key);
  assert.equal(forms.wallet.address, solana[0]!.address);
  assert.deepEqual(forms.others, [hash('sha256', key, 'base64url')]);
  assert.deepEqual(formsOfAddress(forms.wallet.address), forms.others);
});

test('an Ethereum key is the owner of items, a KYVE wallet, and the owner of typed items', () => {
  const key = publicKeyOf(Buffer.from(ethereum[0]!.privateKey.slice(2), 'hex'));
  const { wallet, others } = formsOfEthereumKey(key);
  assert.equal(wallet.address, ethereum[0]!.address);
  const typed = hash('sha256', wallet.address.toLowerCase(), 'base64url');
  assert.equal(others[0], hash('sha256', key, 'base64url'));
  assert.match(others[1] ?? '', /^kyve1[a-z0-9]{38}$/);
  assert.deepEqual(others.slice(2), [typed]);
  // The address alone does not tell its key.
  assert.deepEqual(formsOfAddress(wallet.address), [typed]);
});

test('an Arweave address is one form, and only such texts and those of KYVE can be another', () => {
  assert.deepEqual(formsOfAddress(arweave[0]!.address), []);
  assert.deepEqual(formsOfAddress('approval:of-somebody'), []);
  assert.ok(mayBeOtherForm(arweave[0]!.address));
  assert.ok(!mayBeOtherForm(ethereum[0]!.address));
});
