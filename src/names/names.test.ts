import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { at, NamesBench, ownerHeaders, payerHeaders, text } from '../../test/support/names-bench.ts';
import { winc } from '../credits/credits.ts';
import { wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const payer = wallet('payer');
const owner = wallet('name owner');
const friend = wallet('name friend');
let bench: NamesBench;

before(async () => {
  bench = await NamesBench.start();
  await bench.give(payer, 1_000n * credit);
});
after(() => bench.stop());

test('a name is priced, bought and managed for a life, and its owner never holds a lamport', async () => {
  const price = await bench.get('/arns/price/buy-name/whole-life-name?type=lease&years=1');
  assert.equal(price.status, 200);
  assert.equal(price.headers['cache-control'], 'max-age=60');
  assert.equal(text(price.body, 'mTOKEN'), '240000000');
  assert.equal(text(price.body, 'mARIO'), '240000000');
  assert.equal(text(price.body, 'winc'), '384000000000');
  const total = BigInt(text(price.body, 'wincTotalWithAntSpawn'));
  assert.equal(total, 384_000_000_000n + BigInt(text(price.body, 'antSpawnSurchargeWinc')));

  const held = await bench.balance(payer);
  const created = await bench.create(
    'buy-name',
    {
      name: 'Whole-Life-Name',
      ownerAddress: owner.address,
      type: 'lease',
      years: 1,
      antState: { ticker: 'LIFE' },
    },
    payer,
  );
  assert.equal(created.status, 200, JSON.stringify(created.body));
  assert.equal(text(created.body, 'status'), 'awaiting-signature');
  assert.equal(text(created.body, 'wincQty'), total.toString());
  assert.equal(text(created.body, 'feePayer'), bench.service.address);
  assert.match(text(created.body, 'lastValidBlockHeight'), /^[0-9]+$/);
  assert.equal(await bench.balance(payer), held - total);
  const nonce = text(created.body, 'nonce');
  assert.equal(
    text((await bench.get(`/arns/actions/${nonce}`)).body, 'transaction'),
    text(created.body, 'transaction'),
  );

  const signed = await bench.sign(created.body, owner);
  assert.equal(signed.status, 200, JSON.stringify(signed.body));
  assert.equal(text(signed.body, 'status'), 'completed');
  assert.equal(at(signed.body, 'alreadyCompleted'), undefined);
  const antId = text(signed.body, 'antId');
  assert.equal(antId, text(created.body, 'antId'));
  const again = await bench.post(`/arns/actions/${nonce}/sign`, { transaction: 'irrelevant' });
  assert.equal(at(again.body, 'alreadyCompleted'), true);
  assert.equal(text(again.body, 'messageId'), text(signed.body, 'messageId'));
  assert.equal(text((await bench.get(`/arns/actions/${nonce}`)).body, 'status'), 'completed');
  assert.equal(await bench.balance(payer), held - total);
  const resolved = await bench.registry.resolve('whole-life-name');
  assert.equal(resolved?.antId, antId);
  assert.equal(resolved?.target, bench.config.ARNS_DEFAULT_TARGET);

  const base = { antId, ownerAddress: owner.address };
  const record = async (action: string, body: object) => {
    const answer = await bench.create(action, { ...base, ...body }, payer, { owner });
    assert.equal(answer.status, 200, `${action}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  assert.equal(
    text(await record('set-record', { transactionId: target, undername: '@', ttlSeconds: 3600 }), 'status'),
    'completed',
  );
  assert.equal((await bench.registry.resolve('whole-life-name'))?.target, target);
  await record('set-record', { transactionId: target, undername: 'docs', ttlSeconds: 60 });
  await record('set-record-metadata', { undername: 'docs', displayName: 'Docs', recordKeywords: ['a', 'b'] });
  await record('set-record-metadata', { undername: 'docs', recordDescription: 'about' });
  await record('set-record-metadata', { undername: 'docs', displayName: null });
  const metadata = await bench.registry.metadata(resolved!.antId, 'docs');
  assert.deepEqual(
    [metadata?.displayName, metadata?.description, metadata?.keywords],
    [undefined, 'about', ['a', 'b']],
  );
  await record('transfer-record', { undername: 'docs', target: friend.address });
  await record('set-record', { transactionId: target, undername: 'docs', ttlSeconds: 90 });
  assert.equal((await bench.registry.record(resolved!.antId, 'docs'))?.owner, friend.address);
  await record('remove-record-metadata', { undername: 'docs' });
  await record('set-record-metadata', { undername: 'docs', displayName: 'again' });
  await record('remove-record', { undername: 'docs' });
  assert.equal(await bench.registry.metadata(resolved!.antId, 'docs'), undefined);

  const removed = await bench.create('remove-controller', base, payer);
  assert.equal(text(removed.body, 'status'), 'awaiting-signature');
  assert.equal(text((await bench.sign(removed.body, owner)).body, 'status'), 'completed');
  for (const [action, body] of [
    ['set-record', { transactionId: target, undername: 'blog', ttlSeconds: 3600 }],
    ['set-record-metadata', { undername: 'blog', displayName: 'Blog' }],
    ['transfer-record', { undername: 'blog', target: friend.address }],
    ['remove-record', { undername: 'blog' }],
  ] as const) {
    const answer = await record(action, body);
    assert.equal(text(answer, 'status'), 'awaiting-signature', action);
    const done = await bench.sign(answer, owner);
    assert.equal(text(done.body, 'status'), 'completed', JSON.stringify(done.body));
    assert.equal(bench.ledger.balance(owner), 0n, action);
  }
  const added = await bench.create('add-controller', base, payer);
  assert.equal(text((await bench.sign(added.body, owner)).body, 'status'), 'completed');
  const moved = await bench.create('transfer', { ...base, target: friend.address }, payer);
  assert.equal(text((await bench.sign(moved.body, owner)).body, 'status'), 'completed');
  assert.equal((await bench.registry.ant(resolved!.antId))?.owner, friend.address);
  assert.equal(bench.ledger.balance(owner), 0n);
  const former = await bench.create('set-record', { ...base, transactionId: target }, payer, { owner });
  assert.equal(former.status, 401);
  assert.equal(former.body, 'Invalid or unbound signature for this action');
});

test('a name is extended, widened and made permanent by anybody who pays', async () => {
  await bench.buy('paid-by-anybody', owner, payer);
  const stranger = wallet('stranger');
  await bench.give(stranger, 100n * credit);
  const before = (await bench.registry.name('paid-by-anybody')).record;
  for (const [action, body, query] of [
    ['extend-lease', { years: 2 }, 'years=2'],
    ['increase-undername-limit', { increaseQty: 5 }, 'increaseQty=5'],
    ['upgrade-name', {}, ''],
  ] as const) {
    const price = await bench.get(`/arns/price/${action}/paid-by-anybody?${query}`);
    const held = await bench.balance(stranger);
    const answer = await bench.create(action, { name: 'paid-by-anybody', ...body }, stranger);
    assert.equal(text(answer.body, 'status'), 'completed', JSON.stringify(answer.body));
    assert.equal(await bench.balance(stranger), held - BigInt(text(price.body, 'winc')), action);
    assert.equal(at(price.body, 'antSpawnSurchargeWinc'), undefined);
  }
  const after = (await bench.registry.name('paid-by-anybody')).record;
  assert.deepEqual([after?.type, after?.end, after?.undernameLimit], ['permabuy', undefined, 15]);
  assert.equal(before?.type, 'lease');
  const names = await bench.get(`/arns/my-names/${stranger.address}`);
  assert.equal(at(names.body, 'names', 0, 'name'), 'paid-by-anybody');
  const mine = await bench.get(`/arns/my-names/${owner.address}`);
  assert.ok(JSON.stringify(mine.body).includes('"intent":"Buy-Name"'));
  assert.deepEqual((await bench.get('/arns/my-names/nobody')).body, { names: [] });
});

test('the same payer and nonce get the same action and pay once', async () => {
  const nonce = randomUUID();
  const body = { name: 'asked-twice', ownerAddress: owner.address, type: 'permabuy' };
  const held = await bench.balance(payer);
  const [first, second] = await Promise.all([
    bench.create('buy-name', body, payer, { nonce }),
    bench.create('buy-name', body, payer, { nonce }),
  ]);
  const both = [first, second].map((answer) => text(answer.body, 'transaction'));
  assert.equal(both[0], both[1]);
  const price = BigInt(text(first.body, 'wincQty'));
  assert.equal(await bench.balance(payer), held - price);
  const other = wallet('nonce thief');
  await bench.give(other, 10_000n * credit);
  const theft = await bench.create('buy-name', body, other, { nonce });
  assert.equal(theft.status, 401);
  await bench.sign(first.body, owner);
  const third = await bench.create('buy-name', body, payer, { nonce });
  assert.deepEqual([text(third.body, 'status'), at(third.body, 'alreadyCompleted')], ['completed', true]);
  assert.equal(await bench.balance(payer), held - price);
});

test('a nonce that was shown on another route cannot be used to act', async () => {
  const nonce = randomUUID();
  await bench.get('/arns/price/upgrade-name/asked-twice', payerHeaders(payer, nonce));
  await bench.get('/arns/price/buy-name/other-name?type=permabuy', payerHeaders(payer, nonce));
  const answer = await bench.create('extend-lease', { name: 'paid-by-anybody', years: 1 }, payer, { nonce });
  assert.deepEqual([answer.status, answer.body], [401, 'Nonce already used — replay rejected']);
});

test('without enough credits nothing happens', async () => {
  const poor = wallet('poor payer');
  const body = { name: 'too-dear', ownerAddress: owner.address, type: 'lease', years: 1 };
  const answer = await bench.create('buy-name', body, poor);
  assert.equal(answer.status, 402);
  const price = answer.headers['x-price-winc'];
  assert.ok(Number(price) > 0);
  assert.equal(
    answer.body,
    `Insufficient balance for '${poor.address}': it costs ${price} winc, the wallet has 0, ${price} are missing`,
  );
  assert.equal((await bench.registry.name('too-dear')).record, undefined);
  const nonce = randomUUID();
  await bench.create('buy-name', body, poor, { nonce });
  assert.equal((await bench.get(`/arns/actions/${nonce}`)).status, 404);
});

test('a friend pays through his approval, and gets it back when the action ends in nothing', async () => {
  const lender = wallet('lender');
  const borrower = wallet('borrower');
  await bench.give(lender, 100n * credit);
  await bench.credits.approve({
    id: 'approval-1',
    payer: lender.address,
    approved: borrower.address,
    amount: winc(50n * credit),
  });
  const body = {
    name: 'lent-name',
    ownerAddress: owner.address,
    type: 'lease',
    years: 1,
    paidBy: [lender.address],
  };
  const created = await bench.create('buy-name', body, borrower);
  assert.equal(created.status, 200, JSON.stringify(created.body));
  const used = async () =>
    (await bench.credits.approvals(lender.address, borrower.address))[0]?.usedWincAmount;
  assert.equal(await used(), text(created.body, 'wincQty'));
  bench.ledger.skip(151);
  bench.ledger.skipSeconds(120);
  await bench.names.reconcile();
  assert.equal(await used(), '0');
  assert.equal(
    text((await bench.get(`/arns/actions/${text(created.body, 'nonce')}`)).body, 'status'),
    'expired',
  );
});

test('proofs with a field changed, replayed, missing or by somebody else are refused and cost nothing', async () => {
  const antId = await bench.buy('proof-name', owner, payer);
  const body = {
    antId,
    ownerAddress: owner.address,
    transactionId: target,
    undername: 'docs',
    ttlSeconds: 600,
  };
  const held = await bench.balance(payer);
  const wrong = ownerHeaders('set-record', body, owner);
  for (const [name, value] of [
    ['ttlSeconds', 601],
    ['undername', 'doc'],
    ['transactionId', target.replace('T', 'U')],
    ['undername', 'DOCS'],
  ] as const) {
    const answer = await bench.create('set-record', { ...body, [name]: value }, payer, { headers: wrong });
    assert.deepEqual(
      [answer.status, answer.body],
      [401, 'Invalid or unbound signature for this action'],
      name,
    );
  }
  const unproven = await bench.create('set-record', body, payer);
  assert.deepEqual([unproven.status, unproven.body], [401, 'Signed request is required for this route']);
  const foreign = await bench.create('set-record', body, payer, { owner: friend });
  assert.equal(foreign.status, 401);
  const lying = { ...body, ownerAddress: friend.address };
  assert.equal((await bench.create('set-record', lying, payer, { owner: friend })).status, 401);
  // A proof that was shown for something else than it covers has been seen, and is good for nothing any more.
  const late = await bench.create('set-record', body, payer, { headers: wrong });
  assert.deepEqual([late.status, late.body], [401, 'Nonce already used — replay rejected']);
  assert.equal(await bench.balance(payer), held);
  const proof = ownerHeaders('set-record', body, owner);
  assert.equal((await bench.create('set-record', body, payer, { headers: proof })).status, 200);
  const spent = await bench.balance(payer);
  const replay = await bench.create('set-record', body, payer, { headers: proof });
  assert.deepEqual([replay.status, replay.body], [401, 'Nonce already used — replay rejected']);
  assert.equal(await bench.balance(payer), spent);
  const unsigned = await bench.post('/arns/actions/set-record', body, proof);
  assert.deepEqual([unsigned.status, unsigned.body], [401, 'Signed request is required for this route']);
});
