import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createLogger } from '../../kernel/log.ts';
import { contentNotFound } from '../errors.ts';
import { StubGateway } from '../testing/stub-gateway.ts';
import { discard, type Gateway } from './gateway.ts';
import { GatewaySet } from './gateway-set.ts';
import { HedgedAsks, type HedgeEvent, type Waiter } from './hedged-ask.ts';
import { staticList } from './sources.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const limits = {
  // However often one of them is overtaken.
  failureThreshold: 1_000,
  resetMs: 1_000,
  connections: 8,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};

async function asksOf(t: TestContext, count: number) {
  const stubs = await Promise.all(Array.from({ length: count }, () => new StubGateway().start()));
  stubs.sort((a, b) => (a.url < b.url ? -1 : 1));
  const firstPicks: string[] = [];
  const hedges: HedgeEvent[] = [];
  const attempts: string[] = [];
  const gateways = new GatewaySet({
    routing: staticList(() => stubs.map(({ url }) => url)),
    verification: staticList(() => []),
    strategy: 'round-robin',
    limits,
    onAttempt: ({ outcome }) => attempts.push(outcome),
    onFirstPick: (origin) => firstPicks.push(origin),
    log,
    refreshMs: 60_000,
  });
  await gateways.start();
  const asks = new HedgedAsks(gateways, (event) => hedges.push(event));
  // Answers usually come at once, so that a second gateway is asked after 15 ms.
  for (let sample = 0; sample < 16; sample += 1) asks.usual.observe(1);
  t.after(async () => {
    await gateways.stop();
    await Promise.all(stubs.map((stub) => stub.stop()));
  });
  const ask = (tried = new Set<Gateway>(), again = false) =>
    asks.ask(
      { role: 'content', path: '/info' },
      {
        attempts: 3,
        tried,
        again,
        accepts: ({ status }) => status === 200,
        absent: (state) => contentNotFound('x', state),
        gone: () => false,
      },
    );
  return { stubs, asks, ask, firstPicks, hedges, attempts };
}

test('a slow gateway that is overtaken each time has its own turns only', async (t) => {
  const { stubs, ask, firstPicks, hedges } = await asksOf(t, 2);
  const [quick, slow] = stubs;
  assert.ok(quick !== undefined && slow !== undefined);
  slow.behaviour = { stalled: true };
  for (let round = 0; round < 8; round += 1) discard(await ask());
  const turns = Array.from({ length: 8 }, (_, index) => (index % 2 === 0 ? quick.url : slow.url));
  assert.deepEqual(firstPicks, turns);
  assert.ok(hedges.filter((event) => event === 'won').length >= 4, hedges.join());
});

test('an answered question leaves nothing with the timer that would have asked another gateway', async (t) => {
  const { asks, ask } = await asksOf(t, 2);
  const waiting: Waiter[] = [];
  asks.hedgeTimer.wait = (waiter) => void waiting.push(waiter);
  discard(await ask());
  assert.deepEqual(
    waiting.map((waiter) => [waiter.waits, Reflect.get(waiter, 'pending')]),
    [[false, undefined]],
  );
});

test('neither a retry nor the rest of a request takes a turn', async (t) => {
  const { stubs, ask, firstPicks } = await asksOf(t, 3);
  const [first, second, third] = stubs;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  first.behaviour = { status: 500 };
  const tried = new Set<Gateway>();
  discard(await ask(tried));
  discard(await ask(tried, true));
  discard(await ask());
  discard(await ask());
  assert.deepEqual(firstPicks, [first.url, second.url, third.url]);
});

test('a hedge is counted as sent, and as won only where its answer was used', async (t) => {
  const { stubs, ask, hedges } = await asksOf(t, 2);
  const [first, second] = stubs;
  assert.ok(first !== undefined && second !== undefined);
  const release = Promise.withResolvers<void>();
  first.behaviour = { until: release.promise };
  second.behaviour = { stalled: true };
  const asked = ask();
  await eventually('the second is asked as well', async () => second.requests.length > 0);
  assert.deepEqual(hedges, ['sent']);
  release.resolve();
  const answer = await asked;
  discard(answer);
  assert.equal(answer.gateway.origin, first.url);
  assert.deepEqual(hedges, ['sent', 'lost']);
});

test('a gateway that was overtaken and answers late is counted once', async (t) => {
  const { stubs, ask, attempts, asks } = await asksOf(t, 2);
  const [first, second] = stubs;
  assert.ok(first !== undefined && second !== undefined);
  const [late, prompt] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  first.behaviour = { until: late.promise };
  second.behaviour = { until: prompt.promise };
  const asked = ask();
  await eventually('the second is asked as well', async () => second.requests.length > 0);
  const since = performance.now();
  await eventually('it takes long', async () => performance.now() - since > 2 * asks.usual.hedgeAfterMs);
  prompt.resolve();
  discard(await asked);
  assert.deepEqual(attempts, ['success', 'timeout']);
  late.resolve();
  await eventually('the late answer is there', async () => inFlight() === 0);
  assert.deepEqual(attempts, ['success', 'timeout']);

  function inFlight(): number {
    return asks.gateways.all.reduce((sum, gateway) => sum + gateway.inFlight, 0);
  }
});
