/** Payments in ETH and USDC on a real EVM node: sent by the published SDK or by hand, reported, credited once. */
import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { EthereumToken, TurboFactory } from '@ardrive/turbo-sdk/node';
import { encodeFunctionData, parseAbi } from 'viem';
import { runTurnpike } from '../support/run-command.ts';
import { type RunningStack, startStack } from '../support/stack.ts';
import { type EvmNode, startEvmNode } from './evm-node.ts';

/** The node's second account, which has what transfers cost. */
const service = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8';
const serviceKey = '0x59c6995e998f97a5a0044966f0945389dc9e86dae88c7a8412f4603b6b78690d';
const destination = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const usdc = '0xA0b86991c6218b36c1d19D4a2e9Eb0cE3606eB48';
/** The node's first account, with its well-known key. */
const payerKey = '0xac0974bec39a17e36ba4a6b4d238ff944bacb478cbed5efcae784d7bf4f2ff80';
const payer = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266';
/** Somebody else who writes into the transaction that a payer's tokens move in. */
const attacker = '0x7E5F4552091A69125d5DfCb7b8C2659029395Bdf';
/**
 * A contract that calls whatever it is told, one call after the other: `to` and the length of the data as words, then
 * the data. It is a wallet that is a contract, and the entry point through which others' operations reach it.
 *
 *   start: push0
 *   loop:  jumpdest  calldatasize dup2 lt iszero push1 end jumpi
 *          dup1 push1 32 add calldataload                               the length
 *          dup1 dup3 push1 64 add push0 calldatacopy                    the data
 *          push0 push0 dup3 push0 push0 dup7 calldataload gas call      no value, no answer
 *          iszero push1 fail jumpi
 *          add push1 64 add push1 loop jump
 *   end:   jumpdest stop
 *   fail:  jumpdest push0 push0 revert
 */
const callerCode =
  '0x5f5b368110156029578060200135808260400' + '15f375f5f825f5f86355af115602b57016040016001565b005b5f5ffd';
const wallet = '0x00000000000000000000000000000000000a11ce';
const entryPoint = '0x0000000000000000000000000000000000004337';
const token = JSON.parse(readFileSync(join(import.meta.dirname, 'token/payment-token.json'), 'utf8'));
const tokenAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function transfer(address to, uint256 value) returns (bool)',
]);

describe('payments on an EVM chain', () => {
  let node: EvmNode;
  let stack: RunningStack;
  before(async () => {
    node = await startEvmNode();
    await node.call('hardhat_setCode', usdc, token.deployedBytecode);
    stack = await startStack({
      only: ['payment'],
      environment: {
        ETHEREUM_RPC_URL: node.url,
        ETHEREUM_ADDRESS: service,
        RETURN_EVM_KEY: serviceKey,
        ETHEREUM_MIN_CONFIRMATIONS: '3',
        // The chain's own accounts are the same, and shall begin without credits.
        LOCAL_WALLETS: '0',
        PENDING_PAYMENT_RECHECK_MS: '100',
        PAYMENT_TX_POLLING_WAIT_TIME_MS: '50',
      },
    });
  });
  after(async () => {
    await stack?.stop();
    await node?.stop();
  });

  const send = (transaction: Record<string, string>) =>
    node.call<string>('eth_sendTransaction', { from: payer, gas: '0x30d40', ...transaction });
  const mine = (blocks: number) => node.call('hardhat_mine', `0x${blocks.toString(16)}`);
  async function report(id: string, name = 'ethereum') {
    const url = `${stack.urls.payment}/v1/account/balance/${name}`;
    const answer = await fetch(url, { method: 'POST', body: JSON.stringify({ tx_id: id }) });
    return { status: answer.status, body: JSON.parse(await answer.text()) };
  }
  async function credited(id: string, name = 'ethereum') {
    const giveUpAt = Date.now() + 90_000;
    for (;;) {
      const { status, body } = await report(id, name);
      if (status !== 202) return { status, body };
      assert.ok(Date.now() < giveUpAt, 'not credited in time');
      await new Promise((done) => setTimeout(done, 100));
    }
  }
  async function balance(address: string): Promise<bigint> {
    const answer = await fetch(`${stack.urls.payment}/v1/account/balance/ethereum?address=${address}`);
    return answer.status === 404 ? 0n : BigInt(JSON.parse(await answer.text()).winc);
  }

  test('the SDK tops up in ETH', async () => {
    const turbo = TurboFactory.authenticated({
      privateKey: payerKey,
      token: 'ethereum',
      paymentServiceConfig: { url: stack.urls.payment ?? '' },
      gatewayUrl: node.url,
      tokenTools: new EthereumToken({
        gatewayUrl: node.url,
        pollingOptions: { initialBackoffMs: 0, maxAttempts: 50, pollingIntervalMs: 50 },
      }),
    });
    const paid = await turbo.topUpWithTokens({ tokenAmount: '10000000000000000' });
    assert.equal(paid.status, 'pending');
    assert.equal(paid.winc, '3830000000000');
    await mine(3);
    assert.equal((await credited(paid.id)).status, 200);
    assert.equal((await turbo.getBalance()).winc, '3830000000000');
    const [payment] = (await turbo.getPaymentHistory()).payments;
    assert.ok(payment?.type === 'crypto');
    assert.deepEqual([payment.transactionId, payment.senderAddress], [paid.id, payer]);
  });

  test('a memo names the wallet that is credited', async () => {
    const data = `0x${Buffer.from(`turboCreditDestinationAddress=${destination}`).toString('hex')}`;
    const id = await send({ to: service, value: '0x2386f26fc10000', data });
    await mine(3);
    const { status, body } = await credited(id);
    assert.equal(status, 200);
    assert.equal(body.creditedTransaction.destinationAddress, destination);
    assert.equal(body.creditedTransaction.transactionSenderAddress, payer);
    assert.equal(await balance(destination), 3_830_000_000_000n);
    assert.equal((await report(id)).status, 200, 'again');
    assert.equal(await balance(destination), 3_830_000_000_000n);
  });

  test('USDC is credited by its log, and a reverted transfer is not', async () => {
    const transfer = (value: bigint) =>
      encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [service, value] });
    const memo = Buffer.from(`turboCreditDestinationAddress=${destination}`).toString('hex');
    const mint = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [payer, 5_000_000n] });
    await send({ to: usdc, data: mint });
    const before = await balance(destination);
    const id = await send({ to: usdc, data: transfer(2_000_000n) + memo });
    await mine(3);
    const { status, body } = await credited(id, 'usdc');
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.creditedTransaction.transactionQuantity, 2_000_000);
    const gained = (await balance(destination)) - before;
    assert.equal(gained, 245_120_000_000n);

    const tooMuch = await send({ to: usdc, data: transfer(50_000_000n) }).catch(() => undefined);
    const reverted =
      tooMuch ??
      (await node.call<{ transactions: string[] }>('eth_getBlockByNumber', 'latest', false)).transactions[0];
    assert.ok(reverted !== undefined);
    await mine(3);
    assert.equal((await report(reverted, 'usdc')).status, 400);
    assert.equal(await balance(payer), 3_830_000_000_000n, 'nothing was credited');
  });

  const memoOf = (address: string) => Buffer.from(`turboCreditDestinationAddress=${address}`).toString('hex');
  /** One call for `callerCode`. */
  const operation = (to: string, data: string) => {
    const word = (hex: string) => hex.padStart(64, '0');
    return word(to.slice(2)) + word((data.length / 2).toString(16)) + data;
  };

  test('in a bundle of smart wallets nobody else names the wallet that is credited', async () => {
    await node.call('hardhat_setCode', wallet, callerCode);
    await node.call('hardhat_setCode', entryPoint, callerCode);
    const mint = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [wallet, 9_000_000n] });
    await send({ to: usdc, data: mint });
    const transfer = encodeFunctionData({
      abi: tokenAbi,
      functionName: 'transfer',
      args: [service, 2_000_000n],
    }).slice(2);
    const pay = operation(wallet, operation(usdc, transfer));
    const bundles = [
      // Another user's operation of the same bundle, before or after.
      operation(attacker, memoOf(attacker)) + pay,
      pay + operation(attacker, memoOf(attacker)),
      // A bundler that writes behind the call of the token itself.
      operation(wallet, operation(usdc, transfer + memoOf(attacker))),
    ];
    let paid = 0n;
    for (const bundle of bundles) {
      const id = await send({ to: entryPoint, data: `0x${bundle}`, gas: '0x7a120' });
      await mine(3);
      const { status, body } = await credited(id, 'usdc');
      assert.equal(status, 200, JSON.stringify(body));
      assert.equal(body.creditedTransaction.transactionSenderAddress.toLowerCase(), wallet);
      assert.equal(body.creditedTransaction.destinationAddress.toLowerCase(), wallet);
      paid += 245_120_000_000n;
      assert.equal(await balance(wallet), paid);
    }
    assert.equal(await balance(attacker), 0n);
  });

  test('a payment to another wallet, or of nothing, credits nothing', async () => {
    const elsewhere = await send({ to: destination, value: '0x1' });
    const nothing = await send({ to: service, value: '0x0' });
    await mine(3);
    const wrong = await report(elsewhere);
    assert.equal(wrong.status, 400);
    assert.equal(wrong.body, `Payment transaction '${elsewhere}' has wrong target address '${destination}'`);
    assert.equal((await report(nothing)).body, 'Transaction quantity must be greater than 0');
    assert.equal((await report(`0x${'0'.repeat(64)}`)).status, 404);
    assert.equal((await report(elsewhere, 'matic')).body, 'Token not supported');
  });

  test('what nobody reported is found by reconcile, and credited once', async () => {
    const finder = '0x5B38Da6a701c568545dCfcB03FcB875f56beddC4';
    const memo = Buffer.from(`turboCreditDestinationAddress=${finder}`).toString('hex');
    const mint = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [payer, 2_000_000n] });
    const pay = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [service, 2_000_000n] });
    await send({ to: usdc, data: mint });
    const dollars = await send({ to: usdc, data: pay + memo });
    const ether = await send({ to: service, value: '0x2386f26fc10000', data: `0x${memo}` });
    await mine(3);
    for (let times = 0; times < 2; times += 1) {
      const command = ['reconcile', '--since', '2000-01-01T00:00:00Z', '--json'];
      const url = stack.urls.payment ?? '';
      const { out, error } = await runTurnpike([...command, '--url', url], { DATA_DIR: stack.dataDir });
      const { records, failures } = JSON.parse(out || assert.fail(error));
      // The local ledger of Solana has a transfer of its own.
      const chain = records.filter(
        ({ id, state }: Record<string, string>) => id?.startsWith('0x') && state === 'credited',
      );
      assert.deepEqual(
        failures.filter(({ source }: Record<string, string>) => /ethereum|usdc/.test(source ?? '')),
        [],
      );
      const found = chain.map(({ id, address }: Record<string, string>) => `${id} ${address}`).sort();
      assert.deepEqual(found, times === 0 ? [`${dollars} ${finder}`, `${ether} ${finder}`].sort() : []);
      assert.equal(await balance(finder), 3_830_000_000_000n + 245_120_000_000n);
    }
  });

  test('what is left of payments in ETH and USDC goes back to who sent them', async () => {
    const mint = encodeFunctionData({ abi: tokenAbi, functionName: 'mint', args: [payer, 3_000_000n] });
    await send({ to: usdc, data: mint });
    const pay = encodeFunctionData({ abi: tokenAbi, functionName: 'transfer', args: [service, 3_000_000n] });
    const dollars = await send({ to: usdc, data: pay });
    const ether = await send({ to: service, value: '0x2386f26fc10000' });
    await mine(3);
    assert.equal((await credited(dollars, 'usdc')).status, 200);
    assert.equal((await credited(ether)).status, 200);
    const word = payer.slice(2).toLowerCase().padStart(64, '0');
    const held = async () => ({
      ether: BigInt(await node.call<string>('eth_getBalance', payer, 'latest')),
      dollars: BigInt(await node.call<string>('eth_call', { to: usdc, data: `0x70a08231${word}` }, 'latest')),
    });
    const before = await held();
    const secret = join(stack.dataDir, 'payer-key');
    writeFileSync(secret, payerKey, { mode: 0o600 });
    const environment = { DATA_DIR: stack.dataDir };
    const give = async (id: string) => {
      const command = ['account', 'return', id, '--wallet', secret, '--no-wait', '--json'];
      const { code, out, error } = await runTurnpike(command, environment);
      assert.equal(code, 0, error);
      return JSON.parse(out);
    };
    const list = async () => {
      const { out } = await runTurnpike(['account', 'return', '--wallet', secret, '--json'], environment);
      return JSON.parse(out);
    };
    assert.equal((await give(dollars)).amount, '3000000');
    assert.equal((await give(ether)).amount, '10000000000000000');
    const giveUpAt = Date.now() + 90_000;
    for (;;) {
      const { returns } = await list();
      if (returns.every(({ state }: { state: string }) => state === 'confirmed')) break;
      assert.ok(Date.now() < giveUpAt, JSON.stringify(returns));
      await mine(1);
    }
    assert.deepEqual(await held(), {
      ether: before.ether + 10_000_000_000_000_000n,
      dollars: before.dollars + 3_000_000n,
    });
  });
});
