import assert from 'node:assert/strict';
import { after, beforeEach, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { HttpError } from '../../kernel/errors.ts';
import { createLogger } from '../../kernel/log.ts';
import { Gateway } from '../gateways/gateway.ts';
import { StubGateway } from '../testing/stub-gateway.ts';
import { type KeptName, NameResolver, type NameResolverOptions } from './resolver.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
const limits = {
  failureThreshold: 100,
  resetMs: 1_000,
  connections: 4,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};
const [one, two, three] = ['A', 'B', 'C'].map((letter) => letter.repeat(42).concat('A')) as [
  string,
  string,
  string,
];

const stubs = await Promise.all([1, 2, 3].map(() => new StubGateway().start()));
const gateways = stubs.map(({ url }) => new Gateway(url, limits, () => {}));
after(async () => {
  await Promise.all(gateways.map((gateway) => gateway.close()));
  await Promise.all(stubs.map((stub) => stub.stop()));
});
beforeEach(() => {
  for (const stub of stubs) {
    stub.behaviour = {};
    stub.names.clear();
    stub.requests.length = 0;
  }
  for (const gateway of gateways) gateway.health.release();
});

const point = (name: string, id: string, ttlSeconds = 60, which = stubs) => {
  for (const stub of which) stub.names.set(name, { id, ttlSeconds });
};
const asked = () => stubs.reduce((sum, stub) => sum + stub.requests.length, 0);
const refused = (status: number) => (error: unknown) => error instanceof HttpError && error.status === status;

function resolver(options: Partial<NameResolverOptions> = {}) {
  const clock = { now: Date.parse('2026-05-01T00:00:00Z') };
  const kept = new Map<string, KeptName>();
  const disagreed: string[] = [];
  const make = () =>
    new NameResolver({
      verifiers: () => gateways,
      rules: { threshold: 2, unanimous: false },
      maxTtlMs: 300_000,
      log,
      onBallot: (gateway, agreed) => {
        if (!agreed) disagreed.push(gateway);
      },
      onResolution: () => {},
      now: () => clock.now,
      steadyNow: () => clock.now,
      keep: {
        load: async (label) => kept.get(label),
        save: (label, name) => void kept.set(label, name),
        remove: (label) => void kept.delete(label),
      },
      ...options,
    });
  return { clock, kept, disagreed, make, names: make() };
}

test('a target is believed for its time to live, and no longer than the router allows', async () => {
  const { names, clock } = resolver({ maxTtlMs: 120_000 });
  point('short', one, 60);
  point('long', one, 86_400);
  await names.resolve('short');
  assert.equal((await names.resolve('long')).freshSeconds, 120);
  await eventually('all verifiers are asked', async () => asked() === 6);
  clock.now += 59_000;
  assert.equal((await names.resolve('short')).stale, false);
  assert.equal((await names.resolve('short')).freshSeconds, 1);
  assert.equal(asked(), 6, 'nobody was asked');
  clock.now += 2_000;
  assert.equal((await names.resolve('short')).stale, true);
  await eventually('they are asked again', async () => asked() === 9); // behind the reader's back
});

test('a name that moved is shown as it was while it is asked for again, then as it is', async () => {
  const { names, clock } = resolver();
  point('moving', one);
  await names.resolve('moving');
  point('moving', two);
  clock.now += 61_000;
  const [first, second] = await Promise.all([names.resolve('moving'), names.resolve('moving')]);
  assert.deepEqual([first.id, second.id], [one, one]);
  await eventually('the fresh target is there', async () => !(await names.resolve('moving')).stale);
  assert.equal((await names.resolve('moving')).id, two);
  await eventually('all are asked twice', async () => asked() >= 6);
  assert.equal(asked(), 6, 'both who came at once were one question');
});

test('a name that was removed is gone at once for everybody, restarts included', async () => {
  const { names, clock, kept, make } = resolver();
  point('leaving', one);
  await names.resolve('leaving');
  for (const stub of stubs) stub.names.clear();
  clock.now += 61_000;
  assert.equal((await names.resolve('leaving')).id, one, 'once more while it is asked for');
  await eventually('the kept name is removed', async () => kept.size === 0);
  await assert.rejects(names.resolve('leaving'), refused(404));
  await assert.rejects(make().resolve('leaving'), refused(404));
});

test('that a name points nowhere is remembered for half a minute', async () => {
  const { names, clock } = resolver();
  await assert.rejects(names.resolve('nobody'), refused(404));
  await eventually('all are asked once', async () => asked() === 3);
  for (let round = 0; round < 20; round += 1) await assert.rejects(names.resolve('nobody'), refused(404));
  assert.equal(asked(), 3);
  point('nobody', one);
  clock.now += 30_001;
  assert.equal((await names.resolve('nobody')).id, one);
});

test('that it points nowhere is not remembered for as long as the clock was ahead', async () => {
  const { names, clock } = resolver();
  clock.now += 12 * 3_600_000;
  await assert.rejects(names.resolve('nobody'), refused(404));
  clock.now -= 12 * 3_600_000;
  point('nobody', one);
  assert.equal((await names.resolve('nobody')).id, one);
});

test('one that is behind, lying or silent decides nothing, and is named', async () => {
  const { names, disagreed } = resolver();
  point('site', one);
  point('site', two, 60, stubs.slice(0, 1));
  // Those who agree are enough: one of them answers after the one that does not.
  const odd = stubs[0]?.served(/resolver/) ?? Promise.resolve();
  for (const stub of stubs.slice(1)) stub.behaviour = { until: odd };
  assert.equal((await names.resolve('site')).id, one);
  assert.deepEqual(disagreed, [stubs[0]?.url]);
  point('other', three);
  const [first] = stubs;
  if (first !== undefined) first.behaviour = { stalled: true };
  assert.equal((await names.resolve('other')).id, three);
  first?.dropConnections();
});

test('as many must agree as the operator said, however many are left', async () => {
  const { names } = resolver();
  point('site', one);
  point('site', two, 60, stubs.slice(0, 1));
  for (const gateway of gateways.slice(1)) gateway.health.quarantine('operator', 'in this test');
  await assert.rejects(names.resolve('site'), refused(503));
});

test('when nobody can be asked, what was known holds for a day', async () => {
  const { names, clock, make } = resolver();
  point('site', one);
  await names.resolve('site');
  for (const stub of stubs) stub.behaviour = { status: 500 };
  clock.now += 3_600_000;
  const later = await names.resolve('site');
  assert.deepEqual([later.id, later.stale], [one, true]);
  assert.equal((await make().resolve('site')).id, one, 'after a restart too');
  clock.now += 24 * 3_600_000;
  await assert.rejects(names.resolve('site'), refused(503));
});

test('while they contradict each other, what was known holds if one still says so', async () => {
  const { names, clock } = resolver();
  point('site', one);
  await names.resolve('site');
  clock.now += 3_600_000;
  stubs.forEach((stub, index) => {
    stub.names.set('site', { id: [one, two, three][index] ?? '', ttlSeconds: 60 });
  });
  assert.deepEqual([(await names.resolve('site')).id, (await names.resolve('site')).stale], [one, true]);
  stubs[0]?.names.set('site', { id: 'D'.repeat(42).concat('A'), ttlSeconds: 60 });
  await assert.rejects(names.resolve('site'), refused(502));
});

test('a target that is no transaction is said to be unsupported', async () => {
  const { names } = resolver();
  point('cid', 'bafybeigdyrzt5sfp7udm7hu76uh7y26nf3efuylqabf3oclgtqy55fbzdi');
  await assert.rejects(names.resolve('cid'), refused(501));
});

test('everybody who asks for the same name at once is one question', async () => {
  const { names } = resolver();
  point('site', one);
  await Promise.all(Array.from({ length: 50 }, () => names.resolve('site')));
  await eventually('all are asked', async () => asked() >= 3);
  assert.equal(asked(), 3);
});

test('while nobody can be asked, only the first reader of an old name waits to hear it', async () => {
  const { names, clock } = resolver({ timeoutMs: 60_000 });
  point('site', one);
  await names.resolve('site');
  for (const stub of stubs) stub.behaviour = { stalled: true };
  clock.now += 3_600_000;
  assert.deepEqual(await shown(unheard(names.resolve('site'))), [one, true]);
  const before = asked();
  let answered = 0;
  const first = names.resolve('site').then((name) => {
    answered += 1;
    return name;
  });
  await eventually('somebody is asked', async () => asked() > before);
  assert.equal(answered, 1, 'answered before those who were asked have said anything');
  assert.deepEqual(await shown(first), [one, true]);
  for (const stub of stubs) stub.dropConnections();
  for (const stub of stubs) stub.behaviour = {};
  point('site', two);
  await eventually('the moved name is known', async () => (await names.resolve('site')).id === two);
  for (const stub of stubs) stub.behaviour = { stalled: true };
  clock.now += 25 * 3_600_000;
  await assert.rejects(unheard(names.resolve('site')), refused(503), 'a day is the end of it');
});

test('a name that was learnt by a clock ahead is not fresh again when that time comes', async () => {
  const clock = { now: 0, ahead: 3_600_000 };
  const { names } = resolver({ now: () => clock.now + clock.ahead, steadyNow: () => clock.now });
  point('name', one, 60);
  assert.equal((await names.resolve('name')).id, one);
  point('name', two, 60);
  clock.now += clock.ahead;
  clock.ahead = 0;
  assert.equal((await names.resolve('name')).id, two);
});

test('a clock that is set back makes no name younger', async () => {
  const { names, clock } = resolver();
  point('site', one);
  await names.resolve('site');
  point('site', two);
  clock.now -= 3_600_000;
  assert.equal((await names.resolve('site')).id, two);
});

/** What comes of it when everybody who is asked hangs up. */
async function unheard<T>(answer: Promise<T>): Promise<T> {
  let waits = true;
  const over = (): void => {
    waits = false;
  };
  answer.then(over, over);
  await eventually('there is an answer', async () => {
    for (const stub of stubs) stub.dropConnections();
    return !waits;
  });
  return await answer;
}

async function shown(name: Promise<{ id: string; stale: boolean }>): Promise<[string, boolean]> {
  const { id, stale } = await name;
  return [id, stale];
}

test('a name that was changed is asked for again, on disk too, and of the own gateway alone while others are behind', async () => {
  const own = stubs[0]?.url;
  const { names, clock, make, kept } = resolver({ isOwn: (origin) => origin === own });
  point('mine', one, 86_400);
  point('docs_mine', one, 86_400);
  assert.equal((await names.resolve('mine')).id, one);
  assert.equal((await names.resolve('docs_mine')).id, one);
  point('mine', two, 86_400, stubs.slice(0, 1));
  assert.equal((await names.resolve('mine')).id, one, 'as its record says');
  names.changed({ name: 'mine', undername: '@' });
  assert.equal((await names.resolve('mine')).id, two);
  assert.equal((await names.resolve('docs_mine')).id, one);
  assert.ok((await names.resolve('mine')).freshSeconds <= 2);
  // Once it has settled it is asked for once more, and then believed as any other.
  clock.now += 61_000;
  point('mine', three, 86_400, stubs.slice(0, 1));
  assert.equal((await names.resolve('mine')).id, three);
  assert.equal((await names.resolve('mine')).freshSeconds, 300);
  const later = make();
  kept.set('docs_mine', { id: one, antId: undefined, ttlSeconds: 60, resolvedAt: clock.now - 1, by: [] });
  later.changed({ name: 'mine' });
  point('docs_mine', three, 60, stubs.slice(0, 1));
  assert.equal((await later.resolve('docs_mine')).id, three, 'what was kept before the change is not used');
});
