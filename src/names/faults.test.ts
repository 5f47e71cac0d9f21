import assert from 'node:assert/strict';
import { after, before, beforeEach, test } from 'node:test';
import { at, chainDown, NamesBench, ownerSigned, signatureIn, text } from '../../test/support/names-bench.ts';
import { parseSolanaAddress } from '../formats/solana/address.ts';
import { compileMessage } from '../formats/solana/message.ts';
import { memo } from '../formats/solana/system.ts';
import { emptySignature, parseTransaction, serializeTransaction } from '../formats/solana/transaction.ts';
import { wallet } from '../localnet/solana/testing.ts';

const credit = 10n ** 12n;
const id = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';
const payer = wallet('payer');
const owner = wallet('name owner');
let bench: NamesBench;
let count = 0;

before(async () => {
  bench = await NamesBench.start({ deliveryTimeoutMs: 200 });
  await bench.give(payer, 10_000n * credit);
});
beforeEach(async () => {
  bench.faults.before = () => {};
  bench.faults.after = () => {};
  // What the test before left to the background would meet the faults of this one.
  await bench.names.settled();
});
after(() => bench.stop());

function freshName(): string {
  count += 1;
  return `fault-name-${count}`;
}

function buy(name: string, holder = owner) {
  return bench.create('buy-name', { name, ownerAddress: holder.address, type: 'lease', years: 1 }, payer);
}

async function statusOf(envelope: unknown): Promise<unknown> {
  return (await bench.get(`/arns/actions/${text(envelope, 'nonce')}`)).body;
}

/** Every reservation of the ledger is gone: nothing is held for an action that ended. */
async function assertSettled(): Promise<void> {
  const check = await bench.credits.selfCheck();
  assert.deepEqual(check.problems, []);
}

test('a transaction signed too late is told so, and the credits are back', async () => {
  const held = await bench.balance(payer);
  const created = await buy(freshName());
  bench.ledger.skip(151);
  const late = await bench.sign(created.body, owner);
  assert.equal(late.status, 409);
  assert.match(String(late.body), /^The signed transaction expired before it could be submitted/);
  assert.match(String(late.body), /Your credits have been returned/);
  assert.equal(await bench.balance(payer), held);
  const status = await statusOf(created.body);
  assert.equal(text(status, 'status'), 'expired');
  assert.match(text(status, 'failedDate'), /^2026-/);
  assert.equal(at(status, 'transaction'), undefined);
  const again = await bench.sign(created.body, owner);
  assert.equal(again.status, 400);
  assert.match(String(again.body), /expired and was refunded; create a new one/);
  await assertSettled();
});

test('past the deadline a signature is refused with the words clients look for', async () => {
  const created = await buy(freshName());
  bench.ledger.skipSeconds(901);
  const late = await bench.sign(created.body, owner);
  assert.equal(late.status, 400);
  assert.match(String(late.body), new RegExp(`^Action ${text(created.body, 'nonce')} expired at `));
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'expired');
});

test('a node that lags behind is not a dead transaction: the same bytes go through later', async () => {
  const created = await buy(freshName());
  // The node that is asked does not know the blockhash yet.
  const real = bench.ledger.local.ledger.slots.isAlive;
  bench.ledger.local.ledger.slots.isAlive = () => false;
  const held = await bench.balance(payer);
  const early = await bench.sign(created.body, owner);
  bench.ledger.local.ledger.slots.isAlive = real;
  assert.equal(early.status, 503);
  assert.match(String(early.body), /Blockhash not found/i);
  assert.equal(await bench.balance(payer), held);
  const later = await bench.sign(created.body, owner);
  assert.equal(text(later.body, 'status'), 'completed', JSON.stringify(later.body));
});

test('only the transaction that was handed out is taken, with the owner himself behind it', async () => {
  const created = await buy(freshName());
  const nonce = text(created.body, 'nonce');
  const given = text(created.body, 'transaction');
  const parts = parseTransaction(Buffer.from(given, 'base64'));
  const altered = Buffer.from(given, 'base64');
  altered[altered.length - 20]! ^= 1;
  const rebuilt = serializeTransaction(
    [emptySignature, emptySignature],
    compileMessage({
      feePayer: bench.service.address,
      blockhash: parts.message.blockhash,
      instructions: [memo('mine', owner.address)],
    }),
  );
  for (const transaction of [
    given,
    ownerSigned(given, { ...owner, privateKey: wallet('somebody').privateKey }),
    altered.toString('base64'),
    ownerSigned(rebuilt.toString('base64'), owner),
    'garbage',
    '',
    5,
    undefined,
  ]) {
    const answer = await bench.post(`/arns/actions/${nonce}/sign`, { transaction });
    assert.equal(answer.status, 400, String(transaction));
  }
  assert.equal(text(await statusOf(created.body), 'status'), 'awaiting-signature');
  assert.equal(text((await bench.sign(created.body, owner)).body, 'status'), 'completed');
});

test('two buyers of one name: one has it, the other has his credits and no token', async () => {
  const name = freshName();
  const other = wallet('other owner');
  const held = await bench.balance(payer);
  const [first, second] = [await buy(name), await buy(name, other)];
  const price = BigInt(text(first.body, 'wincQty'));
  assert.equal(await bench.balance(payer), held - 2n * price);
  const [won, lost] = await Promise.all([bench.sign(first.body, owner), bench.sign(second.body, other)]);
  const statuses = [won.status, lost.status].sort();
  assert.deepEqual(statuses, [200, 400]);
  const loser = won.status === 400 ? won : lost;
  assert.equal(loser.body, `Name ${name} already exists`);
  const { record } = await bench.registry.name(name);
  const winner = won.status === 200 ? won : lost;
  assert.equal(record?.ant, text(winner.body, 'antId'));
  const losing = won.status === 400 ? first : second;
  // The owner could still send it: the credits return when that is over.
  assert.equal(text(await statusOf(losing.body), 'status'), 'awaiting-signature');
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(text(await statusOf(losing.body), 'status'), 'expired');
  assert.equal(await bench.registry.ant(parseSolanaAddress(text(losing.body, 'antId'))), undefined);
  assert.equal(await bench.balance(payer), held - price);
  await assertSettled();
});

test('when the chain is away nothing is charged, or what was charged comes back', async () => {
  const held = await bench.balance(payer);
  for (const method of ['accounts', 'account', 'latestBlockhash', 'simulate'] as const) {
    bench.faults.before = (called) => (called === method ? chainDown() : undefined);
    const answer = await buy(freshName());
    assert.equal(answer.status, 503, `${method}: ${JSON.stringify(answer.body)}`);
    assert.equal(await bench.balance(payer), held, method);
  }
  bench.faults.before = () => {};
  await assertSettled();
});

test('a service whose transaction is lost on the way says that it does not know, and finds out', async () => {
  const name = freshName();
  await bench.buy(name, owner, payer);
  const end = (await bench.registry.name(name)).record?.end ?? 0;
  const held = await bench.balance(payer);
  // The transaction is sent and lands, but every answer about it is lost.
  bench.faults.after = (method) => (method === 'send' ? chainDown() : undefined);
  bench.faults.before = (method) => (method === 'status' ? chainDown() : undefined);
  const answer = await bench.create('extend-lease', { name, years: 1 }, payer);
  assert.equal(answer.status, 503);
  assert.match(String(answer.body), /credits are still reserved/);
  bench.faults.after = () => {};
  bench.faults.before = () => {};
  assert.equal((await bench.registry.name(name)).record?.end, end + 365 * 86_400);
  await bench.names.reconcile();
  assert.ok((await bench.balance(payer)) < held);
  const names = await bench.get(`/arns/my-names/${payer.address}`);
  assert.ok(JSON.stringify(names.body).includes(name));
  await assertSettled();
});

test('a transaction that never reached the chain is refunded once it can no longer land', async () => {
  const name = freshName();
  await bench.buy(name, owner, payer);
  const held = await bench.balance(payer);
  bench.faults.before = (method) => (method === 'send' ? chainDown() : undefined);
  const answer = await bench.create('upgrade-name', { name }, payer);
  assert.equal(answer.status, 503);
  assert.notEqual(await bench.balance(payer), held);
  await bench.names.reconcile();
  assert.notEqual(await bench.balance(payer), held);
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal(await bench.balance(payer), held);
  assert.equal((await bench.registry.name(name)).record?.type, 'lease');
  await assertSettled();
});

test('a crash between debit and send is refunded; a repeat of the request does not act again', async () => {
  const name = freshName();
  await bench.buy(name, owner, payer);
  const held = await bench.balance(payer);
  const nonce = '22222222-2222-4222-8222-222222222222';
  let hangs = false;
  bench.faults.before = (method) => {
    if (method !== 'latestBlockhash') return undefined;
    hangs = true;
    return new Promise<void>(() => {});
  };
  const hanging = bench.create('extend-lease', { name, years: 1 }, payer, { nonce });
  hanging.catch(() => {});
  while (!hangs) await new Promise((resolve) => setTimeout(resolve, 5));
  assert.notEqual(await bench.balance(payer), held);
  bench.faults.before = () => {};
  await bench.restart();
  await bench.names.reconcile();
  assert.equal(await bench.balance(payer), held);
  assert.equal(text((await bench.get(`/arns/actions/${nonce}`)).body, 'status'), 'failed');
  const repeat = await bench.create('extend-lease', { name, years: 1 }, payer, { nonce });
  assert.equal(text(repeat.body, 'status'), 'failed');
  assert.equal(await bench.balance(payer), held);
  await assertSettled();
});

test('what was ended and refunded while it was prepared is not sent', async () => {
  const name = freshName();
  await bench.buy(name, owner, payer);
  const [held, leased] = [await bench.balance(payer), (await bench.registry.name(name)).record];
  const nonce = '33333333-3333-4333-8333-333333333333';
  let sent = 0;
  bench.faults.before = async (method) => {
    if (method === 'send') sent += 1;
    if (method !== 'latestBlockhash') return;
    // As another process does with what it takes for left behind.
    await bench.sql.run("UPDATE arns_action SET status = 'failed' WHERE nonce = ?", nonce);
    await bench.credits.refund('arns_action', nonce);
  };
  const answer = await bench.create('extend-lease', { name, years: 1 }, payer, { nonce });
  assert.equal(answer.status, 503);
  bench.faults.before = () => {};
  assert.equal(sent, 0);
  assert.equal(await bench.balance(payer), held);
  assert.deepEqual((await bench.registry.name(name)).record, leased);
  await assertSettled();
});

test('a crash between the token and the name is finished after the restart', async () => {
  const name = freshName();
  const created = await buy(name);
  let sent = 0;
  bench.faults.before = (method) => {
    if (method !== 'send') return undefined;
    sent += 1;
    return sent === 2 ? new Promise<void>(() => {}) : undefined;
  };
  bench.sign(created.body, owner).catch(() => {});
  while (sent < 2) await new Promise((resolve) => setTimeout(resolve, 5));
  bench.faults.before = () => {};
  assert.equal((await bench.registry.name(name)).record, undefined);
  assert.equal(text(await statusOf(created.body), 'status'), 'awaiting-signature');
  await bench.restart();
  await bench.names.reconcile();
  // The transaction that was stored may still be sent by the process that died: only when it is dead is another made.
  bench.ledger.skip(151);
  await bench.names.reconcile();
  assert.equal((await bench.registry.name(name)).record?.ant, text(created.body, 'antId'));
  const status = await statusOf(created.body);
  assert.equal(text(status, 'status'), 'completed');
  await assertSettled();
});

test('a crash between landing and record is found out by the effect', async () => {
  const name = freshName();
  const created = await buy(name);
  let confirmations = 0;
  bench.faults.before = (method) => {
    if (method !== 'status') return undefined;
    confirmations += 1;
    return confirmations >= 2 ? new Promise<void>(() => {}) : undefined;
  };
  bench.sign(created.body, owner).catch(() => {});
  while ((await bench.ledger.local.ledger.accounts.size) >= 0 && confirmations < 2) {
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
  bench.faults.before = () => {};
  assert.equal((await bench.registry.name(name)).record?.ant, text(created.body, 'antId'));
  await bench.restart();
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'completed');
  assert.match(text(await statusOf(created.body), 'messageId'), /^[1-9A-HJ-NP-Za-km-z]{80,90}$/);
  await assertSettled();
});

test('an owner who sends the transaction himself is seen, not refunded', async () => {
  const name = freshName();
  const created = await buy(name);
  const wire = ownerSigned(text(created.body, 'transaction'), owner);
  await bench.ledger.rpc('sendTransaction', wire, { encoding: 'base64' });
  bench.ledger.skip(151);
  const held = await bench.balance(payer);
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'completed');
  assert.equal(await bench.balance(payer), held);
  assert.equal((await bench.registry.name(name)).record?.ant, text(created.body, 'antId'));
  assert.notEqual(signatureIn(wire), text(await statusOf(created.body), 'messageId'));
});

test('a chain that cannot be read decides nothing, however late it is', async () => {
  const created = await buy(freshName());
  const held = await bench.balance(payer);
  bench.ledger.skipSeconds(3_600);
  bench.faults.before = chainDown;
  await bench.names.reconcile().catch(() => {});
  assert.equal(await bench.balance(payer), held);
  assert.equal(text(await statusOf(created.body), 'status'), 'awaiting-signature');
  bench.faults.before = () => {};
  await bench.names.reconcile();
  assert.equal(text(await statusOf(created.body), 'status'), 'expired');
  await assertSettled();
});

test('a program that refuses is a 400 with its words, and the credits come back', async () => {
  const name = freshName();
  const antId = await bench.buy(name, owner, payer);
  const held = await bench.balance(payer);
  // Between the check and the transaction the owner removes the service from the token.
  const body = { antId, ownerAddress: owner.address, transactionId: id, undername: 'docs', ttlSeconds: 600 };
  const removal = await bench.create('remove-controller', { antId, ownerAddress: owner.address }, payer);
  const spent = await bench.balance(payer);
  let interfered = false;
  bench.faults.before = async (method) => {
    if (method !== 'latestBlockhash' || interfered) return;
    interfered = true;
    const wire = ownerSigned(text(removal.body, 'transaction'), owner);
    await bench.ledger.rpc('sendTransaction', wire, { encoding: 'base64' });
  };
  const answer = await bench.create('set-record', body, payer, { owner });
  assert.equal(answer.status, 400, JSON.stringify(answer.body));
  assert.equal(
    answer.body,
    'Only the owner or a controller may create records (OnlyOwnerOrControllerCanCreate, 6024)',
  );
  assert.equal(await bench.balance(payer), spent);
  assert.ok(spent < held);
  await assertSettled();
});

test('says that names cannot be sold while the key that pays for them has nothing', async () => {
  await bench.names.reconcile();
  assert.deepEqual(await bench.names.problems(), []);
  const { accounts } = bench.ledger.local.ledger;
  const { address } = bench.service;
  const account = accounts.get(address);
  accounts.apply(new Map([[address, { ...account, lamports: 1_000n }]]));
  await bench.names.reconcile();
  const [problem, ...others] = await bench.names.problems();
  assert.match(problem ?? '', /^Names cannot be sold: .* has 1000 lamports, one name may take [0-9]+\.$/);
  assert.deepEqual(others, []);
  accounts.apply(new Map([[address, account]]));
  await bench.names.reconcile();
  assert.deepEqual(await bench.names.problems(), []);
});
