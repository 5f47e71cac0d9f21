import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { after, describe, it } from 'node:test';
import { createCredits } from '../../credits/ledger/index.ts';
import { openLedger } from '../ledger-database.ts';

const root = resolve(import.meta.dirname, '../../..');
const folder = mkdtempSync(join(tmpdir(), 'turnpike-ledger-'));
after(() => rmSync(folder, { recursive: true, force: true }));

const wallet = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const turnpike = (...args: string[]) => {
  const { DATABASE_URL: _url, ...environment } = process.env;
  const run = spawnSync(process.execPath, ['bin/turnpike.js', ...args], {
    cwd: root,
    env: { ...environment, DATA_DIR: folder },
    encoding: 'utf8',
  });
  return { code: run.status, out: run.stdout, error: run.stderr };
};

describe('turnpike ledger', () => {
  it('gives credits once per id, shows them, and checks that all adds up', async () => {
    assert.match(turnpike('ledger', 'credit', wallet, '0.5', '--id', 'x').out, /gave 500000000000 winc/);
    assert.match(turnpike('ledger', 'credit', wallet.toLowerCase(), '0.5', '--id', 'x').out, /given before/);
    assert.match(turnpike('ledger', 'show', wallet).out, /500000000000 winc {2}\(0\.5 credits\)/);
    assert.equal(turnpike('ledger', 'check').code, 0);

    const sql = await openLedger({ DATABASE_URL: undefined, DATA_DIR: folder });
    try {
      assert.equal((await createCredits({ sql }).balance(wallet))?.winc, 500_000_000_000n);
      await sql.run("UPDATE credits_accounts SET balance = '7'");
    } finally {
      await sql.close();
    }
    const broken = turnpike('ledger', 'check');
    assert.equal(broken.code, 1);
    assert.match(broken.out, /has 7 winc but its entries sum to 500000000000/);
  });

  it('says what is wrong with its arguments', () => {
    assert.equal(turnpike('ledger', 'credit', 'nobody', '1').code, 2);
    assert.equal(turnpike('ledger', 'credit', wallet, '-1').code, 2);
    assert.match(turnpike('ledger', 'credit', wallet, 'lots').error, /in credits, for example/);
  });
});

describe('turnpike promo', () => {
  it('adds, lists and ends codes', () => {
    const added = turnpike(
      'promo',
      'add',
      'TWENTY',
      '--multiply',
      '0.8',
      '--name',
      'Sale',
      '--max-uses',
      '3',
    );
    assert.equal(added.code, 0, added.error);
    assert.match(turnpike('promo', 'list').out, /active {2}code TWENTY: multiply 0\.8 {2}Sale/);
    assert.equal(turnpike('promo', 'end', 'TWENTY').code, 0);
    assert.equal(turnpike('promo', 'end', 'TWENTY').code, 1);
    const listed: unknown = JSON.parse(turnpike('promo', 'list', '--json').out);
    assert.ok(Array.isArray(listed));
    assert.deepEqual(
      listed.map(({ promoCode, maxUses, active }) => [promoCode, maxUses, active]),
      [['TWENTY', 3, false]],
    );
  });

  it('refuses what makes no sense', () => {
    for (const wrong of [
      ['add', 'X', '--name', 'n'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--add', '1'],
      ['add', 'two words', '--name', 'n', '--multiply', '1'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--ends', 'soon'],
      ['add', 'X', '--name', 'n', '--multiply', '1', '--group', 'friends'],
    ]) {
      assert.equal(turnpike('promo', ...wrong).code, 2, wrong.join(' '));
    }
  });
});
