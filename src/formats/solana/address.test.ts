import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { test } from 'node:test';
import { ed25519 } from '@noble/curves/ed25519.js';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { FormatError } from '../format-error.ts';
import { antAddresses } from './accounts-ant.ts';
import { arnsAddresses, hashName } from './accounts-arns.ts';
import { addressBytes, isOnCurve, isSolanaAddress, parseSolanaAddress, toSolanaAddress } from './address.ts';
import { tryCreateProgramAddress } from './pda.ts';
import { namePrograms } from './programs.ts';

test('an address is base58 of exactly 32 bytes', () => {
  const address = toSolanaAddress(Buffer.alloc(32, 7));
  assert.equal(address, 'US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
  assert.deepEqual(addressBytes(address), Buffer.alloc(32, 7));
  for (const text of ['', '1', `${address}1`, address.slice(1), `${address.slice(0, -1)}0`, '1'.repeat(45)]) {
    assert.equal(isSolanaAddress(text), false, text);
    assert.throws(
      () => parseSolanaAddress(text, 'target'),
      new FormatError('target is not a Solana address'),
    );
  }
  assert.throws(() => toSolanaAddress(Buffer.alloc(31)), FormatError);
});

test('the curve check agrees with an independent implementation', () => {
  const random = seededRandom(25519);
  let on = 0;
  for (let round = 0; round < 400; round += 1) {
    const bytes = random.bytes(32);
    let expected = true;
    try {
      ed25519.Point.fromBytes(bytes, true);
    } catch {
      expected = false;
    }
    assert.equal(isOnCurve(bytes), expected, bytes.toString('hex'));
    if (expected) on += 1;
  }
  assert.ok(on > 150 && on < 250);
  const { publicKey } = generateKeyPairSync('ed25519');
  assert.ok(isOnCurve(publicKey.export({ format: 'der', type: 'spki' }).subarray(12)));
  assert.equal(isOnCurve(Buffer.alloc(31)), false);
});

test('derived addresses are those of the public programs', () => {
  const arns = arnsAddresses(namePrograms.mainnet.arns);
  assert.equal(arns.config().address, 'ENuQZZYp778k5cCAovtD4gS2JxHQ3jVd3fKmNmtcZqQ2');
  assert.equal(arns.demandFactor().address, 'EYDvcx9edMP9Vj6snvTo8onHHPk8WAfGvYp3gamb4Hr2');
  assert.equal(arns.registry().address, 'N55cQyNRCgpCdFg8EGMdEmKY7gu1JujcfLaRMv4kVBK');
  const { address, bump, seeds } = arns.record('ardrive');
  assert.equal(address, '3hAZk2jjGE7JjDUKtKL1zUS5FHsVjE4b5Vvcr5bexBFS');
  assert.equal(bump, 254);
  assert.deepEqual(seeds, [Buffer.from('arns_record'), hashName('ardrive'), Uint8Array.of(254)]);
  const ant = antAddresses(namePrograms.mainnet.ant);
  const asset = toSolanaAddress(Buffer.alloc(32, 7));
  const user = toSolanaAddress(Buffer.alloc(32, 9));
  assert.equal(ant.config(asset).address, 'EawvCpkLFLEi5m6ECqo3EoFoUzBxQpvpm6ZYdpqW5kT4');
  assert.equal(ant.controllers(asset).address, '3EwL93B3pdQNLgKfNBbK7nRq5v7y9xDKa8WJ82qADnpg');
  assert.equal(ant.authority(asset).address, 'FwHhekczigJzNYXv7XuWu59zXpsNaNmLJUjg1KNr2Eow');
  assert.equal(ant.record(asset, '@').address, '2nTTf5cD44hjALUApM9jHPzJe4tHe3v4ojuctmTemuUi');
  assert.equal(ant.metadata(asset, '@').address, '91Y5iZEf7eCQVrJcb6BdQqAcCL2M77mepF43vdPX7Taw');
  assert.equal(ant.aclConfig(user).address, 'GQpUk4QAQThZsseShAxYULoAiHz6yfhjhTUhCyjHExKL');
  assert.equal(ant.aclPage(user, 0n).address, '4FURsrkKguBVDpVXDfNw3o2VubEDWLAPooWGu5evEx3q');
});

test('seeds beyond the limits are refused', () => {
  const program = namePrograms.mainnet.ant;
  assert.throws(() => tryCreateProgramAddress([Buffer.alloc(33)], program), FormatError);
  assert.throws(
    () => tryCreateProgramAddress(new Array<Buffer>(17).fill(Buffer.alloc(1)), program),
    FormatError,
  );
});
