import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { eventually } from '../../../test/support/eventually.ts';
import { createLogger } from '../../kernel/log.ts';
import { StubGateway } from '../testing/stub-gateway.ts';
import { discard, readBody } from './gateway.ts';
import { GatewaySet } from './gateway-set.ts';
import { pingRounds } from './part.ts';
import { atLeast, type GatewayList, peersList, registryList, staticList } from './sources.ts';

const log = createLogger({ name: 'test', level: 'silent', format: 'json' });
let server: Server;
let url: string;
/** What the other side says: a document, or a status. */
let said: unknown;
let asked: string[];
before(async () => {
  server = createServer((request, response) => {
    asked.push(request.url ?? '');
    if (typeof said === 'number') response.writeHead(said).end('no');
    else response.writeHead(200).end(typeof said === 'string' ? said : JSON.stringify(said));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  url = typeof address === 'object' && address !== null ? `http://127.0.0.1:${address.port}` : '';
});
after(() => {
  server.close();
  server.closeAllConnections();
});
beforeEach(() => {
  asked = [];
});

const registered = (fqdn: string, stake: number, more: object = {}) => ({
  status: 'joined',
  settings: { fqdn, port: 443, protocol: 'https' },
  operatorStake: stake,
  totalDelegatedStake: '5',
  ...more,
});

test('the registry names those that joined, by stake, with their own port', async () => {
  said = {
    items: [
      registered('small.example', 10),
      registered('large.example', 1_000),
      registered('delegated.example', 0, { totalDelegatedStake: '99999999999999999999' }),
      registered('left.example', 9_999, { status: 'leaving' }),
      registered('ported.example', 500, {
        settings: { fqdn: 'ported.example', port: 8443, protocol: 'http' },
      }),
      { status: 'joined' },
      'nonsense',
    ],
  };
  assert.deepEqual(await registryList(`${url}/registry`, []).read(), [
    'https://delegated.example',
    'https://large.example',
    'http://ported.example:8443',
    'https://small.example',
  ]);
  assert.deepEqual(await registryList(`${url}/registry`, [], 2).read(), [
    'https://delegated.example',
    'https://large.example',
  ]);
});

test('the peers of a gateway are those it names', async () => {
  said = {
    gateways: {
      'a.example:443': { url: 'https://a.example/' },
      'b.example:80': { url: 'http://b.example' },
      c: {},
    },
  };
  assert.deepEqual(await peersList(url, []).read(), ['https://a.example', 'http://b.example']);
  assert.deepEqual(asked, ['/ar-io/peers']);
});

test('a list of others leads nowhere inside, and one without anybody is an error', async () => {
  const inside = ['127.0.0.1', 'localhost', '10.0.0.1', '169.254.169.254', '[::1]', 'router.internal'];
  said = {
    items: [...inside.map((fqdn) => registered(fqdn, 1)), registered('out.example', 1)],
    gateways: Object.fromEntries(inside.map((host) => [host, { url: `http://${host}:80` }])),
  };
  assert.deepEqual(await registryList(url, []).read(), ['https://out.example']);
  await assert.rejects(peersList(url, []).read(), /names no gateway that can be used/);
  for (const wrong of [500, 'no JSON', {}, { items: {} }, [], null]) {
    said = wrong;
    await assert.rejects(registryList(url, []).read());
    await assert.rejects(peersList(url, []).read());
  }
});

const limits = {
  failureThreshold: 1,
  resetMs: 600_000,
  connections: 2,
  connectTimeoutMs: 60_000,
  requestTimeoutMs: 60_000,
  streamTimeoutMs: 60_000,
};

function setOf(routing: GatewayList, refreshMs = 20): GatewaySet {
  const verification = staticList(() => ['https://v.example', 'https://v.example/']);
  return new GatewaySet({
    routing,
    verification,
    strategy: 'random',
    limits,
    onAttempt: () => {},
    log,
    refreshMs,
  });
}

test('a list that changes is followed, one that fails is replaced by what was known', async (t) => {
  said = { items: [registered('one.example', 1), registered('two.example', 2)] };
  const set = setOf(registryList(url, ['https://fallback.example']));
  t.after(() => set.stop());
  await set.start();
  const origins = () => set.routing.map(({ origin }) => origin);
  assert.deepEqual(origins(), ['https://two.example', 'https://one.example']);
  assert.deepEqual(
    set.verification.map(({ origin }) => origin),
    ['https://v.example'],
    'each once',
  );
  const [two] = set.routing;
  two?.health.quarantine('operator', 'for a test');
  said = { items: [registered('two.example', 2), registered('three.example', 3)] };
  await eventually('the new gateway is listed', async () => origins().includes('https://three.example'));
  assert.deepEqual(origins(), ['https://three.example', 'https://two.example']);
  assert.equal(set.routing[1]?.health.state, 'quarantined', 'what is known of a gateway is not forgotten');
  said = 500;
  await eventually('the failure is noted', async () => set.problem !== undefined);
  assert.deepEqual(origins(), ['https://three.example', 'https://two.example']);
});

test('who leaves a list in quarantine is in quarantine when it comes back', async (t) => {
  const both = { items: [registered('one.example', 1), registered('two.example', 2)] };
  said = both;
  const set = setOf(registryList(url, []));
  t.after(() => set.stop());
  await set.start();
  for (const { health } of set.routing) health.observe('read', 'success', 50);
  set.find('https://one.example')?.health.quarantine('wrong-bytes', 'wrong bytes');
  said = { items: [registered('three.example', 3)] };
  await eventually('the gateway has left', async () => set.find('https://one.example') === undefined);
  said = both;
  await eventually('the gateway is back', async () => set.find('https://one.example') !== undefined);
  assert.equal(set.find('https://one.example')?.health.state, 'quarantined');
  assert.equal(set.find('https://two.example')?.health.state, 'healthy');
});

test('until a list can be read for the first time, the fallback is used and said to be', async (t) => {
  said = 500;
  const set = setOf(registryList(`${url}/?key=secret`, ['https://fallback.example']));
  t.after(() => set.stop());
  await set.start();
  assert.deepEqual(
    set.routing.map(({ origin }) => origin),
    ['https://fallback.example'],
  );
  assert.match(set.problem ?? '', /answered 500/);
});

test('why a list cannot be read is said without the rest of its address, which may be a key', async () => {
  for (const answer of [500, 'no JSON', { items: [] }]) {
    said = answer;
    for (const list of [registryList(`${url}/?key=secret`, []), peersList(url, [])]) {
      await assert.rejects(
        list.read(),
        ({ message }: Error) => !/secret|ar-io/.test(message) && message.includes(url),
      );
    }
  }
});

test('a list that names too few is not believed', async () => {
  said = { items: [registered('one.example', 1), registered('two.example', 2)] };
  await assert.rejects(atLeast(3, registryList(url, [])).read(), /names 2 gateways, fewer than the 3/);
  assert.equal((await atLeast(2, registryList(url, [])).read()).length, 2);
});

test('a list that cannot be read takes nothing from the other', async (t) => {
  said = 500;
  const set = new GatewaySet({
    routing: staticList(() => ['https://own.example']),
    verification: registryList(url, [], 3),
    strategy: 'random',
    limits,
    onAttempt: () => {},
    log,
    refreshMs: 20,
  });
  t.after(() => set.stop());
  await set.start();
  assert.deepEqual(
    set.routing.map(({ origin }) => origin),
    ['https://own.example'],
  );
  assert.match(set.problem ?? '', /answered 500/);
});

test('what a gateway is sending arrives to the end, also when it is in no list any more', async (t) => {
  const finish = Promise.withResolvers<void>();
  const sender = createServer((_request, response) => {
    response.writeHead(200, { 'content-length': '6' });
    response.write('abc');
    void finish.promise.then(() => response.end('def'));
  }).listen(0, '127.0.0.1');
  await once(sender, 'listening');
  const address = sender.address();
  assert.ok(typeof address === 'object' && address !== null);
  const origin = `http://127.0.0.1:${address.port}`;
  let origins = [origin];
  const changing: GatewayList = {
    source: 'static',
    changes: true,
    foreign: false,
    fallback: [],
    read: async () => origins,
  };
  const set = setOf(changing, 5);
  t.after(async () => {
    await set.stop();
    sender.close();
    sender.closeAllConnections();
  });
  await set.start();
  const gateway = set.find(origin);
  assert.ok(gateway !== undefined);
  const answer = await gateway.ask({ role: 'content', path: '/' });
  origins = ['https://other.example'];
  await eventually('the gateway has left', async () => set.find(origin) === undefined);
  finish.resolve();
  assert.equal((await readBody(answer, 10)).toString(), 'abcdef');
  await assert.rejects(gateway.ask({ role: 'content', path: '/' }), 'it is asked nothing more');
});

test('a set that stops waits for no body of those that are in no list any more', async (t) => {
  const sender = createServer((_request, response) => response.writeHead(200).write('abc')).listen(
    0,
    '127.0.0.1',
  );
  await once(sender, 'listening');
  t.after(() => {
    sender.close();
    sender.closeAllConnections();
  });
  const address = sender.address();
  assert.ok(typeof address === 'object' && address !== null);
  const origin = `http://127.0.0.1:${address.port}`;
  let origins = [origin];
  const set = setOf(
    { source: 'static', changes: true, foreign: false, fallback: [], read: async () => origins },
    5,
  );
  await set.start();
  const answer = await set.find(origin)?.ask({ role: 'content', path: '/' });
  assert.ok(answer !== undefined);
  origins = [];
  await eventually('the gateway has left', async () => set.find(origin) === undefined);
  await set.stop();
  await assert.rejects(readBody(answer, 10));
});

test('a gateway that a stranger named is not connected to where its name leads inside', async (t) => {
  const stub = await new StubGateway().start();
  t.after(() => stub.stop());
  const origin = stub.url.replace('127.0.0.1', 'localhost');
  for (const foreign of [true, false]) {
    const list = { source: 'network', changes: false, foreign, fallback: [], read: async () => [origin] };
    const set = setOf(list);
    t.after(() => set.stop());
    await set.start();
    const asked = set.routing[0]?.ask({ role: 'ping', path: '/ar-io/info' });
    if (foreign) await assert.rejects(asked ?? Promise.resolve(), /no public address/);
    else await asked?.then(discard);
  }
  assert.equal(stub.requests.length, 1);
});

test('pings measure gateways, probe a half-open circuit, and lift no quarantine', async (t) => {
  const stubs = await Promise.all([1, 2, 3].map(() => new StubGateway().start()));
  const set = new GatewaySet({
    routing: staticList(() => stubs.map((stub) => stub.url)),
    verification: staticList(() => []),
    strategy: 'fastest',
    limits,
    onAttempt: () => {},
    log,
    refreshMs: 1_000,
  });
  t.after(async () => {
    await set.stop();
    await Promise.all(stubs.map((stub) => stub.stop()));
  });
  await set.start();
  const now = performance.now.bind(performance);
  let ahead = 0;
  t.mock.method(performance, 'now', () => now() + ahead);
  const ping = pingRounds(set, 60_000);
  const [first, second, third] = set.routing;
  assert.ok(first !== undefined && second !== undefined && third !== undefined);
  first.health.observe('read', 'server_error', undefined);
  assert.equal(first.health.state, 'open');
  third.health.quarantine('wrong-bytes', 'wrong bytes');
  await ping();
  assert.equal(stubs[0]?.requests.length, 0, 'an open circuit is left alone');
  assert.ok(second.health.latencyMs !== undefined, 'measured without a reader');
  ahead = limits.resetMs;
  assert.equal(first.health.state, 'half-open');
  await ping();
  assert.equal(first.health.state, 'healthy');
  assert.equal(third.health.state, 'quarantined');
});
