import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { at, chainDown, NamesBench, text } from '../../../test/support/names-bench.ts';
import { namePrograms } from '../../formats/solana/programs.ts';
import { registerName, secondAntProgram, wallet } from '../../localnet/solana/testing.ts';

const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const payer = wallet('payer');
const owner = wallet('name owner');
const friend = wallet('name friend');
let bench: NamesBench;

before(async () => {
  bench = await NamesBench.start();
  await bench.give(payer, 1_000n * 10n ** 12n);
});
after(() => bench.stop());

async function act(action: string, body: Record<string, unknown>, by = owner): Promise<unknown> {
  const needsProof = action.includes('record');
  const created = await bench.create(action, body, payer, needsProof ? { owner: by } : {});
  assert.equal(created.status, 200, JSON.stringify(created.body));
  if (text(created.body, 'status') === 'completed') return created.body;
  const signed = await bench.sign(created.body, by);
  assert.equal(signed.status, 200, JSON.stringify(signed.body));
  return signed.body;
}

test('a token of another program is shown, and changed only where that program is trusted', async () => {
  const second = { ...namePrograms.mainnet, ant: secondAntProgram };
  const token = await registerName(bench.ledger, bench.service, owner, 'of-second', target, second);
  const shown = await bench.get('/arns/names/of-second');
  assert.equal(text(shown.body, 'token', 'program'), secondAntProgram);
  assert.deepEqual(at(shown.body, 'records', 0, 'target'), target);
  const history = await bench.get('/arns/names/of-second/history');
  assert.match(JSON.stringify(history.body), /initialize/);
  const held = await bench.balance(payer);
  const base = { antId: token.address, ownerAddress: owner.address };
  const record = { ...base, undername: 'docs', transactionId: target, ttlSeconds: 60 };
  const transfer = { ...base, target: friend.address };
  for (const [action, body] of Object.entries({ 'set-record': record, transfer })) {
    const refused = await bench.create(action, body, payer, action === 'set-record' ? { owner } : {});
    assert.equal(refused.status, 400);
    assert.match(String(refused.body), new RegExp(`belongs to the program ${secondAntProgram}`));
  }
  assert.equal(await bench.balance(payer), held);
  // What the registry is paid for calls no token program, whoever's it is.
  const wider = await bench.create('increase-undername-limit', { name: 'of-second', increaseQty: 1 }, payer);
  assert.equal(text(wider.body, 'status'), 'completed', JSON.stringify(wider.body));
  const { ledger, sql } = bench;
  const environment = { ANT_PROGRAMS_TRUSTED: secondAntProgram };
  const trusting = await NamesBench.start({ ledger, sql, environment });
  try {
    const set = await trusting.create('set-record', record, payer, { owner });
    assert.equal(text(set.body, 'status'), 'completed', JSON.stringify(set.body));
    assert.equal((await bench.registry.resolve('of-second', 'docs'))?.target, target);
    const moved = await trusting.create('transfer', transfer, payer);
    assert.equal(text((await trusting.sign(moved.body, owner)).body, 'status'), 'completed');
    assert.equal((await bench.registry.ant(token.address))?.owner, friend.address);
  } finally {
    await trusting.stop();
  }
});

test('a name is shown as it stands, from free to handed over, with what was done', async () => {
  const free = await bench.get('/arns/names/shown-name');
  assert.deepEqual([free.status, at(free.body, 'state'), at(free.body, 'token')], [200, 'free', undefined]);
  assert.equal(at((await bench.get('/arns/names/www')).body, 'state'), 'reserved');
  assert.equal((await bench.get('/arns/names/not_a_name')).status, 400);

  const bought = await act('buy-name', {
    name: 'shown-name',
    ownerAddress: owner.address,
    type: 'lease',
    years: 2,
  });
  const antId = text(bought, 'antId');
  const base = { antId, ownerAddress: owner.address };
  await act('set-record', { ...base, undername: 'docs', transactionId: target, ttlSeconds: 60 });
  await act('set-record-metadata', {
    ...base,
    undername: 'docs',
    displayName: 'Docs',
    recordKeywords: ['a'],
  });

  const { body } = await bench.get('/arns/names/Shown-Name');
  assert.deepEqual(
    ['state', 'type', 'antId', 'undernameLimit', 'extendableYears', 'service'].map((key) => at(body, key)),
    ['registered', 'lease', antId, 10, 3, bench.service.address],
  );
  assert.equal(Date.parse(text(body, 'endsAt')) - Date.parse(text(body, 'startedAt')), 2 * 365 * 86_400_000);
  assert.equal(text(body, 'token', 'owner'), owner.address);
  assert.deepEqual(at(body, 'token', 'controllers'), [owner.address, bench.service.address]);
  assert.deepEqual([text(body, 'records', 0, 'undername'), at(body, 'records', 0, 'index')], ['@', 0]);
  assert.deepEqual(at(body, 'records', 1), {
    undername: 'docs',
    target,
    protocol: 'arweave',
    ttlSeconds: 60,
    index: 1,
    displayName: 'Docs',
    keywords: ['a'],
  });

  const owned = await bench.get(`/arns/owned/${owner.address}`);
  assert.deepEqual(
    [at(owned.body, 'names', 0, 'name'), at(owned.body, 'names', 1)],
    ['shown-name', undefined],
  );
  await act('transfer', { ...base, target: friend.address });
  assert.deepEqual(at((await bench.get(`/arns/owned/${owner.address}`)).body, 'names'), []);
  assert.equal(at((await bench.get(`/arns/owned/${friend.address}`)).body, 'names', 0, 'antId'), antId);
  assert.equal((await bench.get('/arns/owned/nobody')).status, 400);

  const { body: told } = await bench.get('/arns/names/shown-name/history');
  const events = at(told, 'events');
  assert.ok(Array.isArray(events));
  const steps = events.map((event) =>
    (at(event, 'steps') as unknown[]).map((step) => text(step, 'instruction')),
  );
  for (const instruction of ['initialize', 'buy_name', 'set_record', 'transfer']) {
    assert.ok(steps.flat().includes(instruction), JSON.stringify(steps));
  }
  const set = (at(told, 'events') as unknown[]).find(
    (event) => at(event, 'steps', 0, 'instruction') === 'set_record',
  );
  assert.deepEqual(
    [text(set, 'steps', 0, 'values', 'undername'), text(set, 'steps', 0, 'values', 'target')],
    ['docs', target],
  );
});

test('a chain that does not answer is not a free name', async () => {
  bench.faults.before = chainDown;
  const answer = await bench.get('/arns/names/unread-name');
  delete bench.faults.before;
  assert.equal(answer.status, 503);
});
