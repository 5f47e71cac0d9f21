/** What a customer might try to get for nothing, or to keep from others. */
import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { NamesBench, ownerSigned, text } from '../../test/support/names-bench.ts';
import { arnsBuilder } from '../formats/solana/instructions-arns.ts';
import type { Instruction } from '../formats/solana/message.ts';
import { transferLamports } from '../formats/solana/system.ts';
import { wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const payer = wallet('payer');
const owner = wallet('name owner');
let bench: NamesBench;

before(async () => {
  bench = await NamesBench.start({ patienceMs: 200 });
  await bench.give(payer, 10_000n * credit);
});
beforeEach(() => {
  bench.faults.before = () => {};
});
after(() => bench.stop());

async function statusOf(envelope: unknown): Promise<string> {
  return text((await bench.get(`/arns/actions/${text(envelope, 'nonce')}`)).body, 'status');
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
