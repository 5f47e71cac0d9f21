import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { encodeBase58 } from '../../formats/base58.ts';
import type { Instruction } from '../../formats/solana/message.ts';
import { memo, transferLamports } from '../../formats/solana/system.ts';
import { parseTransaction } from '../../formats/solana/transaction.ts';
import { signed, TestLedger, wallet } from '../../localnet/solana/testing.ts';
import { callRpc } from './http.ts';
import { solanaReader } from './solana.ts';

const payer = wallet('payer');
const service = wallet('service');
const stranger = wallet('stranger');

describe('reading payments from Solana', () => {
  let ledger: TestLedger;
  before(async () => {
    ledger = await TestLedger.start();
    await callRpc(ledger.local.url, 'requestAirdrop', [payer.address, 50_000_000_000]);
    // Below the rent minimum an account cannot be made, so the service's wallet exists before it is paid.
    await callRpc(ledger.local.url, 'requestAirdrop', [service.address, 1_000_000_000]);
  });
  after(() => ledger.stop());

  async function send(...instructions: Instruction[]): Promise<string> {
    const latest = await callRpc(ledger.local.url, 'getLatestBlockhash', []);
    const blockhash = JSON.stringify(latest).match(/"blockhash":"([^"]+)"/)?.[1] ?? '';
    const wire = signed(blockhash, instructions, payer);
    const options = { encoding: 'base64', skipPreflight: true };
    await callRpc(ledger.local.url, 'sendTransaction', [wire.toString('base64'), options]);
    return encodeBase58(parseTransaction(wire).signatures[0] ?? new Uint8Array());
  }
  const reader = () => solanaReader({ rpcUrl: ledger.local.url, wallet: service.address });

  it('finds the one transfer to the wallet and the memo that names whom to credit', async () => {
    const id = await send(
      transferLamports(payer.address, service.address, 1_500_000_000n),
      memo('turboCreditDestinationAddress=0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A'),
    );
    const found = await reader().read(id);
    assert.ok('transfer' in found);
    assert.equal(found.state, 'confirmed');
    const { blockHeight, ...transfer } = found.transfer;
    assert.deepEqual(transfer, {
      sender: payer.address,
      recipient: service.address,
      quantity: 1_500_000_000n,
      destination: '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A',
    });
    assert.ok(Number.isSafeInteger(blockHeight));
  });

  it('takes no transfer to another wallet, and not two in one', async () => {
    const elsewhere = await send(transferLamports(payer.address, stranger.address, 2_000_000_000n));
    const twice = await send(
      transferLamports(payer.address, service.address, 1n),
      transferLamports(payer.address, service.address, 2n),
    );
    for (const id of [elsewhere, twice]) {
      const found = await reader().read(id);
      assert.ok('transfer' in found);
      assert.deepEqual([found.transfer.recipient, found.transfer.quantity], ['', 0n]);
    }
  });

  it('sees that a transaction failed', async () => {
    const id = await send(
      transferLamports(payer.address, service.address, 5n),
      transferLamports(payer.address, stranger.address, 10n ** 18n),
    );
    assert.equal((await reader().read(id)).state, 'reverted');
  });

  it('does not know what was never sent, and takes only ids that can be one', async () => {
    const never = encodeBase58(Buffer.alloc(64, 7));
    assert.deepEqual(await reader().read(never), { state: 'not-found' });
    assert.equal(reader().parseId(never), never);
    for (const wrong of ['', '0', never.slice(0, -20), `${never}1`, 'l'.repeat(88)]) {
      assert.equal(reader().parseId(wrong), undefined, wrong);
    }
    await assert.rejects(solanaReader({ rpcUrl: 'http://127.0.0.1:9', wallet: service.address }).read(never));
  });
});
