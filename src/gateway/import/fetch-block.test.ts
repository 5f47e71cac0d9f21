import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parseBlock } from './fetch-block.ts';

const right = {
  height: 5,
  timestamp: 1_700_000_000,
  indep_hash: Buffer.alloc(48, 1).toString('base64url'),
  previous_block: Buffer.alloc(48, 2).toString('base64url'),
  txs: ['A'.repeat(43), 'E'.repeat(42).padEnd(43, 'A')],
  block_size: '123456789012345678901234567890',
  weave_size: 5,
};
const parse = (block: unknown) => parseBlock(Buffer.from(JSON.stringify(block)));

test('a block is read with amounts as numbers or as text, and kept as it came', () => {
  const block = parse(right);
  assert.ok(block);
  assert.deepEqual(
    [block.height, block.txs.length, block.blockSize, block.weaveSize],
    [5, 2, right.block_size, '5'],
  );
  assert.equal(block.json.toString(), JSON.stringify(right));
  const oldest = parse({ ...right, indep_hash: 'A'.repeat(43), previous_block: '' });
  assert.equal(oldest?.previous.length, 0);
});

test('what is no block is refused', () => {
  const wrong: unknown[] = [null, [], 'x', 7, {}];
  for (const change of [
    { height: -1 },
    { height: '5' },
    { height: 1.5 },
    { height: 2 ** 40 },
    { timestamp: null },
    { indep_hash: '' },
    { indep_hash: 'short' },
    { indep_hash: `${'A'.repeat(63)}=` },
    { previous_block: 5 },
    { txs: 'none' },
    { txs: ['A'.repeat(42)] },
    { txs: [null] },
    { txs: [right.txs[0], right.txs[0]] },
  ]) {
    wrong.push({ ...right, ...change });
  }
  for (const block of wrong) assert.equal(parse(block), undefined, JSON.stringify(block));
  for (const text of ['', '{', '<html></html>', '\u0000'])
    assert.equal(parseBlock(Buffer.from(text)), undefined);
});
