import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { HttpError } from '../errors.ts';
import { testServer } from '../testing.ts';
import { type ClientLimit, limitClients } from './limit-clients.ts';

const plain: ClientLimit = { burst: 2, perMinute: 6, refusal: 'Too many' };

async function open(t: TestContext, limits: Record<string, ClientLimit>, proxies = 0) {
  const { app, mount } = testServer();
  t.after(() => app.close());
  const clock = { now: 0 };
  let worked = 0;
  limitClients(app, 'test', limits, proxies, () => clock.now);
  mount(
    (scope) => {
      for (const path of ['/one', '/two']) {
        scope.get(path, { config: { clientLimit: 'work' } }, async (request) => {
          worked += 1;
          if (request.headers['x-fail'] !== undefined) throw new HttpError(400, 'in vain');
          return 'done';
        });
      }
      scope.get('/free', async () => 'free');
    },
    ['/v1'],
  );
  await app.ready();
  const ask = async (path: string, remoteAddress = '192.0.2.1', headers: Record<string, string> = {}) => {
    const {
      statusCode,
      body,
      headers: answered,
    } = await app.inject({
      url: `/v1${path}`,
      remoteAddress,
      headers,
    });
    return [statusCode, body, answered['retry-after']];
  };
  return { ask, clock, worked: () => worked };
}

test('routes that share a limit are refused together, with the time to wait, and do nothing', async (t) => {
  const { ask, clock, worked } = await open(t, { work: plain });
  assert.equal((await ask('/one'))[0], 200);
  assert.equal((await ask('/two'))[0], 200);
  assert.deepEqual(await ask('/one'), [429, '"Too many"', '10']);
  assert.deepEqual(await ask('/two'), [429, '"Too many"', '10']);
  assert.equal(worked(), 2);
  assert.equal((await ask('/free'))[0], 200, 'other routes are not limited');
  clock.now += 10_000;
  assert.equal((await ask('/two'))[0], 200);
  assert.equal((await ask('/two'))[0], 429);
});

test('a network counts once, and others are not kept out by it', async (t) => {
  const { ask } = await open(t, { work: plain });
  assert.equal((await ask('/one', '2001:db8:1:2::1'))[0], 200);
  assert.equal((await ask('/one', '2001:db8:1:2::ffff'))[0], 200);
  assert.equal((await ask('/one', '2001:db8:1:2:abcd::1'))[0], 429);
  assert.equal((await ask('/one', '2001:db8:1:3::1'))[0], 200);
  assert.equal((await ask('/one', '192.0.2.1'))[0], 200);
});

test('behind proxies of ours the client is whom the last of them names', async (t) => {
  const { ask } = await open(t, { work: plain }, 1);
  const from = (address: string) =>
    ask('/one', '10.0.0.1', { 'x-forwarded-for': `made up by the client, ${address}` });
  assert.equal((await from('192.0.2.1'))[0], 200);
  assert.equal((await from('192.0.2.1'))[0], 200);
  assert.equal((await from('192.0.2.1'))[0], 429);
  assert.equal((await from('192.0.2.2'))[0], 200);
});

test('where only failures count, whoever succeeds goes on for ever', async (t) => {
  const failuresOnly = {
    ...plain,
    failuresOnly: true,
    counts: (request: { headers: object }) => !('x-uncounted' in request.headers),
  };
  const { ask } = await open(t, { work: failuresOnly });
  for (let made = 0; made < 5; made += 1) assert.equal((await ask('/one'))[0], 200);
  for (let made = 0; made < 5; made += 1) {
    assert.equal((await ask('/one', undefined, { 'x-fail': '1', 'x-uncounted': '1' }))[0], 400);
  }
  assert.equal((await ask('/one', undefined, { 'x-fail': '1' }))[0], 400);
  assert.equal((await ask('/one', undefined, { 'x-fail': '1' }))[0], 400);
  assert.equal((await ask('/one', undefined, { 'x-fail': '1' }))[0], 429);
  assert.equal((await ask('/one'))[0], 429);
});

test('a rate of 0 is no limit, and a limit that there is none of is found at the start', async (t) => {
  const { ask } = await open(t, { work: { ...plain, perMinute: 0 } });
  for (let made = 0; made < 5; made += 1) assert.equal((await ask('/one'))[0], 200);
  await assert.rejects(open(t, { other: plain }), /names the limit "work"/);
});
