import assert from 'node:assert/strict';
import { test } from 'node:test';
import { encodeBase58 } from '../formats/base58.ts';
import { importJwk } from './arweave/rsa.ts';
import {
  isKnownToEveryone,
  localMnemonic,
  localServicePrimes,
  localServiceWallet,
  localWallets,
} from './local-wallets.ts';
import { ed25519SeedAt, secp256k1KeyAt, seedOfMnemonic } from './mnemonic.ts';
import { ed25519PrivateKey, ed25519RawPublicKey } from './solana/ed25519.ts';

test('keys derive from seeds as BIP-32 and SLIP-10 have it', () => {
  // BIP-32, test vector 1.
  const seed = Buffer.from('000102030405060708090a0b0c0d0e0f', 'hex');
  assert.equal(
    secp256k1KeyAt(seed, "m/0'/1").toString('hex'),
    '3c6cb8d0f6a264c91ea8b5030fadaa8e538b020f0a387421a12de9319dc93368',
  );
  // SLIP-10, test vector 1 for ed25519.
  assert.equal(
    ed25519SeedAt(seed, "m/0'/1'").toString('hex'),
    'b1d0bad404bf35da785a64ca1ac54b2617211d2777696fbffaf208f746ae84f2',
  );
  assert.throws(() => ed25519SeedAt(seed, 'm/0'), /hardened/);
  assert.throws(() => secp256k1KeyAt(seed, 'm/x'), /not a step/);
});

test('a mnemonic gives the seed of BIP-39', () => {
  // The seed that wallets derive from this mnemonic without a passphrase.
  assert.equal(
    seedOfMnemonic(
      'abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon abandon about',
    ).toString('hex'),
    '5eb00bbddcf069084889a8ab9155568165f5c453ccb85e70811aaed6f6da5fc19a5ac40b389cd370d086206dec8aa6c43daea6690f20ad3d8d48b2d2ce9e38e4',
  );
});

test('ten wallets of each kind are those that everybody knows', () => {
  const { arweave, ethereum, solana, mnemonic } = localWallets();
  assert.equal(mnemonic, localMnemonic);
  assert.equal(ethereum[0]?.address, '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266');
  assert.equal(ethereum[0]?.privateKey, '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80');
  assert.equal(ethereum[9]?.address, '0xa0Ee7A142d267C1f36714E4a8F75612F20a79720');
  assert.equal(solana[0]?.address, 'oeYf6KAJkLYhBuR8CiGc6L4D4Xtfepr85fuDgA9kq96');
  for (const { address, secretKey, bytes } of solana) {
    assert.equal(encodeBase58(Buffer.from(bytes)), secretKey);
    const seed = Buffer.from(bytes.slice(0, 32));
    assert.equal(encodeBase58(ed25519RawPublicKey(ed25519PrivateKey(seed))), address);
  }
  assert.equal(arweave[0]?.address, 'Uj827pL5g3SSl54yVXwBrF8tRvr02g4jO4WUG1uMRMg');
  for (const { address, jwk } of arweave) {
    // Reading it signs with it and verifies, which no key of a composite number does.
    assert.equal(importJwk(JSON.stringify(jwk)).address, address);
  }
  const addresses = [...arweave, ...ethereum, ...solana].map((wallet) => wallet.address);
  assert.equal(new Set(addresses).size, 30);
  assert.equal(localWallets(3).solana.length, 3);
  assert.equal(localWallets(0).arweave.length, 0);
});

test('the keys of the local service have their full length', () => {
  for (const key of ['receipt key', 'data key'] as const) {
    const primes = localServicePrimes(key);
    assert.equal(new Set(primes).size, 4);
    assert.equal(primes.reduce((left, right) => left * right).toString(2).length, 4096);
  }
});

test('an address of the local network is known in any spelling, and no other is', () => {
  const { arweave, ethereum, solana } = localWallets();
  for (const { address } of [...arweave, ...ethereum, ...solana]) assert.ok(isKnownToEveryone(address));
  assert.ok(isKnownToEveryone('0xF39FD6E51AAD88F6F4CE6AB8827279CFFFB92266'));
  assert.ok(isKnownToEveryone(localServiceWallet().address));
  assert.equal(isKnownToEveryone('0x0000000000000000000000000000000000000001'), false);
  assert.equal(isKnownToEveryone((arweave[0]?.address ?? '').toLowerCase()), false);
});
