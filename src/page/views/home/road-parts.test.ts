import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { LiveState } from '../../../console/api.ts';
import { roadParts } from './road-parts.ts';

const services = {
  payment: 'http://localhost:4001',
  upload: 'http://localhost:4002',
  gateway: 'http://localhost:4000',
  router: 'http://localhost:3000',
  arweave: 'http://localhost:1984',
};
const settings = { services, controlsLocalNetwork: true };
const up = { up: true, problems: [] };
const live: LiveState = {
  at: 1,
  services: { payment: up, upload: up, gateway: up, router: up, arweave: up },
  height: 1234,
  waitingItems: 2,
  creditsSold: '2500000000000',
};

function partsOf(known: Partial<Parameters<typeof roadParts>[0]>) {
  const parts = roadParts({ settings, live, wallet: undefined, ...known });
  return Object.fromEntries(parts.map((part) => [part.id, part]));
}

test('parts that are well tell their figure, or that they run', () => {
  const { chain, upload, payment, gateway } = partsOf({});
  assert.equal(chain?.state, 'Block 1,234');
  assert.equal(upload?.state, '2 waiting');
  assert.equal(payment?.state, '2.5 credits sold');
  assert.deepEqual([gateway?.tone, gateway?.state], ['good', 'Running']);
});

test('a part that is away or unwell says so, and why', () => {
  const { gateway, upload, bundle } = partsOf({
    live: {
      ...live,
      services: {
        ...live.services,
        gateway: { up: false, problems: [] },
        upload: { up: true, problems: ['disk is full'] },
      },
    },
  });
  assert.deepEqual([gateway?.tone, gateway?.state], ['bad', 'Not running']);
  assert.deepEqual([upload?.tone, upload?.problem], ['warn', 'disk is full']);
  assert.equal(bundle?.tone, 'warn');
});

test('what this console has no address of is not called broken', () => {
  const { card, x402 } = partsOf({});
  assert.deepEqual([card?.tone, card?.state], ['neutral', 'Not set up here']);
  assert.equal(x402?.tone, 'neutral');
});

test('the chain is known by the gateway where no node of it is ours', () => {
  const { arweave: _, ...others } = services;
  assert.equal(
    partsOf({ settings: { services: others, controlsLocalNetwork: false } }).chain?.state,
    'Block 1,234',
  );
});

test('nothing is said of parts before they were asked', () => {
  const { gateway, wallet } = partsOf({ live: undefined });
  assert.deepEqual([gateway?.tone, gateway?.state], ['neutral', 'Asking']);
  assert.deepEqual([wallet?.tone, wallet?.state], ['info', 'Not connected']);
  assert.equal(partsOf({ wallet: 'Wander' }).wallet?.state, 'Wander');
});
