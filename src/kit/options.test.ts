import assert from 'node:assert/strict';
import { afterEach, test } from 'node:test';
import { argumentsOf, environmentOf } from './options.ts';

afterEach(() => {
  delete process.env.STRIPE_SECRET_KEY;
});

test('nothing of the own environment is passed on but where things are', () => {
  process.env.STRIPE_SECRET_KEY = 'sk_live_of_the_app';
  const environment = environmentOf({}, '/data');
  assert.equal(environment.STRIPE_SECRET_KEY, undefined);
  assert.equal(environment.PATH, process.env.PATH);
  assert.equal(environment.DATA_DIR, '/data');
});

test('options become variables, and a variable that is named wins', () => {
  const environment = environmentOf(
    {
      port: 1984,
      wallets: 2,
      mining: { mode: 'interval', intervalMs: 50 },
      fork: { gatewayUrl: 'https://gateway.example', height: 7 },
      env: { LOCAL_WALLETS: '3', LOG_LEVEL: 'debug' },
    },
    '/data',
  );
  assert.equal(environment.LOCAL_ARWEAVE_PORT, '1984');
  assert.equal(environment.LOCAL_WALLETS, '3');
  assert.equal(environment.LOCAL_ARWEAVE_MINING, 'interval');
  assert.equal(environment.LOCAL_ARWEAVE_BLOCK_INTERVAL_MS, '50');
  assert.equal(environment.FORK_GATEWAY_URL, 'https://gateway.example');
  assert.equal(environment.FORK_HEIGHT, '7');
  assert.equal(environment.FORK_SOLANA_RPC_URL, undefined);
  assert.equal(environment.LOG_LEVEL, 'debug');
});

test('a folder that is named is kept, any other is temporary', () => {
  assert.ok(argumentsOf({}).includes('--temporary'));
  assert.ok(!argumentsOf({ dataDir: '/data' }).includes('--temporary'));
});

test('surfaces that do not exist, and a router without a network, are refused', () => {
  assert.deepEqual(argumentsOf({ surfaces: ['gateway', 'router'] }).slice(0, 3), [
    'start',
    'gateway',
    'router',
  ]);
  assert.throws(() => argumentsOf({ surfaces: ['nodes' as 'gateway'] }), /there is no surface "nodes"/);
  assert.throws(() => argumentsOf({ surfaces: ['router'] }), /start the gateway with it/);
});
