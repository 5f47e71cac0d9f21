import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArnsRecord } from '../../formats/solana/accounts-arns.ts';
import { yearSeconds as year } from '../../formats/solana/name-prices.ts';
import { wallet } from '../../localnet/solana/testing.ts';
import type { ActionRequest } from '../requests/action.ts';
import { isEffectOnChain } from './finish.ts';
import { beforeOf } from './store.ts';

const ant = wallet('token').address;
const other = wallet('another token').address;
const leased: ArnsRecord = {
  ...{ name: 'a-name', ant, type: 'lease', end: 5_000, undernameLimit: 10 },
  ...{ owner: other, start: 0, purchasePrice: 0n, nameHash: Buffer.alloc(32), bump: 0, version: [1, 0, 0] },
};

/** Whether a purchase is taken to have happened where the chain had `before`, and has `after` now. */
function isDone(
  request: ActionRequest,
  after: Partial<ArnsRecord> | undefined,
  before: ArnsRecord | 'unknown' = leased,
): Promise<boolean> {
  const record = after === undefined ? undefined : { ...leased, ...after };
  const registry = { name: async () => ({ record, returned: undefined, reserved: undefined }) };
  return isEffectOnChain(registry, {
    request,
    antId: ant,
    before: before === 'unknown' ? undefined : beforeOf(before),
  });
}

test('a purchase is told from that of others by what stood before it', async () => {
  const extend: ActionRequest = { action: 'extend-lease', name: 'a-name', years: 2 };
  assert.equal(await isDone(extend, { end: 5_000 + 2 * year - 1 }), false);
  assert.equal(await isDone(extend, { end: 5_000 + 2 * year }), true);
  assert.equal(await isDone(extend, { type: 'permabuy', end: undefined }), false);
  assert.equal(await isDone(extend, { end: 9e9 }, 'unknown'), false);
  assert.equal(await isDone(extend, { end: 9e9 }, { ...leased, end: undefined }), false);
  const widen: ActionRequest = { action: 'increase-undername-limit', name: 'a-name', quantity: 5 };
  assert.equal(await isDone(widen, { undernameLimit: 14 }), false);
  assert.equal(await isDone(widen, { undernameLimit: 15 }), true);
  assert.equal(await isDone(widen, { undernameLimit: 15 }, 'unknown'), false);
  const upgrade: ActionRequest = { action: 'upgrade-name', name: 'a-name' };
  assert.equal(await isDone(upgrade, { type: 'permabuy' }), true);
  assert.equal(await isDone(upgrade, {}), false);
  assert.equal(await isDone(upgrade, { type: 'permabuy' }, { ...leased, type: 'permabuy' }), false);
  assert.equal(await isDone(upgrade, undefined), false);
});

test('a name is bought by the token that was made for it', async () => {
  const buy: ActionRequest = {
    action: 'buy-name',
    name: 'a-name',
    owner: other,
    type: 'lease',
    years: 1,
    opening: {},
  };
  assert.equal(await isDone(buy, {}), true);
  assert.equal(await isDone(buy, { ant: other }), false);
  assert.equal(await isDone(buy, undefined), false);
});

test('what is written into a token is known by its transaction alone', async () => {
  const request: ActionRequest = { action: 'transfer', antId: ant, owner: other, target: ant };
  assert.equal(await isDone(request, {}), false);
});
