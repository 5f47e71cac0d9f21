import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, beforeEach, test } from 'node:test';
import { readConfig } from '../../config/config.ts';
import { createFork, type Fork } from '../../fork/fork.ts';
import { isRecord, tryParseJson } from '../../formats/json.ts';
import { lamportsPerSol, namePrograms, tokenProgram } from '../../formats/solana/programs.ts';
import { transferLamports } from '../../formats/solana/system.ts';
import { associatedTokenAddress } from '../../formats/solana/token.ts';
import { silentLog } from '../../kernel/testing.ts';
import { signed, TestLedger, wallet } from './testing.ts';

const [rich, poor, dead] = [wallet('rich'), wallet('poor'), wallet('dead')];
const sol = lamportsPerSol;

let cluster: TestLedger;
let here: TestLedger;
let fork: Fork;
/** Between the two: counts calls, and answers in the cluster's place where a test says so. */
let proxy: Server;
let calls: string[] = [];
let answer: ((method: string) => unknown) | undefined;
const folder = mkdtempSync(join(tmpdir(), 'turnpike-ledger-fork-'));

before(async () => {
  cluster = await TestLedger.start({ fund: [rich.address] });
  for (const { address } of [rich, dead]) await cluster.rpc('requestAirdrop', address, Number(5n * sol));
  proxy = createServer(async (request, response) => {
    let text = '';
    for await (const piece of request.setEncoding('utf8')) text += piece;
    const call = tryParseJson(text);
    const method = isRecord(call) ? String(call.method) : '';
    calls.push(method);
    assert.equal(request.headers['x-turnpike-fork'], 'no');
    const instead = answer?.(method);
    if (instead === 'nothing') {
      request.socket.destroy();
      return;
    }
    if (instead !== undefined) {
      response.end(JSON.stringify({ jsonrpc: '2.0', id: 1, ...Object(instead) }));
      return;
    }
    const passed = await fetch(cluster.local.url, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: text,
    });
    response.end(await passed.text());
  });
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done));
  const { port } = proxy.address() as AddressInfo;
  const config = readConfig({ DATA_DIR: folder, FORK_SOLANA_RPC_URL: `http://127.0.0.1:${port}/key` });
  fork = createFork(config, silentLog) ?? assert.fail();
  await fork.start();
  here = await TestLedger.start({ fork });
});
after(async () => {
  await here.stop();
  await fork.stop();
  proxy.close();
  await cluster.stop();
  rmSync(folder, { recursive: true, force: true });
});
beforeEach(() => {
  calls = [];
  answer = undefined;
});

const balance = async ({ address }: { address: string }): Promise<unknown> => {
  const found = await here.rpc('getBalance', address);
  return isRecord(found) ? found.value : undefined;
};

/** By RPC, as a client sends it. */
async function transfer(from: typeof rich, to: typeof rich, lamports: bigint): Promise<void> {
  here.skip(1);
  const wire = signed(here.blockhash, [transferLamports(from.address, to.address, lamports)], from);
  await here.rpc('sendTransaction', wire.toString('base64'), { encoding: 'base64' });
}

test('an account is fetched once and is the ledger’s own from then on', async () => {
  const there = Number(cluster.balance(rich));
  assert.equal(await balance(rich), there);
  assert.equal(await balance(rich), there);
  assert.deepEqual(calls, ['getMultipleAccounts']);
  await transfer(rich, poor, 2n * sol);
  assert.equal(await balance(poor), Number(2n * sol));
  assert.equal(cluster.balance(poor), 0n);
  assert.equal(Number(cluster.balance(rich)), there);
});

test('what it is asked for again and again it asks the cluster once in a while', async () => {
  const { address } = wallet('never used');
  for (let count = 0; count < 3; count += 1) assert.equal(await balance({ address }), 0);
  assert.deepEqual(calls, ['getMultipleAccounts']);
});

test('an account that ended here does not come back, after a restart neither', async () => {
  const all = 5n * sol - 5_000n;
  await transfer(dead, poor, all);
  assert.equal(await balance(dead), 0);
  await here.restart();
  assert.equal(await balance(dead), 0);
  assert.equal(cluster.balance(dead), 5n * sol);
  // It may be begun anew.
  await transfer(poor, dead, sol);
  assert.equal(await balance(dead), Number(sol));
});

test('amounts that JavaScript does not count exactly are taken over to the last lamport', async () => {
  const { address } = wallet('very rich');
  const lamports = 9_007_199_254_740_993n;
  answer = (method) => {
    if (method !== 'getMultipleAccounts') return undefined;
    const account = {
      lamports: 0,
      owner: '11111111111111111111111111111111',
      data: ['', 'base64'],
      executable: false,
    };
    return { result: { value: [{ ...account, lamports: JSON.rawJSON(String(lamports)) }] } };
  };
  await here.rpc('getBalance', address);
  assert.equal(here.local.ledger.accounts.get(address).lamports, lamports);
});

test('lists are those of both, and the mint comes with a token account', async () => {
  const { mint } = namePrograms.mainnet;
  const listed = await here.rpc(
    'getTokenAccountsByOwner',
    rich.address,
    { mint },
    { encoding: 'jsonParsed' },
  );
  const value = isRecord(listed) ? listed.value : undefined;
  assert.ok(Array.isArray(value));
  assert.equal(value[0].pubkey, associatedTokenAddress(rich.address, mint));
  assert.equal(value[0].account.data.parsed.info.tokenAmount.decimals, 6);
  assert.equal(value[0].account.owner, tokenProgram);
});

test('a list that the cluster refuses to make is the ledger’s own', async () => {
  answer = () => ({ error: { code: -32010, message: 'excluded from account secondary indexes' } });
  const listed = await here.rpc('getTokenAccountsByOwner', poor.address, { programId: tokenProgram });
  assert.deepEqual(isRecord(listed) && listed.value, []);
});

test('a cluster that does not answer makes no absence', async () => {
  const { address } = wallet('not asked for before');
  answer = () => 'nothing';
  const words = /^FORK_SOLANA_RPC_URL http:\/\/127\.0\.0\.1:[0-9]+\/\(hidden\) does not answer/;
  const isTold = (error: { rpc?: { message: string } }) => words.test(error.rpc?.message ?? '');
  await assert.rejects(here.rpc('getBalance', address), isTold);
  await assert.rejects(transfer(poor, { ...poor, address }, sol), isTold);
  assert.ok(!here.local.ledger.accounts.has(address));
  // What it has itself it goes on with.
  assert.notEqual(await balance(poor), 0);
});

test('the state of the cluster itself is not taken over', async () => {
  await balance({ address: 'SysvarC1ock11111111111111111111111111111111' });
  assert.deepEqual(calls, []);
});

test('every answer says that the ledger forks, and one that asks for its own gets that', async () => {
  const { address } = wallet('only there');
  await cluster.rpc('requestAirdrop', address, 1_000_000_000);
  const response = await fetch(here.local.url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', 'x-turnpike-fork': 'no' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'getBalance', params: [address] }),
  });
  assert.match(response.headers.get('x-turnpike-fork') ?? '', /^http:\/\/127\.0\.0\.1:[0-9]+\/\(hidden\)$/);
  assert.equal(JSON.parse(await response.text()).result.value, 0);
  assert.deepEqual(calls, []);
});
