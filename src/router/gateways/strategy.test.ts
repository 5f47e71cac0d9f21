import assert from 'node:assert/strict';
import { after, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { Gateway } from './gateway.ts';
import { Health } from './health.ts';
import { createStrategy, type StrategyName } from './strategy.ts';

const limits = {
  failureThreshold: 3,
  resetMs: 1_000,
  connections: 1,
  connectTimeoutMs: 100,
  requestTimeoutMs: 100,
  streamTimeoutMs: 100,
};
const gateways = ['http://a.test', 'http://b.test', 'http://c.test'].map(
  (origin) => new Gateway(origin, limits, () => {}),
);
after(() => Promise.all(gateways.map((gateway) => gateway.close())));
// One is quick, one slow, one fails half of the time.
gateways[0]?.health.observeLatency(10);
gateways[1]?.health.observeLatency(800);
gateways[2]?.health.observeLatency(12);
if (gateways[2] !== undefined) gateways[2].health.errorRate = 0.5;

function shares(name: StrategyName): number[] {
  const random = seededRandom(7);
  const choose = createStrategy(name, () => random.below(1_000_000) / 1_000_000);
  const counts = new Map(gateways.map((gateway) => [gateway, 0]));
  for (let round = 0; round < 3_000; round += 1) {
    const chosen = choose(gateways);
    counts.set(chosen, (counts.get(chosen) ?? 0) + 1);
  }
  return [...counts.values()].map((count) => count / 3_000);
}

test('the strategies really differ', () => {
  for (const share of shares('random')) assert.ok(Math.abs(share - 1 / 3) < 0.05);
  assert.deepEqual(shares('round-robin'), [1 / 3, 1 / 3, 1 / 3]);
  assert.deepEqual(shares('fastest'), [1, 0, 0]);
  const [quick = 0, slow = 0, failing = 0] = shares('temperature');
  assert.ok(quick > 0.6 && failing > 0.25 && slow < 0.05, `${quick} ${slow} ${failing}`);
});

test('turns go on when a gateway is left out', () => {
  const choose = createStrategy('round-robin');
  const without = gateways.slice(0, 2);
  assert.deepEqual(
    [choose(gateways), choose(without), choose(gateways), choose(gateways)].map(({ origin }) =>
      origin.slice(7, 8),
    ),
    ['a', 'b', 'c', 'a'],
  );
});

test('a circuit opens after failures in a row, lets one probe through, and closes on success', () => {
  let now = 0;
  const health = new Health({ failureThreshold: 3, resetMs: 1_000 }, () => now);
  for (const outcome of ['client_error', 'throttled', 'timeout', 'timeout'] as const)
    health.observe(outcome, 1);
  assert.equal(health.state, 'healthy');
  health.observe('server_error', 1);
  assert.equal(health.state, 'open');
  now = 1_001;
  assert.equal(health.state, 'half-open');
  const probe = health.begin();
  assert.equal(health.usable, false, 'one probe at a time');
  health.end(probe);
  health.observe('connection_error', undefined);
  assert.equal(health.state, 'open', 'a failed probe opens it again');
  now = 3_000;
  health.observe('success', 5);
  assert.equal(health.state, 'healthy');
});

test('a quarantine is lifted by time and the operator only, and grows', () => {
  let now = 0;
  const health = new Health({ failureThreshold: 3, resetMs: 1_000 }, () => now);
  health.quarantine('wrong bytes');
  health.observe('success', 1);
  assert.equal(health.state, 'quarantined');
  now += 3_600_001;
  assert.equal(health.state, 'healthy');
  health.quarantine('again');
  now += 3_600_001;
  assert.equal(health.state, 'quarantined');
  health.release();
  assert.equal(health.state, 'healthy');
});
