/** Actions whose owner signs before the service gives its signatures away. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { at, chainDown, NamesBench, ownerSigned, text } from '../../test/support/names-bench.ts';
import { parseSolanaAddress } from '../formats/solana/address.ts';
import { parseTransaction, serializeTransaction } from '../formats/solana/transaction.ts';
import { registerName, wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const id = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const payer = wallet('payer');
const owner = wallet('name owner');
const signOrder = 'owner-first';

let bench: NamesBench;
let count = 0;

before(async () => {
  bench = await NamesBench.start({ deliveryTimeoutMs: 200 });
  await bench.give(payer, 10_000n * credit);
});
beforeEach(async () => {
  bench.faults.before = () => {};
  bench.faults.after = () => {};
  await bench.names.settled();
});
after(() => bench.stop());

function freshName(): string {
  count += 1;
  return `first-name-${count}`;
}

const buy = (name: string) =>
  bench.create('buy-name', { name, ownerAddress: owner.address, type: 'lease', years: 1, signOrder }, payer);

const signatures = (transaction: string): Buffer[] => [
  ...parseTransaction(Buffer.from(transaction, 'base64')).signatures,
];

const statusOf = async (envelope: unknown) =>
  (await bench.get(`/arns/actions/${text(envelope, 'nonce')}`)).body;

const signPath = (envelope: unknown): string => `/arns/actions/${text(envelope, 'nonce')}/sign`;

async function assertSettled(): Promise<void> {
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
}

test('hands out no signature at all, and completes after the one of the owner', async () => {
  const name = freshName();
  const created = await buy(name);
  assert.equal(created.status, 200, JSON.stringify(created.body));
  assert.equal(text(created.body, 'signOrder'), signOrder);
  const given = signatures(text(created.body, 'transaction'));
  assert.equal(given.length, 3, 'service, asset and owner sign');
  assert.ok(given.every((signature) => signature.every((byte) => byte === 0)));
  assert.deepEqual(text(await statusOf(created.body), 'transaction'), text(created.body, 'transaction'));
  // Nobody can send what lacks the signature of the one who pays for it.
  const wire = ownerSigned(text(created.body, 'transaction'), owner);
  await assert.rejects(bench.ledger.rpc('sendTransaction', wire, { encoding: 'base64' }));
  const signed = await bench.sign(created.body, owner);
  assert.equal(text(signed.body, 'status'), 'completed', JSON.stringify(signed.body));
  assert.equal((await bench.registry.name(name)).record?.ant, text(created.body, 'antId'));
  const again = await bench.post(signPath(created.body), { transaction: 'irrelevant' });
  assert.equal(at(again.body, 'alreadyCompleted'), true);
});

test('works where the owner alone may act, and leaves what needs no owner as it was', async () => {
  const name = freshName();
  const token = await bench.buy(name, owner, payer);
  const base = { antId: token, ownerAddress: owner.address };
  const removal = await bench.create('remove-controller', { ...base, signOrder }, payer);
  assert.equal(text((await bench.sign(removal.body, owner)).body, 'status'), 'completed');
  const record = { ...base, transactionId: id, undername: 'docs', ttlSeconds: 600, signOrder };
  const set = await bench.create('set-record', record, payer, { owner });
  assert.ok(signatures(text(set.body, 'transaction')).every((one) => one.every((byte) => byte === 0)));
  assert.equal(text((await bench.sign(set.body, owner)).body, 'status'), 'completed');
  assert.equal((await bench.registry.resolve(name, 'docs'))?.target, id);
  const extended = await bench.create('extend-lease', { name, years: 1, signOrder }, payer);
  assert.equal(text(extended.body, 'status'), 'completed');
  assert.equal(at(extended.body, 'signOrder'), undefined);
});

test('takes only the bytes that were handed out, signed by the owner', async () => {
  const created = await buy(freshName());
  const given = text(created.body, 'transaction');
  const { messageBytes } = parseTransaction(Buffer.from(given, 'base64'));
  const altered = Buffer.from(messageBytes);
  altered[altered.length - 20]! ^= 1;
  const filled = [1, 2, 3].map(() => Buffer.alloc(64, 7));
  const foreign = serializeTransaction(filled, altered).toString('base64');
  for (const [transaction, why] of [
    [given, /does not carry the owner's signature/],
    [ownerSigned(given, { ...owner, privateKey: wallet('somebody').privateKey }), /the owner's signature/],
    [ownerSigned(foreign, owner), /is not the one that was handed out/],
    ['garbage', /is not the one that was handed out/],
    [5, /must be the base64 wire transaction/],
    [null, /must be the base64 wire transaction/],
  ] as const) {
    const answer = await bench.post(signPath(created.body), { transaction });
    assert.equal(answer.status, 400, String(transaction));
    assert.match(String(answer.body), why);
  }
  assert.equal((await bench.post(signPath(created.body), { signOrder: 'mine' })).status, 400);
  // Signatures of others in the slots are not looked at: the service has its own.
  const other = ownerSigned(serializeTransaction(filled, messageBytes).toString('base64'), owner);
  const done = await bench.post(signPath(created.body), { transaction: other });
  assert.equal(text(done.body, 'status'), 'completed', JSON.stringify(done.body));
});

test('gives a new transaction for one that is signed too late, for the same credits', async () => {
  const held = await bench.balance(payer);
  const name = freshName();
  const created = await buy(name);
  const price = BigInt(text(created.body, 'wincQty'));
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(
    at(await statusOf(created.body), 'transaction'),
    undefined,
    'nothing that is dead is handed out',
  );
  const late = await bench.sign(created.body, owner);
  assert.equal(late.status, 200, JSON.stringify(late.body));
  assert.equal(text(late.body, 'status'), 'awaiting-signature');
  assert.notEqual(text(late.body, 'transaction'), text(created.body, 'transaction'));
  assert.equal((await bench.sign(created.body, owner)).status, 400, 'the old one is not taken any more');
  const signed = await bench.sign(late.body, owner);
  assert.equal(text(signed.body, 'status'), 'completed', JSON.stringify(signed.body));
  const { record } = await bench.registry.name(name);
  assert.equal(record?.ant, text(signed.body, 'antId'));
  const first = parseSolanaAddress(text(created.body, 'antId'));
  assert.equal(await bench.registry.ant(first), undefined, 'the first was never made');
  assert.equal(await bench.balance(payer), held - price);
  await assertSettled();
});

test('gives a new one without a signature, and the credits back when nobody signs in time', async () => {
  const held = await bench.balance(payer);
  const created = await buy(freshName());
  const same = await bench.post(signPath(created.body), {});
  assert.equal(text(same.body, 'transaction'), text(created.body, 'transaction'), 'it lives');
  bench.ledger.skip(151);
  const fresh = await bench.post(signPath(created.body), {});
  assert.notEqual(text(fresh.body, 'transaction'), text(created.body, 'transaction'));
  bench.ledger.skipSeconds(901);
  const late = await bench.sign(fresh.body, owner);
  assert.equal(late.status, 400);
  assert.match(String(late.body), /expired at /);
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'expired');
  assert.equal(await bench.balance(payer), held);
  await assertSettled();
});

test('does not wait until the deadline that a clock gave which was half a day ahead', async () => {
  const held = await bench.balance(payer);
  const created = await buy(freshName());
  const ahead = 'updated_at = updated_at + 43200000, expires_at = expires_at + 43200000';
  await bench.sql.run(`UPDATE arns_action SET ${ahead} WHERE nonce = ?`, text(created.body, 'nonce'));
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'awaiting-signature', 'it can still be signed');
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'expired');
  assert.equal(await bench.balance(payer), held);
  await assertSettled();
});

test('makes no new one where it costs more by now, or the name is gone: the credits return at once', async () => {
  const held = await bench.balance(payer);
  const [name, taken] = [freshName(), freshName()];
  const created = await buy(name);
  const lost = await buy(taken);
  await registerName(bench.ledger, bench.service, wallet('first owner'), taken);
  const gone = await bench.sign(lost.body, owner);
  assert.deepEqual([gone.status, gone.body], [400, `Name ${taken} already exists`]);
  assert.equal(text(await statusOf(lost.body), 'status'), 'failed');
  // As if it had cost less when it was paid for.
  bench.ledger.skip(151);
  const { sql } = bench;
  await sql.run('UPDATE arns_action SET winc = ? WHERE nonce = ?', '1', text(created.body, 'nonce'));
  const dear = await bench.sign(created.body, owner);
  assert.equal(dear.status, 400);
  assert.match(String(dear.body), /expired and was refunded; create a new one\. The price has risen since/);
  assert.equal(text(await statusOf(created.body), 'status'), 'expired');
  assert.equal(await bench.balance(payer), held);
  await assertSettled();
});

test('gives the signatures of the service where a wallet wants them, once and for good', async () => {
  const created = await buy(freshName());
  const given = await bench.post(signPath(created.body), { signOrder: 'service-first' });
  assert.equal(at(given.body, 'signOrder'), undefined);
  const empty = signatures(text(given.body, 'transaction')).filter((one) => one.every((byte) => byte === 0));
  assert.equal(empty.length, 1);
  const signed = await bench.sign(given.body, owner);
  assert.equal(text(signed.body, 'status'), 'completed', JSON.stringify(signed.body));
  const late = await buy(freshName());
  const out = await bench.post(signPath(late.body), { signOrder: 'service-first' });
  bench.ledger.skip(151);
  assert.equal((await bench.sign(out.body, owner)).status, 409, 'as if it had been asked for so');
});

test('is bound to the request: the other order with the same nonce is another request', async () => {
  const nonce = '44444444-4444-4444-8444-444444444444';
  const body = { name: freshName(), ownerAddress: owner.address, type: 'lease', years: 1 };
  const first = await bench.create('buy-name', { ...body, signOrder }, payer, { nonce });
  const other = await bench.create('buy-name', body, payer, { nonce });
  assert.equal(other.status, 409);
  const same = await bench.create('buy-name', { ...body, signOrder }, payer, { nonce });
  assert.equal(text(same.body, 'transaction'), text(first.body, 'transaction'));
  const wrong = await bench.create('buy-name', { ...body, signOrder: 'nobody' }, payer);
  assert.equal(wrong.status, 400);
});

test('decides nothing while the chain is away, and neither repeats nor loses an action over a crash', async () => {
  const held = await bench.balance(payer);
  const name = freshName();
  const created = await buy(name);
  const price = BigInt(text(created.body, 'wincQty'));
  bench.ledger.skip(151);
  for (const method of ['finalized', 'simulate', 'latestBlockhash', 'accounts'] as const) {
    bench.faults.before = (called) => (called === method ? chainDown() : undefined);
    const answer = await bench.sign(created.body, owner);
    assert.equal(answer.status, 503, `${method}: ${JSON.stringify(answer.body)}`);
    assert.equal(text(await statusOf(created.body), 'status'), 'awaiting-signature', method);
  }
  bench.faults.before = () => {};
  // The process dies after the new transaction was stored and before anybody was told of it.
  const renewed = await bench.post(signPath(created.body), {});
  await bench.restart();
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'transaction'), text(renewed.body, 'transaction'));
  // It dies with the owner's signature stored and nothing sent.
  let hangs = false;
  bench.faults.before = (method) => {
    if (method !== 'send') return undefined;
    hangs = true;
    return new Promise<void>(() => {});
  };
  bench.sign(renewed.body, owner).catch(() => {});
  while (!hangs) await new Promise((resolve) => setTimeout(resolve, 5));
  bench.faults.before = () => {};
  await bench.restart();
  await bench.names.reconcile();
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'completed');
  assert.equal((await bench.registry.name(name)).record?.ant, text(renewed.body, 'antId'));
  assert.equal(await bench.balance(payer), held - price);
  await assertSettled();
});

test('gives a new transaction where another purchase has made the list of its owner meanwhile', async () => {
  const newcomer = wallet('newcomer');
  const held = await bench.balance(payer);
  const bodies = Array.from({ length: 3 }, (_, index) => ({
    name: freshName(),
    ownerAddress: newcomer.address,
    type: 'lease',
    years: 1,
    ...(index < 2 && { signOrder }),
  }));
  const created = await Promise.all(bodies.map((body) => bench.create('buy-name', body, payer)));
  const [first, second, serviceFirst] = created.map(({ body }) => body);
  assert.equal(text((await bench.sign(first, newcomer)).body, 'status'), 'completed');
  const anew = await bench.sign(second, newcomer);
  assert.equal(text(anew.body, 'status'), 'awaiting-signature', JSON.stringify(anew.body));
  assert.notEqual(text(anew.body, 'transaction'), text(second, 'transaction'));
  const done = await bench.sign(anew.body, newcomer);
  assert.equal(text(done.body, 'status'), 'completed', JSON.stringify(done.body));
  // One that its owner has with all signatures is not made anew before it is dead.
  const refused = await bench.sign(serviceFirst, newcomer);
  assert.equal(refused.status, 400);
  assert.match(String(refused.body), /there already.*was quicker \(AccountAlreadyInUse, 0\)/);
  bench.ledger.skip(151);
  await bench.names.reconcile();
  const paid = [first, second].reduce<bigint>((sum, one) => sum + BigInt(text(one, 'wincQty')), 0n);
  assert.equal(await bench.balance(payer), held - paid);
  await assertSettled();
});

test('is planned again where the list of its owner is made while it is planned', async () => {
  const newcomer = wallet('another newcomer');
  const earlier = await bench.create(
    'buy-name',
    { name: freshName(), ownerAddress: newcomer.address, type: 'lease', years: 1 },
    payer,
  );
  let isQuicker = true;
  bench.faults.before = async (method) => {
    if (method !== 'simulate' || !isQuicker) return;
    isQuicker = false;
    assert.equal(text((await bench.sign(earlier.body, newcomer)).body, 'status'), 'completed');
  };
  const body = { name: freshName(), ownerAddress: newcomer.address, type: 'lease', years: 1, signOrder };
  const created = await bench.create('buy-name', body, payer);
  assert.equal(created.status, 200, JSON.stringify(created.body));
  assert.equal(isQuicker, false);
  assert.equal(text((await bench.sign(created.body, newcomer)).body, 'status'), 'completed');
  await assertSettled();
});
