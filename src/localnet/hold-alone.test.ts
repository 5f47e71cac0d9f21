import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { StartupError } from '../kernel/errors.ts';
import { silentLog } from '../kernel/testing.ts';
import { createLocalArweave } from './arweave/local-arweave.ts';
import { holdAlone } from './hold-alone.ts';
import { createLocalSolana } from './solana/local-solana.ts';

const folder = mkdtempSync(join(tmpdir(), 'turnpike-alone-'));
after(() => rmSync(folder, { recursive: true, force: true }));

test('one at a time has a file, and the next when it is let go', () => {
  const first = holdAlone(join(folder, 'new', 'chain.db'), 'the chain');
  assert.throws(
    () => holdAlone(join(folder, 'new', 'chain.db'), 'the chain'),
    /^StartupError: the chain in .*is running already/,
  );
  const other = holdAlone(join(folder, 'new', 'other.db'), 'the other');
  first.release();
  first.release();
  holdAlone(join(folder, 'new', 'chain.db'), 'the chain').release();
  other.release();
});

test('a folder that cannot be made is said in a line', () => {
  writeFileSync(join(folder, 'file'), '');
  assert.throws(() => holdAlone(join(folder, 'file', 'chain.db'), 'the chain'), StartupError);
});

const log = silentLog;
const config = {
  LOCAL_NETWORK_HOST: '127.0.0.1',
  DATA_DIR: folder,
  LOCAL_ARWEAVE_PORT: 0,
  LOCAL_ARWEAVE_BLOCK_INTERVAL_MS: 0,
  LOCAL_ARWEAVE_MINING: 'demand' as const,
  LOCAL_ARWEAVE_CONFIRM_BLOCKS: 0,
  LOCAL_SOLANA_PORT: 0,
};
for (const [name, create] of [
  ['Arweave node', () => createLocalArweave(config, { log })],
  ['Solana ledger', () => createLocalSolana(config, { log, upkeepIntervalMs: 0 })],
] as const) {
  test(`a second local ${name} on the same folder is refused, and the first goes on`, async () => {
    const first = create();
    const second = create();
    const third = create();
    try {
      await first.start();
      await assert.rejects(second.start(), new RegExp(`the local ${name} in .*is running already`));
      await second.stop();
      assert.equal((await fetch(`${first.url}/${name === 'Arweave node' ? 'info' : 'health'}`)).status, 200);
      await first.stop();
      await third.start();
    } finally {
      for (const each of [first, second, third]) await each.stop();
    }
  });
}
