/** Names that the service's key bought and of which no purchase is here. */
import assert from 'node:assert/strict';
import { it } from 'node:test';
import { creditsMigrations } from '../credits/migrations.ts';
import { namePrograms } from '../formats/solana/programs.ts';
import { collected } from '../kernel/collected.ts';
import { registerName, TestLedger, wallet } from '../localnet/solana/testing.ts';
import { createNameChain } from '../registry/chain.ts';
import { insertion } from '../storage/sql/columns.ts';
import { forEachEngine } from '../storage/sql/testing.ts';
import { namesMigrations } from './migrations.ts';
import { unknownNames } from './unknown-transactions.ts';

const service = wallet('service');
const target = 'T9_V2HfiAq5qlLzObfyayj2-cjPujxpg25TRi4OZbe4';

forEachEngine((_engine, open) => {
  it('are listed with what was done, and not those that an action tells of', async (t) => {
    const sql = await open([...creditsMigrations, ...namesMigrations]);
    const ledger = await TestLedger.start({ fund: [service.address] });
    const chain = createNameChain({ urls: [ledger.local.url], timeoutMs: 60_000 });
    t.after(async () => {
      await chain.close();
      await ledger.stop();
    });
    await registerName(ledger, service, wallet('owner'), 'restored', target);
    const source = unknownNames({ sql, chain, programs: namePrograms.mainnet, key: service.address });
    const found = await collected(source.unknown(0));
    const bought = found.find(({ what }) => what.includes('buy_name restored'));
    assert.ok(bought !== undefined, JSON.stringify(found));
    assert.ok(found.every(({ credit, openBecause }) => credit === undefined && openBecause !== undefined));
    const action = {
      ...{
        nonce: 'n',
        payer: 'p',
        payer_type: 'solana',
        payer_nonce: '1',
        action: 'buy-name',
        request: '{}',
      },
      ...{ winc: '1', mtoken: '1', status: 'completed', service_signature: bought.id },
      ...{ expires_at: 0, created_at: 0, updated_at: 0 },
    };
    await sql.run(`INSERT INTO arns_action ${insertion(action)}`, ...Object.values(action));
    const left = await collected(source.unknown(0));
    assert.equal(left.length, found.length - 1);
    assert.ok(left.every(({ id }) => id !== bought.id));
    assert.deepEqual(await collected(source.unknown(Date.now() + 10 ** 12)), []);
  });
});
