/** The wallets that the local network furnishes, its faucet, and the commands that show what runs. */
import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { localWallets } from '../../src/wallets/local-wallets.ts';
import { type CommandResult, startCommands } from '../support/run-command.ts';
import { freePorts, type RunningStack, startStack } from '../support/stack.ts';

const { arweave, ethereum, solana } = localWallets();
const stranger = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
let stack: RunningStack;
const commands = startCommands();

before(async () => {
  stack = await startStack();
});
after(async () => {
  commands.stop();
  await stack.stop();
  rmSync(stack.dataDir, { recursive: true, force: true });
});

const turnpike = (...args: string[]): Promise<CommandResult> =>
  commands.run(args, { ...freePorts(), DATA_DIR: stack.dataDir });

async function json(url: string, body?: object): Promise<{ status: number; body: Record<string, unknown> }> {
  const headers = { 'content-type': 'application/json' };
  const answer = await fetch(
    url,
    body === undefined ? {} : { method: 'POST', headers, body: JSON.stringify(body) },
  );
  return { status: answer.status, body: (await answer.json()) as Record<string, unknown> };
}

const give = (address: string, amount: string, coin: string) =>
  json(`${stack.urls.arweave}/local/faucet`, { address, amount, coin });

async function winstonOf(address: string): Promise<string> {
  return await (await fetch(`${stack.urls.arweave}/wallet/${address}/balance`)).text();
}

async function wincOf(address: string): Promise<unknown> {
  return (await json(`${stack.urls.payment}/v1/account/balance?address=${address}`)).body.winc;
}

async function solanaBalances(address: string): Promise<{ lamports: unknown; tokens: unknown }> {
  const call = async (method: string, ...params: unknown[]) =>
    (await json(stack.urls.solana ?? '', { jsonrpc: '2.0', id: 1, method, params })).body.result as {
      value: unknown;
    };
  const { value: lamports } = await call('getBalance', address);
  const { value: accounts } = await call(
    'getTokenAccountsByOwner',
    address,
    { programId: 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA' },
    { encoding: 'jsonParsed' },
  );
  const [account] = accounts as {
    account: { data: { parsed: { info: { tokenAmount: { amount: string } } } } };
  }[];
  return { lamports, tokens: account?.account.data.parsed.info.tokenAmount.amount };
}

async function insistOnFirstMoney(): Promise<void> {
  for (const { address } of [arweave[0]!, arweave[9]!]) {
    assert.equal(await winstonOf(address), '1000000000000000');
    assert.equal(await wincOf(address), '10000000000000');
  }
  for (const { address } of [ethereum[0]!, ethereum[9]!]) {
    assert.equal((await json(`${stack.urls.x402}/balance/${address}`)).body.balance, '10000000000');
    assert.equal(await wincOf(address), '10000000000000');
  }
  for (const { address } of [solana[0]!, solana[9]!]) {
    assert.deepEqual(await solanaBalances(address), { lamports: 1_000_000_000_000, tokens: '100000000000' });
    assert.equal(await wincOf(address), '10000000000000');
  }
}

test('thirty wallets have money of their chain and credits, which their keys spend', async () => {
  await insistOnFirstMoney();
  const key = await turnpike('wallets', 'arweave', '3');
  const file = join(stack.dataDir, 'key.json');
  writeFileSync(file, key.out);
  const uploaded = await turnpike(
    'upload',
    'package.json',
    '--wallet',
    file,
    '--url',
    stack.urls.upload ?? '',
  );
  assert.equal(uploaded.code, 0, uploaded.error);
  assert.ok(BigInt(String(await wincOf(arweave[3]!.address))) <= 10_000_000_000_000n);
});

test('the faucet gives every coin to any address of its chain, and refuses what makes no sense', async () => {
  assert.deepEqual(await give(stranger, '0.25', 'ar'), {
    status: 200,
    body: { address: stranger, coin: 'ar', amount: '0.25', balance: '0.25' },
  });
  assert.equal(await winstonOf(stranger), '250000000000');
  assert.equal((await give(solana[4]!.address, '1.5', 'SOL')).body.balance, '1001.5');
  assert.equal((await give(solana[4]!.address, '0.000001', 'ario')).body.balance, '100000.000001');
  assert.equal((await give(ethereum[4]!.address, '5', 'usdc')).body.balance, '10005');
  assert.equal((await give(stranger, '2', 'credits')).body.balance, '2');
  assert.equal(await wincOf(stranger), '2000000000000');

  for (const [address, amount, coin] of [
    [stranger, '0', 'ar'],
    [stranger, '-1', 'ar'],
    [stranger, '1e400', 'ar'],
    [stranger, '0.0000000000001', 'ar'],
    [stranger, '1000000001', 'ar'],
    [ethereum[0]!.address, '1', 'ar'],
    [stranger, '1', 'sol'],
    ['nobody', '1', 'credits'],
    [stranger, '1000001', 'credits'],
    [stranger, '1', 'doge'],
  ] as const) {
    const { status, body } = await give(address, amount, coin);
    assert.equal(status, 400, `${amount} ${coin}`);
    assert.equal(typeof body, 'string');
  }
  assert.equal(await winstonOf(stranger), '250000000000');
  assert.equal(await wincOf(stranger), '2000000000000');
});

test('a page of another site gets nothing out of it', async () => {
  const headers = { 'content-type': 'application/json', origin: 'https://stranger.example' };
  const body = JSON.stringify({ address: stranger, amount: '1', coin: 'credits' });
  const answer = await fetch(`${stack.urls.arweave}/local/faucet`, { method: 'POST', headers, body });
  assert.equal(answer.status, 403);
  assert.equal((await fetch(`${stack.urls.arweave}/local/wallets`, { headers })).status, 403);
  assert.equal(await wincOf(stranger), '2000000000000');
});

test('commands find what runs by the data folder alone', async () => {
  const status = await turnpike('status', '--json');
  assert.equal(status.code, 0, status.out);
  const { ok, processes } = JSON.parse(status.out);
  assert.equal(ok, true);
  assert.equal(typeof processes[0].height, 'number');
  assert.deepEqual(
    Object.fromEntries(
      processes[0].parts.map((part: { name: string; url: string }) => [part.name, part.url]),
    ),
    stack.urls,
  );
  const table = await turnpike('status');
  assert.match(table.out, /gateway +http:\/\/\S+ +healthy/);
  assert.doesNotMatch(table.out, /but:/);

  const renamed = await turnpike('env', '--override', 'GATEWAY_URL=VITE_GATEWAY_URL');
  assert.ok(renamed.out.includes(`VITE_GATEWAY_URL="${stack.urls.gateway}"\n`));
  assert.ok(renamed.out.includes(`ARWEAVE_URL="${stack.urls.arweave}"\n`));
  const { GATEWAY_URL } = JSON.parse((await turnpike('env', '--json')).out);
  assert.equal(GATEWAY_URL, stack.urls.gateway);
  assert.equal((await turnpike('env', '--override', 'NOTHING=X')).code, 64);

  const given = await turnpike('faucet', solana[5]!.address, '1', 'credits', '--json');
  assert.equal(JSON.parse(given.out).balance, '11');
  assert.equal((await turnpike('faucet', solana[5]!.address, '1', 'doge')).code, 64);
});

test('a reset network is furnished again', async () => {
  assert.equal((await json(`${stack.urls.arweave}/local/reset`, {})).status, 200);
  await insistOnFirstMoney();
  assert.equal(await winstonOf(stranger), '0');
});

test('a start after another gives nothing twice, and the end is seen', async () => {
  await give(arweave[1]!.address, '1', 'ar');
  await stack.end();
  assert.equal((await turnpike('status')).code, 1);
  assert.match((await turnpike('env')).error, /nothing runs on/);
  stack = await startStack({ dataDir: stack.dataDir });
  assert.equal(await winstonOf(arweave[1]!.address), '1001000000000000');
  assert.equal(await wincOf(solana[5]!.address), '10000000000000');
});
