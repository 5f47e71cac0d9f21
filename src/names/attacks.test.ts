/** What a customer might try to get for nothing, or to keep from others. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { eventually } from '../../test/support/eventually.ts';
import { NamesBench, ownerSigned, payerHeaders, text } from '../../test/support/names-bench.ts';
import { arnsBuilder } from '../formats/solana/instructions-arns.ts';
import type { Instruction } from '../formats/solana/message.ts';
import { transferLamports } from '../formats/solana/system.ts';
import { wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');
let bench: NamesBench;

before(async () => {
  bench = await NamesBench.start({ deliveryTimeoutMs: 200 });
  await bench.give(payer, 10_000n * credit);
});
beforeEach(async () => {
  bench.faults.before = () => {};
  // What the test before left to the background would meet the faults of this one.
  await bench.names.settled();
});
after(() => bench.stop());

async function statusOf(envelope: unknown): Promise<string> {
  return text((await bench.get(`/arns/actions/${text(envelope, 'nonce')}`)).body, 'status');
}

function buy(name: string, holder = owner, by = payer, extra: Record<string, unknown> = {}) {
  const body = { name, ownerAddress: holder.address, type: 'lease', years: 1, ...extra };
  return bench.create('buy-name', body, by);
}

async function sendHimself(envelope: unknown, holder = owner): Promise<void> {
  const wire = ownerSigned(text(envelope, 'transaction'), holder);
  await bench.ledger.rpc('sendTransaction', wire, { encoding: 'base64' });
}

/** Somebody else pays the registry just before the service does. */
function meanwhile(instructions: (arns: ReturnType<typeof arnsBuilder>) => readonly Instruction[]): void {
  let interfered = false;
  bench.faults.before = async (method) => {
    if (method !== 'latestBlockhash' || interfered) return;
    interfered = true;
    const { treasury } = await bench.registry.config();
    await bench.ledger.send(instructions(arnsBuilder(bench.registry.programs, treasury)), bench.service);
  };
}

test('what the chain would refuse now may land a moment later: it is paid back only when it cannot', async () => {
  const antId = await bench.buy('toggled', owner, payer);
  const friend = wallet('a friend');
  await bench.buy('of-a-friend', friend, payer);
  const body = { antId, ownerAddress: owner.address, target: friend.address };
  const [first, second] = [
    await bench.create('add-controller', body, payer),
    await bench.create('add-controller', body, payer),
  ];
  await bench.sign(first.body, owner);
  const held = await bench.balance(payer);
  const refused = await bench.sign(second.body, owner);
  assert.equal(refused.status, 400, JSON.stringify(refused.body));
  assert.match(String(refused.body), /Already|refused/);
  assert.equal(await bench.balance(payer), held);
  // Once the controller is gone again, the same signed bytes go through, at the service's cost.
  const removal = await bench.create('remove-controller', body, payer);
  assert.equal(text((await bench.sign(removal.body, owner)).body, 'status'), 'completed');
  const paid = await bench.balance(payer);
  const own = transferLamports(bench.service.address, owner.address, 1_000_000n);
  await bench.ledger.send([own], bench.service);
  await sendHimself(second.body);
  await bench.names.reconcile();
  assert.equal(await statusOf(second.body), 'completed');
  assert.equal(await bench.balance(payer), paid);
});

test('what the chain refused to the end is paid back once it is dead', async () => {
  const antId = await bench.buy('refused', owner, payer);
  const body = { antId, ownerAddress: owner.address, target: wallet('another friend').address };
  const first = await bench.create('add-controller', body, payer);
  const held = await bench.balance(payer);
  const second = await bench.create('add-controller', body, payer);
  await bench.sign(first.body, owner);
  assert.equal((await bench.sign(second.body, owner)).status, 400);
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(await statusOf(second.body), 'expired');
  assert.equal(await bench.balance(payer), held);
});

test('what others paid for a name meanwhile is not taken for what was bought', async () => {
  for (const [action, body, others] of [
    ['extend-lease', { years: 4 }, (arns, name) => [arns.extendLease(bench.service.address, name, 4)]],
    ['upgrade-name', {}, (arns, name) => [arns.upgradeName(bench.service.address, name)]],
  ] as const satisfies readonly (readonly [
    string,
    Record<string, unknown>,
    (arns: ReturnType<typeof arnsBuilder>, name: string) => readonly Instruction[],
  ])[]) {
    const name = `also-${action}`;
    await bench.buy(name, owner, payer);
    const held = await bench.balance(payer);
    meanwhile((arns) => others(arns, name));
    const answer = await bench.create(action, { name, ...body }, payer);
    assert.ok(answer.status >= 400, `${action}: ${JSON.stringify(answer.body)}`);
    bench.ledger.skip(151);
    await bench.names.reconcile();
    assert.equal(await bench.balance(payer), held, action);
  }
});

test('the same purchase twice within a moment is made twice, for it is paid twice', async () => {
  await bench.buy('twice', owner, payer);
  const body = { name: 'twice', increaseQty: 3 };
  const answers = await Promise.all([1, 2].map(() => bench.create('increase-undername-limit', body, payer)));
  assert.deepEqual(
    answers.map((answer) => text(answer.body, 'status')),
    ['completed', 'completed'],
  );
  assert.equal((await bench.registry.name('twice')).record?.undernameLimit, 16);
});

test('actions for an owner who did not ask for them do not keep him from his own', async () => {
  const antId = await bench.buy('crowded-owner', owner, payer);
  const stranger = wallet('a stranger');
  await bench.give(stranger, 1_000n * credit);
  const body = { antId, ownerAddress: owner.address, target: wallet('x').address };
  for (let index = 0; index < 20; index += 1) {
    const asked = await bench.create('add-controller', body, stranger);
    assert.equal(asked.status, 200, JSON.stringify(asked.body));
  }
  assert.equal((await bench.create('add-controller', body, stranger)).status, 429);
  const own = await bench.create('add-controller', body, payer);
  assert.equal(own.status, 200, JSON.stringify(own.body));
});

test('nobody keeps others from a name by asking for it and not signing', async () => {
  const stranger = wallet('name blocker');
  await bench.give(stranger, 1_000n * credit);
  for (let index = 0; index < 5; index += 1) assert.equal((await buy('wanted', owner, stranger)).status, 200);
  const asked = await buy('wanted');
  assert.equal(asked.status, 200, JSON.stringify(asked.body));
  assert.equal(text((await bench.sign(asked.body, owner)).body, 'status'), 'completed');
});

test('a token that was made is paid for, also when its name is gone', async () => {
  const price = (await bench.get('/arns/price/buy-record/lost-name?type=lease&years=1')).body;
  const other = wallet('other buyer');
  const first = await buy('lost-name');
  const held = await bench.balance(payer);
  const second = await buy('lost-name', other);
  await bench.sign(first.body, owner);
  // Through the service nothing is made for a name that is gone …
  const late = await bench.sign(second.body, other);
  assert.deepEqual([late.status, late.body], [400, 'Name lost-name already exists']);
  // … but the owner has all signatures, and can have it made without the service.
  await sendHimself(second.body, other);
  await bench.names.reconcile();
  assert.equal(await statusOf(second.body), 'failed');
  const surcharge = BigInt(text(price, 'antSpawnSurchargeWinc'));
  assert.ok(surcharge > 0n);
  assert.equal(await bench.balance(payer), held - surcharge);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

test('a list that was made for an owner who then does not sign is paid for', async () => {
  const name = 'y'.repeat(51);
  const antState = { description: 'd'.repeat(69) };
  const fresh = wallet('owner without a list');
  const payer = wallet('payer of lists');
  await bench.give(payer, 1_000n * credit);
  const held = await bench.balance(payer);
  const spent = bench.ledger.balance(bench.service);
  const created = await buy(name, fresh, payer, { antState });
  assert.equal(created.status, 200, JSON.stringify(created.body));
  assert.ok(bench.ledger.balance(bench.service) < spent);
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(await statusOf(created.body), 'expired');
  const kept = held - (await bench.balance(payer));
  assert.ok(kept > 0n && kept < BigInt(text(created.body, 'wincQty')) / 2n, String(kept));
  const status = (await bench.get(`/arns/actions/${text(created.body, 'nonce')}`)).body;
  assert.equal(text(status, 'keptWincQty'), kept.toString());
  // The list is there now, so that the next try costs nothing more than what it buys.
  const again = await buy(name, fresh, payer, { antState });
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(await statusOf(again.body), 'expired');
  assert.equal(held - (await bench.balance(payer)), kept);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

test('a list that two purchases wait for is paid for by the one that it was made for', async () => {
  const antState = { description: 'd'.repeat(69) };
  const fresh = wallet('owner of two names without a list');
  const payers = [wallet('first payer of a list'), wallet('second payer of a list')] as const;
  for (const one of payers) await bench.give(one, 100n * credit);
  const [first, second] = payers;
  const ask = (by: typeof first, letter: string) => buy(letter.repeat(51), fresh, by, { antState });
  let other: ReturnType<typeof ask> | undefined;
  bench.faults.before = async (method) => {
    if (method !== 'send' || other !== undefined) return;
    // The list is about to be made: the other purchase finds none, either, and is paid for.
    other = ask(second, 'u');
    await eventually('the other is paid for', async () => (await bench.balance(second)) < 100n * credit);
  };
  const answers = [await ask(first, 'v'), await other];
  for (const answer of answers) assert.equal(answer?.status, 200, JSON.stringify(answer?.body));
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.ok((await bench.balance(first)) < 100n * credit);
  assert.equal(await bench.balance(second), 100n * credit);
  assert.deepEqual((await bench.credits.selfCheck()).problems, []);
});

test('a signature that was made to read cannot be shown again to buy', async () => {
  // Published clients sign 32 hexadecimal digits to read, and a UUID to act.
  const captured = payerHeaders(payer, '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495');
  const held = await bench.balance(payer);
  const body = { name: 'stolen', ownerAddress: wallet('thief').address, type: 'lease', years: 1 };
  const answer = await bench.post('/arns/actions/buy-name', body, captured);
  assert.deepEqual(
    [answer.status, answer.body],
    [400, 'Invalid nonce parameter. Nonce must be a UUID for signed write actions'],
  );
  assert.equal(await bench.balance(payer), held);
});
