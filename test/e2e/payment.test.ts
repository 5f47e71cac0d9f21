/** The whole stack: payments in AR and SOL on the local chains, and a kill between the report and the credit. */
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { transactionToJson } from '../../src/formats/arweave/transaction-json.ts';
import { encodeBase58 } from '../../src/formats/base58.ts';
import { parseSolanaAddress } from '../../src/formats/solana/address.ts';
import { transferLamports } from '../../src/formats/solana/system.ts';
import { parseTransaction } from '../../src/formats/solana/transaction.ts';
import { signed, wallet as solanaWallet } from '../../src/localnet/solana/testing.ts';
import { eventually } from '../support/eventually.ts';
import { NodeClient, TestWallet } from '../support/local-arweave.ts';
import { type RunningStack, startStack } from '../support/stack.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-payment-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const oneAr = 1_000_000_000_000n;
const environment = {
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: '0',
  LOCAL_ARWEAVE_CONFIRM_BLOCKS: '0',
  PENDING_PAYMENT_RECHECK_MS: '100',
  PAYMENT_TX_POLLING_WAIT_TIME_MS: '20',
};

async function read(url: string, init?: RequestInit): Promise<{ status: number; body: unknown }> {
  const answer = await fetch(url, init);
  const text = await answer.text();
  return { status: answer.status, body: JSON.parse(text) };
}

const report = (stack: RunningStack, token: string, id: string) =>
  read(`${stack.urls.payment}/v1/account/balance/${token}`, {
    method: 'POST',
    body: JSON.stringify({ tx_id: id }),
  });

async function wincOf(stack: RunningStack, address: string): Promise<string | undefined> {
  const { body } = await read(`${stack.urls.payment}/v1/balance?address=${address}`);
  return typeof body === 'object' && body !== null && 'winc' in body ? String(body.winc) : undefined;
}

async function serviceWallet(stack: RunningStack, token: string): Promise<string> {
  const { body } = await read(`${stack.urls.payment}/v1/info`);
  const found = JSON.stringify(body).match(new RegExp(`"${token}":"([^"]+)"`))?.[1];
  assert.ok(found !== undefined, `/info names no wallet for ${token}`);
  return found;
}

describe('paying a whole stack', () => {
  test('in AR: pending survives a kill, is credited when it is confirmed, and only once', async () => {
    const dataDir = join(folder, 'killed');
    const payer = new TestWallet();
    const first = await startStack({ dataDir, environment, only: ['payment'] });
    const node = new NodeClient(first.urls.arweave ?? '');
    await node.text(`/mint/${payer.address}/${10n * oneAr}`);
    const target = await serviceWallet(first, 'arweave');
    const transaction = await payer.transaction(node, { target, quantity: 2n * oneAr });
    const { id } = transactionToJson(transaction, 'with data');
    assert.equal((await report(first, 'arweave', id)).status, 404, 'not sent yet');
    await node.postTx(transaction);
    assert.equal((await report(first, 'arweave', id)).status, 202);
    await first.end('SIGKILL');

    const again = await startStack({ dataDir, environment, only: ['payment'] });
    try {
      assert.equal(await wincOf(again, payer.address), undefined);
      assert.equal((await report(again, 'arweave', id)).status, 202);
      await new NodeClient(again.urls.arweave ?? '').text('/mine/18');
      await eventually('the credit', async () => (await wincOf(again, payer.address)) === '1532000000000');
      assert.equal((await report(again, 'arweave', id)).status, 200);
      assert.equal(await wincOf(again, payer.address), '1532000000000');
    } finally {
      await again.stop();
    }
  });

  describe('that limits quotes', () => {
    let stack: RunningStack;
    before(async () => {
      const limits = {
        PAYMENT_RATE_LIMIT_BURST: '2',
        PAYMENT_RATE_LIMIT_PER_MINUTE: '1',
        TRUSTED_PROXY_COUNT: '1',
      };
      stack = await startStack({ environment: { ...environment, ...limits }, only: ['payment'] });
    });
    after(() => stack?.stop());

    test('in SOL: a transfer on the local ledger is credited at once', async () => {
      const rpc = (method: string, ...params: unknown[]) =>
        read(stack.urls.solana ?? '', {
          method: 'POST',
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params }),
        });
      const payer = solanaWallet('payer');
      const target = await serviceWallet(stack, 'solana');
      await rpc('requestAirdrop', payer.address, 5_000_000_000);
      const latest = await rpc('getLatestBlockhash');
      const blockhash = JSON.stringify(latest.body).match(/"blockhash":"([^"]+)"/)?.[1] ?? '';
      const wire = signed(
        blockhash,
        [transferLamports(payer.address, parseSolanaAddress(target), 1_000_000_000n)],
        payer,
      );
      await rpc('sendTransaction', wire.toString('base64'), { encoding: 'base64' });
      const id = encodeBase58(parseTransaction(wire).signatures[0] ?? new Uint8Array());
      const { status, body } = await report(stack, 'solana', id);
      assert.equal(status, 200, JSON.stringify(body));
      // 150 dollars at 6.25 dollars per AR, less the fee.
      assert.equal(await wincOf(stack, payer.address), '18384000000000');
      assert.equal((await report(stack, 'ed25519', id)).status, 200);
      assert.equal(await wincOf(stack, payer.address), '18384000000000');
    });

    test('by card: quotes for credits and for names share one limit per client', async () => {
      const buyer = solanaWallet('buyer').address;
      const quote = (path: string, client: string) =>
        fetch(`${stack.urls.payment}/v1/${path}`, { headers: { 'x-forwarded-for': client } });
      const credits = `top-up/payment-intent/${buyer}/usd/1000?token=solana`;
      const name = `arns/quote/payment-intent/${buyer}/usd/Buy-Name/a-name-to-buy?type=permabuy`;
      assert.equal((await quote(credits, '192.0.2.66')).status, 200);
      assert.equal((await quote(name, '192.0.2.66')).status, 200);
      for (const path of [credits, name]) {
        const refused = await quote(path, '192.0.2.66');
        assert.equal(refused.status, 429);
        assert.ok(Number(refused.headers.get('retry-after')) > 0);
        assert.equal((await quote(path, '192.0.2.1')).status, 200, 'others are not kept out');
      }
    });
  });
});
