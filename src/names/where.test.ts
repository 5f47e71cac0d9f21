import assert from 'node:assert/strict';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { after, before, beforeEach, test } from 'node:test';
import { at, chainDown, NamesBench } from '../../test/support/names-bench.ts';
import { wallet } from '../localnet/solana/testing.ts';
import type { NameChange } from './changes.ts';
import type { KnownGateway } from './where.ts';

const [old, now] = ['T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4', `${'B'.repeat(42)}A`] as const;
const payer = wallet('payer');
const owner = wallet('name owner');
const told: NameChange[] = [];
let known: readonly KnownGateway[] = [];
let bench: NamesBench;
let antId = '';

interface StandIn {
  readonly url: string;
  answer: (request: IncomingMessage, response: ServerResponse) => void;
  asked: number;
  stop(): Promise<void>;
}

/** A gateway that has an address and no hosts of names. */
async function standIn(): Promise<StandIn> {
  const server = createServer((request, response) => {
    gateway.asked += 1;
    gateway.answer(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const gateway: StandIn = {
    url: `http://127.0.0.1:${port}`,
    answer: showing(now),
    asked: 0,
    stop: () => new Promise((resolve) => server.close(() => resolve())),
  };
  return gateway;
}

const showing =
  (txId: string, resolvedAt = 0) =>
  (request: IncomingMessage, response: ServerResponse): void => {
    assert.match(String(request.url), /^\/ar-io\/resolver\/(docs_)?watched-name$/);
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ txId, ttlSeconds: 900, resolvedAt: resolvedAt || bench.ledger.time }));
  };

const three = await Promise.all([standIn(), standIn(), standIn()]);
const [first, second, third] = three as [StandIn, StandIn, StandIn];

before(async () => {
  const listener = {
    name: 'test',
    tell: async (changes: readonly NameChange[]) => void told.push(...changes),
  };
  const deaf = { name: 'deaf', tell: () => Promise.reject(new Error('nobody is there')) };
  bench = await NamesBench.start({ listeners: [listener, deaf], gateways: () => known });
  await bench.give(payer, 1_000n * 10n ** 12n);
  antId = await bench.buy('watched-name', owner, payer);
  await set(now);
});
beforeEach(() => {
  known = three.map(({ url }) => ({ origin: url, foreign: false }));
  for (const gateway of three) gateway.answer = showing(now);
});
after(async () => {
  await bench.stop();
  await Promise.all(three.map((gateway) => gateway.stop()));
});

async function set(transactionId: string, undername = '@'): Promise<void> {
  const body = { antId, ownerAddress: owner.address, transactionId, undername, ttlSeconds: 900 };
  const done = await bench.create('set-record', body, payer, { owner });
  assert.equal(done.status, 200, JSON.stringify(done.body));
  await bench.names.settled();
}

async function where(label = 'watched-name') {
  const { status, body } = await bench.get(`/arns/where/${label}`);
  assert.equal(status, 200, JSON.stringify(body));
  return body;
}

test('of three gateways the one that is behind is named, with the time it has left', async () => {
  second.answer = showing(old, bench.ledger.time - 300_000);
  await set(now);
  const found = await where();
  assert.deepEqual(
    [at(found, 'name'), at(found, 'target'), at(found, 'antId')],
    ['watched-name', now, antId],
  );
  assert.deepEqual(at(found, 'stale'), [second.url]);
  const [one, two] = [at(found, 'gateways', 0), at(found, 'gateways', 1)];
  assert.deepEqual([at(one, 'state'), at(one, 'target'), at(one, 'secondsLeft')], ['current', now, 900]);
  assert.deepEqual([at(two, 'state'), at(two, 'target'), at(two, 'secondsLeft')], ['stale', old, 600]);
});

test('one that does not answer is told from one that shows nothing', async () => {
  first.answer = (_, response) => void response.writeHead(404).end();
  second.answer = (_, response) => void response.writeHead(500).end();
  third.answer = (request) => request.socket.destroy();
  await set(now);
  const found = await where();
  const states = [0, 1, 2].map((index) => at(found, 'gateways', index, 'state'));
  assert.deepEqual(states, ['stale', 'silent', 'silent']);
  assert.equal(at(found, 'gateways', 1, 'problem'), 'answered 500');
  assert.deepEqual(at(found, 'stale'), [first.url]);
});

test('gateways are asked once in a while, however many look, and again after a change', async () => {
  await set(now);
  first.asked = 0;
  await Promise.all([where(), where(), where()]);
  await where();
  assert.equal(first.asked, 1);
  await set(old);
  assert.deepEqual(
    at(await where(), 'stale'),
    three.map(({ url }) => url),
  );
  assert.equal(first.asked, 2);
  await set(now);
});

test('strangers of a list are not asked inside our own network, and nobody twice', async () => {
  await set(now);
  known = [
    { origin: first.url, foreign: false },
    { origin: `${first.url}/`, foreign: true },
    { origin: second.url, foreign: true },
    { origin: 'http://inside.internal', foreign: true },
    { origin: 'nonsense', foreign: false },
  ];
  const found = await where();
  assert.deepEqual([at(found, 'gateways', 0, 'gateway'), at(found, 'gateways', 1)], [first.url, undefined]);
});

test('undernames are looked for too; what is no name, and a chain that does not say, are told so', async () => {
  await set(now, 'docs');
  assert.deepEqual(
    [at(await where('docs_watched-name'), 'stale'), at(await where('docs_watched-name'), 'target')],
    [[], now],
  );
  for (const label of ['not_a name', '@_watched-name', '_watched-name', 'x'.repeat(52)]) {
    assert.equal((await bench.get(`/arns/where/${encodeURIComponent(label)}`)).status, 400, label);
  }
  bench.faults.before = chainDown;
  assert.equal((await bench.get('/arns/where/other-name')).status, 503);
  bench.faults.before = () => {};
});

test('whoever remembers names is told what was changed, and one that is away costs the others nothing', async () => {
  told.length = 0;
  await set(old, 'Docs');
  assert.deepEqual(told, [{ name: 'watched-name', undername: 'docs' }]);
  const removal = { antId, ownerAddress: owner.address, undername: 'docs' };
  await bench.create('remove-record', removal, payer, { owner });
  await bench.create('increase-undername-limit', { name: 'watched-name', increaseQty: 1 }, payer);
  await bench.create('extend-lease', { name: 'watched-name', years: 1 }, payer);
  await bench.names.settled();
  assert.deepEqual(told.slice(1), [{ name: 'watched-name', undername: 'docs' }, { name: 'watched-name' }]);
});
