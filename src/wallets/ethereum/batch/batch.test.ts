import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { seededRandom } from '../../../formats/testing/seeded-random.ts';
import { ethereumTestKey } from '../../testing/keys.ts';
import { publicKeyOf, recoverPublicKey, signDigest } from '../secp256k1.ts';
import { Field, prime } from './field.ts';
import { elementBytes } from './field-program.ts';
import { doublings, order, PointAdder } from './points.ts';
import { type RecoverableEcdsa, verifyBatch } from './verify-batch.ts';
import { digitsOf, windowsOf } from './window-table.ts';

const random = seededRandom(121);
const bytesOf = (value: bigint) => Buffer.from(value.toString(16).padStart(64, '0'), 'hex');
const numberOf = (bytes: Uint8Array) => BigInt(`0x${Buffer.from(bytes).toString('hex')}`);
const randomNumber = () => numberOf(random.bytes(32)) % prime;
const pointOf = (key: Uint8Array) => ({ x: numberOf(key.subarray(1, 33)), y: numberOf(key.subarray(33)) });
const keyOf = (scalar: bigint) => publicKeyOf(bytesOf(scalar));

describe('numbers modulo p', () => {
  const field = new Field();
  const [a, b, c, d] = [0, 1, 2, 3].map(() => field.reserve(elementBytes)) as [
    number,
    number,
    number,
    number,
  ];
  const edges = [0n, 1n, 2n, 977n, 2n ** 26n - 1n, 2n ** 32n + 976n, prime - 1n, prime - 2n, 2n ** 255n];

  test('products and differences are right, also of numbers that were left loose', () => {
    for (let round = 0; round < 10_000; round++) {
      const x = round % 4 === 0 ? random.pick(edges) : randomNumber();
      const y = round % 5 === 0 ? random.pick(edges) : randomNumber();
      field.write(a, x);
      field.write(b, y);
      field.program.multiply(c, a, b);
      assert.equal(field.read(c), (x * y) % prime);
      field.program.subtract(d, a, b);
      assert.equal(field.read(d), (x - y + prime) % prime);
      field.program.subtract(d, d, c);
      field.program.subtract(d, d, a);
      field.program.multiply(d, d, d);
      const loose = x - y - x * y - x;
      assert.equal(field.read(d), (((loose * loose) % prime) + prime) % prime);
    }
  });

  test('inverses are right, and zero has none', () => {
    for (let round = 0; round < 200; round++) {
      const x = round < edges.length ? edges[round]! : randomNumber();
      field.write(a, x);
      field.invert(b, a);
      field.program.multiply(c, a, b);
      assert.equal(field.read(c), x === 0n ? 0n : 1n);
    }
  });
});

test('doublings are those of the curve', () => {
  const chain = doublings(pointOf(keyOf(1n)), 256);
  for (const power of [1, 2, 7, 100, 255])
    assert.deepEqual(chain[power], pointOf(keyOf(2n ** BigInt(power))));
});

test('many additions at once are those of the curve, and one without a slope is told', () => {
  const adder = new PointAdder(64);
  const places = Array.from({ length: 64 }, () => adder.field.reserve(4 * elementBytes));
  for (const [i, at] of places.entries()) {
    adder.writePoint(at, pointOf(keyOf(BigInt(i + 1))));
    adder.writePoint(at + 2 * elementBytes, pointOf(keyOf(1_000n)));
    adder.push(at, at + 2 * elementBytes, at + 3 * elementBytes);
  }
  assert.equal(adder.round(), true);
  for (const [i, at] of places.entries())
    assert.deepEqual(adder.readPoint(at), pointOf(keyOf(BigInt(1_001 + i))));
  adder.writePoint(places[0]!, pointOf(keyOf(1_000n)));
  for (const at of places) adder.push(at, at + 2 * elementBytes, at + 3 * elementBytes);
  assert.equal(adder.round(), false);
});

test('digits add up to the scalar', () => {
  const edges = [0n, 1n, order - 1n, order / 2n, order / 2n + 1n, 2n ** 255n, 2n ** 128n - 1n];
  for (const bits of [8, 11]) {
    const digits = new Int16Array(windowsOf(bits));
    for (let round = 0; round < 2_000; round++) {
      const scalar = round < edges.length ? edges[round]! : randomNumber() % order;
      digitsOf(scalar, bits, digits);
      const sum = digits.reduce(
        (total, digit, window) => total + BigInt(digit) * 2n ** BigInt(bits * window),
        0n,
      );
      assert.equal(((sum % order) + order) % order, scalar);
      assert.ok(digits.every((digit) => Math.abs(digit) <= 2 ** (bits - 1)));
    }
  }
});

describe('signatures in batches', () => {
  function signed(label: string): RecoverableEcdsa & { signature: Buffer } {
    const digest = random.bytes(32);
    const { signature, recovery } = signDigest(digest, ethereumTestKey(label));
    return { digest, signature: Buffer.concat([signature, Buffer.from([recovery])]) };
  }
  /** What recovering the key one by one says. */
  function oneByOne(key: Uint8Array, { digest, signature }: RecoverableEcdsa): number {
    const found = recoverPublicKey(digest, signature.subarray(0, 64), signature[64]!);
    return found !== undefined && Buffer.from(found).equals(key) ? 1 : 0;
  }
  const mutations: ((sample: { digest: Buffer; signature: Buffer }) => void)[] = [
    () => {},
    () => {},
    ({ signature }) => (signature[64]! ^= 1),
    ({ signature }) => (signature[64] = 2 + random.below(254)),
    ({ signature }) => (signature[random.below(64)]! ^= 1 << random.below(8)),
    ({ digest }) => (digest[random.below(32)]! ^= 1 << random.below(8)),
    ({ signature }) => signature.fill(0, 0, 32),
    ({ signature }) => signature.fill(0, 32, 64),
    ({ signature }) => signature.fill(0xff, 0, 32),
    ({ signature }) => {
      bytesOf(order - numberOf(signature.subarray(32, 64))).copy(signature, 32);
      signature[64]! ^= 1;
    },
    ({ signature }) => bytesOf(order).copy(signature, 0),
    ({ digest }) => digest.fill(0),
    ({ digest }) => digest.fill(0xff),
  ];

  test('are judged as one by one, whatever was changed', () => {
    let [good, bad] = [0, 0];
    for (const label of ['one', 'two', 'three']) {
      const key = publicKeyOf(ethereumTestKey(label));
      const samples = Array.from({ length: 300 }, () => {
        const { digest, signature } = signed(random.below(20) === 0 ? 'somebody else' : label);
        const sample = { digest: Buffer.from(digest), signature };
        random.pick(mutations)(sample);
        return sample;
      });
      const verdicts = verifyBatch(key, samples);
      assert.ok(verdicts !== undefined);
      for (const [i, sample] of samples.entries()) {
        const expected = oneByOne(key, sample);
        assert.equal(verdicts[i], expected, `${label} ${i}`);
        if (expected === 1) good++;
        else bad++;
      }
    }
    assert.ok(good > 100 && bad > 400);
  });

  test('of more keys than tables are kept', () => {
    for (let round = 0; round < 2; round++) {
      for (let i = 0; i < 20; i++) {
        const sample = signed(`key ${i}`);
        const wrong = { ...sample, digest: random.bytes(32) };
        assert.deepEqual(
          [...(verifyBatch(publicKeyOf(ethereumTestKey(`key ${i}`)), [sample, wrong]) ?? [])],
          [1, 0],
        );
      }
    }
  });

  test('of a message and key that make the first product zero', () => {
    const key = publicKeyOf(ethereumTestKey('zero'));
    const digest = Buffer.alloc(32);
    const { signature, recovery } = signDigest(digest, ethereumTestKey('zero'));
    const sample = { digest, signature: Buffer.concat([signature, Buffer.from([recovery])]) };
    assert.deepEqual([...(verifyBatch(key, [sample]) ?? [])], [1]);
    assert.deepEqual([...(verifyBatch(key, []) ?? [])], []);
  });
});
