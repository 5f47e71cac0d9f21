import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { memo, transferLamports } from '../../../formats/solana/system.ts';
import { signatureOf, signed, TestLedger, wallet } from '../testing.ts';

const alice = wallet('alice');
const bob = wallet('bob');
let ledger: TestLedger;

before(async () => {
  ledger = await TestLedger.start({ fund: [alice.address] });
});
after(() => ledger.stop());

async function refusal(method: string, ...params: unknown[]): Promise<string> {
  const failure = await ledger.rpc(method, ...params).then(
    () => assert.fail(`${method} did not fail`),
    (error: unknown) => error,
  );
  return JSON.stringify(failure);
}

test('a block holds the transactions of its slot, and never others later', async () => {
  ledger.skip(5);
  const wires = ['one', 'two'].map((text) =>
    signed(ledger.blockhash, [transferLamports(alice.address, bob.address, 1_000_000n), memo(text)], alice),
  );
  const [first, second] = wires;
  const { slot } = await ledger.local.ledger.submit(first!, true);
  assert.equal((await ledger.local.ledger.submit(second!, true)).slot, slot);
  ledger.skip(1);
  const block = await ledger.rpc('getBlock', slot, { transactionDetails: 'signatures', rewards: false });
  assert.deepEqual(block, {
    previousBlockhash: ledger.local.ledger.slots.blockhash(slot - 1),
    blockhash: ledger.local.ledger.slots.blockhash(slot),
    parentSlot: slot - 1,
    signatures: wires.map(signatureOf),
    blockTime: ledger.local.ledger.slots.timeOf(slot),
    blockHeight: slot,
  });
  const empty = await ledger.rpc('getBlock', slot + 1, 'json');
  assert.match(JSON.stringify(empty), /"transactions":\[\],"rewards":\[\]/);
  // These are of version 0, which a client must say it can read.
  assert.match(await refusal('getBlock', slot), /-32015/);
  const full = JSON.stringify(await ledger.rpc('getBlock', slot, { maxSupportedTransactionVersion: 0 }));
  assert.ok(full.includes(signatureOf(wires[0]!)) && full.includes('"version":0'));
  assert.match(await refusal('getBlock', slot + 1_000), /-32004,"message":"Block not available for slot/);
  assert.match(await refusal('getBlock', slot, { commitment: 'processed' }), /below `confirmed`/);
});

test('lists of blocks are bounded', async () => {
  const slot = Number(await ledger.rpc('getSlot'));
  assert.deepEqual(await ledger.rpc('getBlocks', slot - 1), [slot - 1, slot]);
  assert.deepEqual(await ledger.rpc('getBlocks', slot, slot - 1), []);
  assert.deepEqual(
    await ledger.rpc('getBlocks', 0, { commitment: 'finalized' }).then(String),
    [...Array(slot + 1).keys()].join(),
  );
  assert.deepEqual(await ledger.rpc('getBlocksWithLimit', 1, 2), [1, 2]);
  assert.deepEqual(await ledger.rpc('getBlocksWithLimit', 1, 0), []);
  assert.match(await refusal('getBlocksWithLimit', 0, 500_001), /-32602/);
  ledger.skip(600_000);
  assert.match(await refusal('getBlocks', 0, 600_000), /Slot range too large; max 500000/);
  const all = await ledger.rpc('getBlocks', 0);
  assert.ok(Array.isArray(all) && all.length === 500_001);
});

test('the cluster is one node that leads every slot, and lamports are all accounted for', async () => {
  const identity = String(await ledger.rpc('getSlotLeader'));
  assert.deepEqual(await ledger.rpc('getIdentity'), { identity });
  assert.deepEqual(await ledger.rpc('getSlotLeaders', 5, 2), [identity, identity]);
  assert.match(await refusal('getSlotLeaders', 5, 5_001), /-32602/);
  const schedule = JSON.stringify(await ledger.rpc('getLeaderSchedule'));
  assert.ok(schedule.startsWith(`{"${identity}":[0,1,`) && schedule.endsWith(',431999]}'));
  assert.deepEqual(await ledger.rpc('getLeaderSchedule', { identity: bob.address }), {});
  assert.equal(await ledger.rpc('getLeaderSchedule', 10 ** 9), null);
  const produced = JSON.stringify(
    await ledger.rpc('getBlockProduction', { range: { firstSlot: 3, lastSlot: 5 } }),
  );
  assert.ok(produced.includes(`"byIdentity":{"${identity}":[3,3]}`));
  assert.match(await refusal('getHighestSnapshotSlot'), /-32008/);
  let total = 0n;
  for (const [, { lamports }] of ledger.local.ledger.accounts.entries()) total += lamports;
  assert.ok(JSON.stringify(await ledger.rpc('getSupply')).includes(`"total":${Number(total)},`));
  const largest = JSON.stringify(await ledger.rpc('getLargestAccounts', { filter: 'circulating' }));
  assert.ok(largest.includes(`{"address":"${alice.address}"`));
});

test('samples count the transactions of each minute', async () => {
  const { slots } = ledger.local.ledger;
  ledger.skip(150 - (slots.now().slot % 150));
  await ledger.send([memo('a')], alice);
  await ledger.send([memo('b')], alice);
  ledger.skip(150);
  const [newest] = Object.values(Object(await ledger.rpc('getRecentPerformanceSamples', 1)));
  assert.match(JSON.stringify(newest), /"numTransactions":2,.*"numSlots":150,"samplePeriodSecs":60/);
  assert.match(await refusal('getRecentPerformanceSamples', 721), /-32602/);
});
