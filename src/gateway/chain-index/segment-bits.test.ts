import assert from 'node:assert/strict';
import { it } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import {
  addMembers,
  addTermMembers,
  allBits,
  countBits,
  hasBits,
  keepCommon,
  membersOf,
  noBits,
  packMembers,
  packTermMembers,
  removeBits,
} from './segment-bits.ts';

const { fraction } = seededRandom(7);
const sizes = [1, 31, 32, 33, 100, 4_096];
const some = (all: number, share: number) => [...Array(all).keys()].filter(() => fraction() < share);
const bitsOf = (all: number, members: readonly number[]) => {
  const bits = noBits(all);
  addMembers(bits, packMembers(members, all));
  return bits;
};
const listed = (bits: Uint32Array, all: number) => [...membersOf(bits, true, 0, all)];

it('keeps any members, few or many, and answers them in both orders between bounds', () => {
  for (const all of sizes) {
    for (const share of [0, 0.01, 0.2, 0.9, 1]) {
      const members = some(all, share);
      const bits = bitsOf(all, members);
      assert.deepEqual(listed(bits, all), members);
      assert.deepEqual([...membersOf(bits, false, 0, all)], members.toReversed());
      const [from, to] = [Math.floor(all / 3), Math.ceil(all / 2)];
      const between = members.filter((member) => member >= from && member < to);
      assert.deepEqual([...membersOf(bits, true, from, to)], between);
      assert.deepEqual([...membersOf(bits, false, from, to)], between.toReversed());
      assert.equal(countBits(bits), members.length);
      assert.equal(hasBits(bits), members.length > 0);
    }
  }
});

it('takes no more room than a bit for each, or two bytes for each member', () => {
  assert.ok(packMembers(some(65_536, 0.5), 65_536).length <= 65_536 / 8 + 1);
  assert.ok(packMembers([5, 70, 60_000], 65_536).length <= 7);
});

it('keeps what is common, and removes what is not wanted', () => {
  for (const all of sizes) {
    const [first, second] = [some(all, 0.5), some(all, 0.5)];
    const bits = allBits(all);
    assert.equal(countBits(bits), all);
    keepCommon(bits, bitsOf(all, first));
    removeBits(bits, bitsOf(all, second));
    assert.deepEqual(
      listed(bits, all),
      first.filter((member) => !second.includes(member)),
    );
  }
});

it('finds the members of rare terms among others in the same row', () => {
  const terms = [3, 7, 200, 1_000_000].map((term): [number, number[]] => [term, some(500, 0.02)]);
  const packed = packTermMembers(terms);
  for (const wanted of [[7], [3, 1_000_000], [8], [3, 7, 200, 1_000_000]]) {
    const bits = noBits(500);
    addTermMembers(bits, packed, new Set(wanted));
    const expected = terms.filter(([term]) => wanted.includes(term)).flatMap(([, members]) => members);
    assert.deepEqual(
      listed(bits, 500),
      [...new Set(expected)].sort((a, b) => a - b),
    );
  }
});
