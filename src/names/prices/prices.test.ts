import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ArnsRecord } from '../../formats/solana/accounts-arns.ts';
import { hashName } from '../../formats/solana/accounts-arns.ts';
import { parseSolanaAddress } from '../../formats/solana/address.ts';
import { genesisDemandFactor, scale } from '../../formats/solana/name-prices.ts';
import { decimal } from '../../pricing/decimal.ts';
import type { RateTable } from '../../pricing/pricing.ts';
import type { NameState } from '../../registry/name-registry.ts';
import { NamesError } from '../errors.ts';
import type { Purchase } from '../requests/action.ts';
import { aclEntryRent, aclRent, openingRent, spawnLamports } from './lamports.ts';
import { nameCost } from './name-cost.ts';
import { tokenWinc } from './prices.ts';

const now = 1_800_000_000;
const day = 86_400;
const demand = genesisDemandFactor(scale, now, 255);
const free: NameState = { record: undefined, returned: undefined, reserved: undefined };
const address = parseSolanaAddress('US517G5965aydkZ46HS38QLi7UQiSojurfbQfKCELFx');
const name = 'a-name-of-many-letters';

function leased(end: number | undefined, undernameLimit = 10): NameState {
  const record: ArnsRecord = {
    nameHash: hashName(name),
    owner: address,
    ant: address,
    type: end === undefined ? 'permabuy' : 'lease',
    start: now - 100,
    end,
    undernameLimit,
    purchasePrice: 1n,
    bump: 255,
    name,
    version: [1, 0, 0],
  };
  return { ...free, record };
}

function refusal(purchase: Purchase, state: NameState): string {
  try {
    nameCost(purchase, state, demand, now);
  } catch (error) {
    assert.ok(error instanceof NamesError);
    assert.equal(error.status, 400);
    return error.message;
  }
  assert.fail('it was priced');
}

const buy = { action: 'buy-name', name, type: 'lease', years: 1 } as const;
const extend = { action: 'extend-lease', name, years: 1 } as const;
const upgrade = { action: 'upgrade-name', name } as const;
const widen = { action: 'increase-undername-limit', name, quantity: 1 } as const;

test('purchases cost what the registry asks', () => {
  assert.equal(nameCost(buy, free, demand, now), 240_000_000n);
  assert.equal(nameCost({ ...buy, type: 'permabuy', years: 0 }, free, demand, now), 1_000_000_000n);
  assert.equal(nameCost(extend, leased(now + day), demand, now), 40_000_000n);
  assert.equal(nameCost(upgrade, leased(now + day), demand, now), 1_000_000_000n);
  assert.equal(nameCost(widen, leased(now + day), demand, now), 200_000n);
  assert.equal(nameCost(widen, leased(undefined), demand, now), 1_000_000n);
  assert.equal(nameCost(buy, free, demand, now + day), 236_400_000n);
  const returned = {
    name,
    nameHash: hashName(name),
    initiator: address,
    returnedAt: now,
    bump: 1,
    version: [],
  };
  assert.equal(nameCost(buy, { ...free, returned }, demand, now), 12_000_000_000n);
});

test('what cannot be bought is refused with the reason', () => {
  const reserved = {
    name,
    reservedFor: undefined,
    expiresAt: undefined,
    reservedBy: address,
    createdAt: 0,
    bump: 1,
    version: [],
  };
  assert.equal(refusal(buy, leased(now + day)), `Name ${name} already exists`);
  assert.equal(refusal(buy, { ...free, reserved }), `Name ${name} is reserved`);
  assert.equal(
    nameCost(buy, { ...free, reserved: { ...reserved, expiresAt: now } }, demand, now),
    240_000_000n,
  );
  const ours = { ...free, reserved: { ...reserved, reservedFor: address } };
  assert.equal(refusal(buy, ours), `Name ${name} is reserved`);
  assert.equal(nameCost(buy, ours, demand, now, address), 240_000_000n);
  assert.equal(refusal(extend, free), `Name ${name} does not exist`);
  assert.equal(refusal(upgrade, leased(undefined)), `Name ${name} is a permabuy`);
  assert.equal(refusal(extend, leased(undefined)), `Name ${name} is a permabuy`);
  assert.match(refusal({ ...extend, years: 5 }, leased(now + day)), /at most 4 years/);
  assert.equal(refusal(extend, leased(now - 15 * day)), `Name ${name} does not exist`);
  assert.match(refusal(widen, leased(now - 1)), /run out/);
  assert.match(refusal(widen, leased(now + day, 65_535)), /65535/);
});

test('a lease in its grace period may be extended by all five years', () => {
  assert.equal(nameCost({ ...extend, years: 5 }, leased(now - 13 * day), demand, now), 200_000_000n);
});

test('tokens become winc at the rate, rounded down', () => {
  const rates: RateTable = {
    at: 0,
    price: (token) => decimal(token === 'ario' ? '0.01' : '6.25'),
  };
  assert.equal(tokenWinc(240_000_000n, rates), 384_000_000_000n);
  const odd: RateTable = { at: 0, price: (token) => decimal(token === 'ario' ? '1' : '3') };
  assert.equal(tokenWinc(1n, odd), 333_333n);
});

test('the rent of accounts is that of the chain', () => {
  assert.equal(openingRent, 9_472_560n);
  assert.equal(aclRent, 2_589_120n);
  assert.equal(aclEntryRent, 229_680n);
  const sol = Number(spawnLamports('x'.repeat(51), 1_000)) / 1e9;
  assert.ok(sol > 0.017 && sol < 0.02, String(sol));
});
