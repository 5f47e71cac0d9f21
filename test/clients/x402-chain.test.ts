/**
 * x402 on a real EVM: the published client signs, a facilitator submits `transferWithAuthorization` to a node
 * that runs the token's code at the address of Base Sepolia's USDC, and the credit follows. The answer of one
 * settlement is lost: what became of it is read from the chain.
 */
import assert from 'node:assert/strict';
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { after, before, describe, test } from 'node:test';
import { createPublicClient, createWalletClient, http, parseAbi, parseSignature } from 'viem';
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts';
import { baseSepolia } from 'viem/chains';
import { createSigner, wrapFetchWithPayment } from 'x402-fetch';
import { findX402Network } from '../../src/formats/x402/networks.ts';
import { openX402Bench } from '../support/x402-bench.ts';

const token = JSON.parse(readFileSync(join(import.meta.dirname, 'token/payment-token.json'), 'utf8'));
const asset = findX402Network('base-sepolia')?.asset as `0x${string}`;
const payTo = '0x209693Bc6afc0C5328bA36FaF03C514EF312287C';
const credit = 1_000_000_000_000n;
const tokenAbi = parseAbi([
  'function mint(address to, uint256 value)',
  'function balanceOf(address holder) view returns (uint256)',
  'function transferWithAuthorization(address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
]);

let node: ChildProcess;
let rpcUrl: string;

before(async () => {
  node = spawn(
    process.execPath,
    [
      'node_modules/hardhat/internal/cli/bootstrap.js',
      'node',
      '--port',
      '0',
      '--config',
      'token/hardhat.config.cjs',
    ],
    {
      cwd: import.meta.dirname,
      stdio: ['ignore', 'pipe', 'inherit'],
      env: { ...process.env, HARDHAT_DISABLE_TELEMETRY_PROMPT: 'true' },
    },
  );
  assert.ok(node.stdout !== null);
  for await (const [line] of lines(node)) {
    const match = /JSON-RPC server at (http:\/\/\S+?)\/?$/.exec(line);
    if (match?.[1] !== undefined) {
      rpcUrl = match[1];
      break;
    }
  }
  node.stdout.resume();
});

after(async () => {
  const gone = once(node, 'exit');
  node.kill();
  await gone;
});

async function* lines(child: ChildProcess): AsyncGenerator<[string]> {
  assert.ok(child.stdout !== null);
  for await (const line of createInterface(child.stdout)) yield [line];
  throw new Error('the node ended');
}

/** A facilitator of a few lines: it submits what it is given, and can lose its answer afterwards. */
async function startChainFacilitator(t: { after(fn: () => void): void }) {
  const [operator] = await rpc<string[]>('eth_accounts', []);
  const wallet = createWalletClient({
    chain: baseSepolia,
    transport: http(rpcUrl),
    account: operator as `0x${string}`,
  });
  const reader = createPublicClient({ chain: baseSepolia, transport: http(rpcUrl), pollingInterval: 50 });
  const faults = { loseAnswers: 0 };
  const server = createServer(async (request, response) => {
    let text = '';
    for await (const chunk of request) text += chunk;
    const { paymentPayload, paymentRequirements } = JSON.parse(text);
    const { authorization: a, signature } = paymentPayload.payload;
    const { r, s, v, yParity } = parseSignature(signature);
    const call = {
      address: asset,
      abi: tokenAbi,
      functionName: 'transferWithAuthorization',
      args: [
        a.from,
        a.to,
        BigInt(a.value),
        BigInt(a.validAfter),
        BigInt(a.validBefore),
        a.nonce,
        Number(v ?? BigInt(27 + yParity)),
        r,
        s,
      ],
    } as const;
    const answer = (value: object) =>
      response.setHeader('content-type', 'application/json').end(JSON.stringify(value));
    try {
      await reader.simulateContract({ ...call, account: operator as `0x${string}` });
      if (request.url === '/verify') return answer({ isValid: true, payer: a.from });
      const transaction = await wallet.writeContract(call);
      const receipt = await reader.waitForTransactionReceipt({ hash: transaction });
      if (faults.loseAnswers > 0) {
        faults.loseAnswers -= 1;
        return request.socket.destroy();
      }
      return answer({
        success: receipt.status === 'success',
        transaction,
        network: paymentRequirements.network,
        payer: a.from,
      });
    } catch {
      const reason = 'invalid_exact_evm_transaction_simulation_failed';
      if (request.url === '/verify') return answer({ isValid: false, invalidReason: reason });
      return answer({
        success: false,
        errorReason: reason,
        transaction: '',
        network: paymentRequirements.network,
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, faults };
}

async function rpc<T>(method: string, params: unknown[]): Promise<T> {
  const answer = await fetch(rpcUrl, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
  });
  const { result, error } = JSON.parse(await answer.text());
  if (error !== undefined) throw new Error(error.message);
  return result;
}

const balanceOf = (holder: string) =>
  createPublicClient({ chain: baseSepolia, transport: http(rpcUrl) }).readContract({
    address: asset,
    abi: tokenAbi,
    functionName: 'balanceOf',
    args: [holder as `0x${string}`],
  });

/** The token at its usual address, and a new payer with ten dollars of it. */
async function newPayer() {
  await rpc('hardhat_setCode', [asset, token.deployedBytecode]);
  const [operator] = await rpc<string[]>('eth_accounts', []);
  const privateKey = generatePrivateKey();
  const payer = privateKeyToAccount(privateKey).address;
  const wallet = createWalletClient({
    chain: baseSepolia,
    transport: http(rpcUrl),
    account: operator as `0x${string}`,
  });
  const reader = createPublicClient({ chain: baseSepolia, transport: http(rpcUrl), pollingInterval: 50 });
  const hash = await wallet.writeContract({
    address: asset,
    abi: tokenAbi,
    functionName: 'mint',
    args: [payer, 10_000_000n],
  });
  await reader.waitForTransactionReceipt({ hash });
  return { payer, signer: await createSigner('base-sepolia', privateKey) };
}

describe('on an EVM node', () => {
  test('a top-up moves the token on the chain and credits the payer', async (t) => {
    const { payer, signer } = await newPayer();
    const facilitator = await startChainFacilitator(t);
    const bench = await openX402Bench(t, {
      facilitatorUrl: facilitator.url,
      payTo,
      rpcUrls: { 'base-sepolia': rpcUrl },
    });
    const before = await balanceOf(payTo);
    const pay = wrapFetchWithPayment(fetch, signer, 5_000_000n);
    const answer = await pay(`${bench.url}/v1/x402/top-up?type=credits&qty=2`);
    assert.equal(answer.status, 200, await answer.clone().text());
    const { x402SettlementResponse } = JSON.parse(await answer.text());
    const receipt = await rpc<{ status: string; to: string }>('eth_getTransactionReceipt', [
      x402SettlementResponse.transaction,
    ]);
    assert.equal(receipt.status, '0x1');
    assert.equal(receipt.to, asset.toLowerCase());
    assert.equal(await balanceOf(payer), 8_000_000n);
    assert.equal((await balanceOf(payTo)) - before, 2_000_000n);
    assert.equal((await bench.credits.balance(payer))?.winc, 2n * credit);
  });

  test('a settlement whose answer is lost is found on the chain and credited once', async (t) => {
    const { payer, signer } = await newPayer();
    const facilitator = await startChainFacilitator(t);
    const clock = { offsetMs: 0 };
    const bench = await openX402Bench(t, {
      facilitatorUrl: facilitator.url,
      payTo,
      rpcUrls: { 'base-sepolia': rpcUrl },
      now: () => Date.now() + clock.offsetMs,
    });
    facilitator.faults.loseAnswers = 1;
    let sent: string | null = null;
    const watching: typeof fetch = (input, init) => {
      sent = new Request(input, init).headers.get('x-payment') ?? sent;
      return fetch(input, init);
    };
    const pay = wrapFetchWithPayment(watching, signer, 5_000_000n);
    const failed = await pay(`${bench.url}/v1/x402/top-up?type=credits&qty=3`);
    assert.equal(failed.status, 503);
    assert.equal(await balanceOf(payer), 7_000_000n);
    assert.equal(await bench.credits.balance(payer), undefined);
    // The client's own retry of the same payment finds the transfer.
    clock.offsetMs = 30_000;
    const found = await bench.get('type=credits&qty=3', { 'x-payment': String(sent) });
    assert.equal(found.status, 200, await found.clone().text());
    assert.equal((await bench.credits.balance(payer))?.winc, 3n * credit);
    assert.equal(await balanceOf(payer), 7_000_000n);
  });

  test('a payer without the money is refused before anything is sent', async (t) => {
    const { payer, signer } = await newPayer();
    const facilitator = await startChainFacilitator(t);
    const bench = await openX402Bench(t, {
      facilitatorUrl: facilitator.url,
      payTo,
      rpcUrls: { 'base-sepolia': rpcUrl },
    });
    const pay = wrapFetchWithPayment(fetch, signer, 50_000_000n);
    const answer = await pay(`${bench.url}/v1/x402/top-up?type=credits&qty=11`);
    assert.equal(answer.status, 402);
    assert.equal(await balanceOf(payer), 10_000_000n);
    assert.equal(await bench.credits.balance(payer), undefined);
  });
});
