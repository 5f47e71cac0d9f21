import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { zstdDecompressSync } from 'node:zlib';
import { encodeBase58 } from '../../../formats/base58.ts';
import { arnsAddresses, arnsConfig, arnsRecord } from '../../../formats/solana/accounts-arns.ts';
import { arnsBuilder } from '../../../formats/solana/instructions-arns.ts';
import { namePrograms } from '../../../formats/solana/programs.ts';
import { memo, transferLamports } from '../../../formats/solana/system.ts';
import { associatedTokenAddress } from '../../../formats/solana/token.ts';
import { parseTransaction } from '../../../formats/solana/transaction.ts';
import { signatureOf, signed, TestLedger, wallet } from '../testing.ts';

const alice = wallet('alice');
const bob = wallet('bob');
const programs = namePrograms.mainnet;
let ledger: TestLedger;

before(async () => {
  ledger = await TestLedger.start({ fund: [alice.address] });
});
after(() => ledger.stop());

/** Picks a member out of an answer, by path. */
function at(value: unknown, ...path: (string | number)[]): unknown {
  let current = value;
  for (const key of path) {
    assert.ok(typeof current === 'object' && current !== null, `nothing at ${path.join('.')}`);
    current = Object.entries(current).find(([name]) => name === String(key))?.[1];
  }
  return current;
}

async function error(method: string, ...params: unknown[]): Promise<unknown> {
  try {
    await ledger.rpc(method, ...params);
  } catch (failure) {
    return at(failure, 'rpc');
  }
  assert.fail(`${method} did not fail`);
}

function wire(...instructions: Parameters<typeof signed>[1]): Buffer {
  ledger.skip(1);
  return signed(ledger.blockhash, instructions, alice);
}

test('the chain says what it is', async () => {
  assert.equal(await ledger.rpc('getHealth'), 'ok');
  assert.match(String(at(await ledger.rpc('getVersion'), 'solana-core')), /local-ledger/);
  assert.equal(String(await ledger.rpc('getGenesisHash')).length > 40, true);
  const slot = Number(await ledger.rpc('getSlot'));
  assert.equal(await ledger.rpc('getBlockHeight', { commitment: 'finalized' }), slot);
  assert.equal(at(await ledger.rpc('getEpochInfo'), 'absoluteSlot'), slot);
  assert.equal(typeof (await ledger.rpc('getBlockTime', slot)), 'number');
  assert.equal(await ledger.rpc('getBlockTime', slot + 1_000), null);
  const latest = await ledger.rpc('getLatestBlockhash');
  assert.equal(at(latest, 'value', 'lastValidBlockHeight'), slot + 150);
  const hash = at(latest, 'value', 'blockhash');
  assert.equal(at(await ledger.rpc('isBlockhashValid', hash), 'value'), true);
  ledger.skip(151);
  assert.equal(at(await ledger.rpc('isBlockhashValid', hash), 'value'), false);
  assert.equal(await ledger.rpc('getMinimumBalanceForRentExemption', 165), 2_039_280);
  assert.equal(at(await ledger.rpc('getSlot', { minContextSlot: 0 })), await ledger.rpc('getSlot'));
  assert.equal(at(await error('getSlot', { minContextSlot: 10 ** 9 }), 'code'), -32016);
});

test('a payment with a memo can be sent, confirmed and read back', async () => {
  await ledger.rpc('requestAirdrop', bob.address, 1_000_000_000);
  const bytes = wire(transferLamports(alice.address, bob.address, 12_345n), memo('turboCredit'));
  const signature = await ledger.rpc('sendTransaction', bytes.toString('base64'), { encoding: 'base64' });
  assert.equal(signature, signatureOf(bytes));
  const statuses = await ledger.rpc('getSignatureStatuses', [signature, encodeBase58(Buffer.alloc(64, 1))]);
  assert.equal(at(statuses, 'value', 0, 'confirmationStatus'), 'finalized');
  assert.equal(at(statuses, 'value', 0, 'err'), null);
  assert.equal(at(statuses, 'value', 1), null);
  assert.equal(at(await error('getTransaction', signature), 'code'), -32015);
  const options = { maxSupportedTransactionVersion: 0 };
  const found = await ledger.rpc('getTransaction', signature, options);
  assert.equal(at(found, 'version'), 0);
  assert.equal(at(found, 'meta', 'fee'), 5_000);
  const keys = at(found, 'transaction', 'message', 'accountKeys');
  assert.ok(Array.isArray(keys));
  const place = keys.indexOf(bob.address);
  const received =
    Number(at(found, 'meta', 'postBalances', place)) - Number(at(found, 'meta', 'preBalances', place));
  assert.equal(received, 12_345);
  const parsed = await ledger.rpc('getTransaction', signature, { ...options, encoding: 'jsonParsed' });
  const instructions = at(parsed, 'transaction', 'message', 'instructions');
  assert.deepEqual(at(instructions, 0, 'parsed', 'info'), {
    source: alice.address,
    destination: bob.address,
    lamports: 12_345,
  });
  assert.equal(at(instructions, 1, 'parsed'), 'turboCredit');
  const raw = await ledger.rpc('getTransaction', signature, { ...options, encoding: 'base64' });
  assert.equal(at(raw, 'transaction', 0), bytes.toString('base64'));
  const history = await ledger.rpc('getSignaturesForAddress', bob.address, { limit: 1 });
  assert.equal(at(history, 0, 'signature'), signature);
  assert.equal(at(history, 0, 'memo'), '[11] turboCredit');
  const older = await ledger.rpc('getSignaturesForAddress', bob.address, { before: signature });
  assert.ok(Array.isArray(older) && older.length === 1);
  const newer = await ledger.rpc('getSignaturesForAddress', bob.address, { until: signature });
  assert.deepEqual(newer, []);
  ledger.skip(400);
  await ledger.rpc('requestAirdrop', bob.address, 1_000_000);
  const old = await ledger.rpc('getSignatureStatuses', [signature]);
  assert.equal(at(old, 'value', 0), null);
  const searched = await ledger.rpc('getSignatureStatuses', [signature], { searchTransactionHistory: true });
  assert.equal(at(searched, 'value', 0, 'confirmationStatus'), 'finalized');
});

test('a transaction that would fail is answered with its error and its logs', async () => {
  const bytes = wire(transferLamports(alice.address, bob.address, 10n ** 18n));
  const failure = await error('sendTransaction', bytes.toString('base64'), { encoding: 'base64' });
  assert.equal(at(failure, 'code'), -32002);
  assert.match(
    String(at(failure, 'message')),
    /^Transaction simulation failed: Error processing Instruction 0/,
  );
  assert.deepEqual(at(failure, 'data', 'err'), { InstructionError: [0, { Custom: 1 }] });
  assert.match(String(at(failure, 'data', 'logs', 1)), /insufficient lamports/);
  const altered = Buffer.from(bytes);
  altered[5]! ^= 1;
  const forged = await error('sendTransaction', encodeBase58(altered));
  assert.deepEqual(forged, { code: -32003, message: 'Transaction signature verification failure' });
  const stale = wire(memo('late'));
  ledger.skip(151);
  assert.equal(
    at(await error('sendTransaction', encodeBase58(stale)), 'message'),
    'Transaction simulation failed: Blockhash not found',
  );
  const dropped = await ledger.rpc('sendTransaction', encodeBase58(stale), { skipPreflight: true });
  assert.equal(at(await ledger.rpc('getSignatureStatuses', [dropped]), 'value', 0), null);
});

test('oversized and broken transactions are invalid parameters', async () => {
  const large = await error('sendTransaction', Buffer.alloc(1234).toString('base64'), { encoding: 'base64' });
  assert.deepEqual(large, {
    code: -32602,
    message: 'base64 encoded transaction too large: 1648 bytes (max: encoded/raw 1644/1232)',
  });
  for (const [text, encoding] of [
    ['AAAA', 'base64'],
    ['AA=A', 'base64'],
    ['0OIl', 'base58'],
    ['AAAA', 'hex'],
  ]) {
    assert.equal(at(await error('sendTransaction', text, { encoding }), 'code'), -32602);
  }
});

test('simulation changes nothing and answers logs, units, accounts and returned data', async () => {
  const config = arnsConfig.decode(
    ledger.local.ledger.accounts.get(arnsAddresses(programs.arns).config().address).data,
  );
  const cost = arnsBuilder(programs, config.treasury).getTokenCost(alice.address, {
    intent: 'buy-name',
    name: 'a-long-enough-name',
    years: 1,
    quantity: undefined,
    type: 'lease',
  });
  const bytes = wire(cost, transferLamports(alice.address, bob.address, 77n));
  const before = ledger.balance(bob);
  ledger.skip(500);
  const options = {
    encoding: 'base64',
    replaceRecentBlockhash: true,
    accounts: { addresses: [bob.address] },
  };
  const result = await ledger.rpc('simulateTransaction', bytes.toString('base64'), options);
  assert.equal(at(result, 'value', 'err'), null);
  const data = Buffer.from(String(at(result, 'value', 'returnData', 'data', 0)), 'base64');
  assert.equal(data.readBigUInt64LE(), 240_000_000n);
  assert.equal(at(result, 'value', 'accounts', 0, 'lamports'), Number(before + 77n));
  assert.ok(Number(at(result, 'value', 'unitsConsumed')) > 0);
  assert.equal(ledger.balance(bob), before);
  const old = await ledger.rpc('simulateTransaction', bytes.toString('base64'), { encoding: 'base64' });
  assert.equal(at(old, 'value', 'err'), 'BlockhashNotFound');
});

test('the fee of a message is known before it is signed, while its blockhash lives', async () => {
  const { messageBytes } = parseTransaction(wire(memo('fee')));
  const text = messageBytes.toString('base64');
  assert.equal(at(await ledger.rpc('getFeeForMessage', text), 'value'), 5_000);
  ledger.skip(151);
  assert.equal(at(await ledger.rpc('getFeeForMessage', text), 'value'), null);
});

test('accounts are found by address, in every encoding, and by program with filters', async () => {
  const configAddress = arnsAddresses(programs.arns).config().address;
  const base64 = await ledger.rpc('getAccountInfo', configAddress, { encoding: 'base64' });
  assert.equal(at(base64, 'value', 'owner'), programs.arns);
  assert.equal(at(base64, 'value', 'space'), 182);
  const bytes = Buffer.from(String(at(base64, 'value', 'data', 0)), 'base64');
  const zstd = await ledger.rpc('getAccountInfo', configAddress, { encoding: 'base64+zstd' });
  assert.deepEqual(zstdDecompressSync(Buffer.from(String(at(zstd, 'value', 'data', 0)), 'base64')), bytes);
  assert.equal(at(await error('getAccountInfo', configAddress), 'code'), -32600);
  const slice = { encoding: 'base58', dataSlice: { offset: 8, length: 32 } };
  const sliced = await ledger.rpc('getAccountInfo', configAddress, slice);
  assert.equal(at(sliced, 'value', 'data', 0), arnsConfig.decode(bytes).authority);
  assert.equal(at(await ledger.rpc('getAccountInfo', wallet('nobody').address), 'value'), null);
  const tokens = associatedTokenAddress(alice.address, programs.mint);
  const several = await ledger.rpc('getMultipleAccounts', [tokens, wallet('nobody').address], {
    encoding: 'jsonParsed',
  });
  assert.equal(at(several, 'value', 0, 'data', 'parsed', 'info', 'owner'), alice.address);
  assert.equal(at(several, 'value', 1), null);
  const balance = await ledger.rpc('getTokenAccountBalance', tokens);
  assert.equal(at(balance, 'value', 'uiAmountString'), '1000000000');
  const owned = await ledger.rpc(
    'getTokenAccountsByOwner',
    alice.address,
    { mint: programs.mint },
    {
      encoding: 'base64',
    },
  );
  assert.equal(at(owned, 'value', 0, 'pubkey'), tokens);
  const filters = [
    { dataSize: 182 },
    { memcmp: { offset: 0, bytes: arnsConfig.discriminator.toString('base64'), encoding: 'base64' } },
  ];
  const found = await ledger.rpc('getProgramAccounts', programs.arns, { encoding: 'base64', filters });
  assert.ok(Array.isArray(found));
  assert.deepEqual(
    found.map((entry) => at(entry, 'pubkey')),
    [configAddress],
  );
  const none = [{ memcmp: { offset: 0, bytes: encodeBase58(arnsRecord.discriminator) } }];
  assert.deepEqual(await ledger.rpc('getProgramAccounts', programs.arns, { filters: none }), []);
});

test('bad parameters, unknown methods and batches', async () => {
  for (const [method, ...params] of [
    ['getBalance', 'short'],
    ['getBalance', 5],
    ['getBalance'],
    ['getMultipleAccounts', new Array<string>(101).fill(alice.address)],
    ['getSignatureStatuses', ['short']],
    ['getTransaction', 'short'],
    ['getProgramAccounts', programs.arns, { filters: [{}] }],
    ['requestAirdrop', alice.address, -1],
    ['requestAirdrop', alice.address, 1.5],
    ['getSignaturesForAddress', alice.address, { limit: 0 }],
    ['getMinimumBalanceForRentExemption', -1],
  ] as const) {
    assert.equal(at(await error(method, ...params), 'code'), -32602, method);
  }
  assert.equal(at(await error('getNothing'), 'code'), -32601);
  const post = async (body: string) => {
    const headers = { 'content-type': 'application/json' };
    const response = await fetch(ledger.local.url, { method: 'POST', headers, body });
    const answer: unknown = JSON.parse(await response.text());
    return answer;
  };
  assert.equal(at(await post('{'), 'error', 'code'), -32700);
  assert.equal(at(await post('[]'), 'error', 'code'), -32600);
  assert.equal(at(await post('5'), 'error', 'code'), -32600);
  const batch = await post(
    '[{"jsonrpc":"2.0","id":1,"method":"getHealth"},{"jsonrpc":"2.0","id":2,"method":"x"}]',
  );
  assert.equal(at(batch, 0, 'result'), 'ok');
  assert.equal(at(batch, 1, 'error', 'code'), -32601);
});
