import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
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
let now = 0;

interface Served {
  readonly latencyMs: number;
  /** Of how many reads one fails. */
  readonly failsEvery?: number;
}

function gatewaysOf(t: TestContext, count: number): Gateway[] {
  const gateways = ['a', 'b', 'c'].slice(0, count).map((name) => {
    const health = new Health({ ...limits, failureThreshold: 1_000 }, () => now);
    return new Gateway(`http://${name}.test`, limits, () => {}, health);
  });
  t.after(() => Promise.all(gateways.map((gateway) => gateway.close())));
  return gateways;
}

/** Beyond this a second gateway is asked. */
const hedgeAfterMs = 100;

/**
 * Who was asked first, of 3,000 requests, where every slow one is overtaken and every gateway answers pings and
 * questions about hashes at once.
 */
function firstShares(t: TestContext, name: StrategyName, served: readonly Served[]): number[] {
  const random = seededRandom(7);
  const strategy = createStrategy(name, random.fraction);
  const gateways = gatewaysOf(t, served.length);
  const firsts = gateways.map(() => 0);
  const reads = gateways.map(() => 0);
  const read = (gateway: Gateway): boolean => {
    const index = gateways.indexOf(gateway);
    const count = (reads[index] ?? 0) + 1;
    reads[index] = count;
    const { latencyMs = 0, failsEvery = Number.POSITIVE_INFINITY } = served[index] ?? {};
    const failed = count % failsEvery === 0;
    gateway.health.observe('read', failed ? 'server_error' : 'success', latencyMs);
    return failed || latencyMs > hedgeAfterMs;
  };
  for (let round = 0; round < 3_000; round += 1) {
    now += 10;
    for (const { health } of gateways) health.observe('poll', 'success', 1);
    const first = strategy.first(gateways);
    const index = gateways.indexOf(first);
    firsts[index] = (firsts[index] ?? 0) + 1;
    if (read(first)) read(strategy.next(gateways.filter((gateway) => gateway !== first)));
  }
  return firsts.map((count) => count / 3_000);
}

const quick = { latencyMs: 10 };
const slow = { latencyMs: 2_000 };
const failing = { latencyMs: 8, failsEvery: 2 };

/** What share of first picks each may have, from and to. */
const shares: readonly [StrategyName, readonly Served[], readonly (readonly [number, number])[]][] = [
  [
    'round-robin',
    [quick, slow],
    [
      [0.5, 0.5],
      [0.5, 0.5],
    ],
  ],
  [
    'round-robin',
    [slow, quick],
    [
      [0.5, 0.5],
      [0.5, 0.5],
    ],
  ],
  [
    'round-robin',
    [quick, slow, failing],
    [
      [1 / 3, 1 / 3],
      [1 / 3, 1 / 3],
      [1 / 3, 1 / 3],
    ],
  ],
  [
    'random',
    [quick, slow],
    [
      [0.45, 0.55],
      [0.45, 0.55],
    ],
  ],
  [
    'random',
    [quick, slow, failing],
    [
      [0.28, 0.38],
      [0.28, 0.38],
      [0.28, 0.38],
    ],
  ],
  [
    'fastest',
    [quick, slow],
    [
      [0.99, 1],
      [0, 0.01],
    ],
  ],
  [
    'fastest',
    [quick, slow, failing],
    [
      [0.98, 1],
      [0, 0.01],
      [0, 0.02],
    ],
  ],
  [
    'temperature',
    [quick, slow],
    [
      [0.99, 1],
      [0, 0.01],
    ],
  ],
  [
    'temperature',
    [quick, slow, failing],
    [
      [0.6, 0.7],
      [0, 0.01],
      [0.3, 0.4],
    ],
  ],
];

for (const [name, served, bounds] of shares) {
  const described = served.map(({ latencyMs, failsEvery }) => (failsEvery ? 'failing' : `${latencyMs} ms`));
  test(`${name} among ${described.join(', ')}: each gateway has its share of first picks`, (t) => {
    const got = firstShares(t, name, served);
    const isWithin = bounds.every(([low, high], index) => {
      const share = got[index] ?? Number.NaN;
      return share >= low && share <= high;
    });
    assert.ok(isWithin, got.join(' '));
  });
}

test('turns go on when a gateway is left out, and a second choice moves nobody', (t) => {
  const gateways = gatewaysOf(t, 3);
  const { first, next } = createStrategy('round-robin');
  const [a, b, c] = gateways;
  assert.ok(a !== undefined && b !== undefined && c !== undefined);
  assert.equal(first(gateways), a);
  assert.equal(next([b, c]), b);
  assert.equal(first([a, b]), b);
  assert.equal(next([a, c]), c, 'second choices are spread as well');
  assert.equal(first(gateways), c);
  assert.equal(first(gateways), a);
});

test('the fastest is found out by one reader at a time, and again once what is known of it is old', (t) => {
  const gateways = gatewaysOf(t, 2);
  const { first } = createStrategy('fastest');
  const [known, other] = gateways;
  assert.ok(known !== undefined && other !== undefined);
  known.health.observe('read', 'success', 50);
  assert.equal(first(gateways), other, 'nobody knows it yet');
  other.inFlight = 1;
  assert.equal(first(gateways), known, 'somebody is finding out');
  other.inFlight = 0;
  other.health.observe('read', 'success', 900);
  other.health.observe('poll', 'success', 1);
  assert.equal(first(gateways), known, 'quick pings make no quick reads');
  now += 300_000;
  known.health.observe('read', 'success', 50);
  assert.equal(first(gateways), other, 'it may have become quick');
});

test('a circuit opens after failures in a row, lets one probe through, and closes on success', () => {
  let now = 0;
  const health = new Health({ failureThreshold: 3, resetMs: 1_000 }, () => now);
  for (const outcome of ['client_error', 'throttled', 'timeout', 'timeout'] as const)
    health.observe('read', outcome, 1);
  assert.equal(health.state, 'healthy');
  health.observe('read', 'server_error', 1);
  assert.equal(health.state, 'open');
  now = 1_001;
  assert.equal(health.state, 'half-open');
  const probe = health.begin();
  assert.equal(health.usable, false, 'one probe at a time');
  health.end(probe);
  health.observe('read', 'connection_error', undefined);
  assert.equal(health.state, 'open', 'a failed probe opens it again');
  now = 3_000;
  health.observe('read', 'success', 5);
  assert.equal(health.state, 'healthy');
});

test('a quarantine is lifted by time and the operator only, and grows', () => {
  let now = 0;
  const health = new Health({ failureThreshold: 3, resetMs: 1_000 }, () => now);
  health.quarantine('wrong-bytes', 'wrong bytes');
  health.observe('read', 'success', 1);
  assert.equal(health.state, 'quarantined');
  now += 3_600_001;
  assert.equal(health.state, 'healthy');
  health.quarantine('wrong-bytes', 'again');
  now += 3_600_001;
  assert.equal(health.state, 'quarantined');
  health.release();
  assert.equal(health.state, 'healthy');
});

test('reads that fail open the circuit, however well the gateway answers polls in between', () => {
  let now = 0;
  const health = new Health({ failureThreshold: 3, resetMs: 1_000 }, () => now);
  for (let round = 0; round < 3; round += 1) {
    assert.equal(health.state, 'healthy');
    health.observe('read', 'server_error', 1);
    health.observe('poll', 'success', 1);
  }
  assert.equal(health.state, 'open');
  now = 1_001;
  health.observe('poll', 'success', 1);
  assert.equal(health.state, 'healthy', 'a poll is a probe as well');
  for (let round = 0; round < 5; round += 1) {
    health.observe('poll', 'timeout', undefined);
    health.observe('read', 'success', 1);
  }
  assert.equal(health.state, 'healthy', 'polls that fail take nobody from readers who are served');
});
