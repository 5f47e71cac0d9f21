import assert from 'node:assert/strict';
import { test } from 'node:test';
import { detailsOf, summaryOf } from './solana-words.ts';
import { unescapeHtml } from './unescape-html.ts';
import { wholeNumber } from './whole-number.ts';

test('a transaction is summed up by what its programs were told, else by the programs', () => {
  const core = 'Program CoREENxT6tW1HoK8ypY1SxRMZTcVPm7R94rH4PZNhX7d invoke [1]';
  assert.equal(
    summaryOf([core, 'Program log: Instruction: BuyName', 'Program log: Instruction: Transfer', core]),
    'Buy name, Transfer',
  );
  assert.equal(summaryOf(['Program 11111111111111111111111111111111 invoke [1]']), 'Transfer');
  assert.equal(summaryOf([core]), 'Core (owns name tokens)');
  assert.equal(summaryOf(['Program log: Instruction: <script>', 'nonsense']), 'Other');
  assert.equal(summaryOf([]), 'Other');
});

test('balances that changed are told with their token, and what is missing is left out', () => {
  const details = detailsOf({
    slot: 7,
    blockTime: 1_700_000_000,
    meta: {
      err: { InstructionError: [0, 'Custom'] },
      fee: 5_000,
      preBalances: [10_000, 5],
      postBalances: [4_000, 5],
      preTokenBalances: [],
      postTokenBalances: [
        { accountIndex: 1, mint: 'M', owner: 'O', uiTokenAmount: { amount: '250', decimals: 6 } },
      ],
      logMessages: ['a', 1, 'b'],
    },
    transaction: {
      message: {
        accountKeys: [{ pubkey: 'A' }, 'B'],
        instructions: [
          { programId: 'P', parsed: { type: 'transfer', info: { lamports: 1 } } },
          { programId: 'Q', accounts: ['A', 'B'], data: '3Bx' },
        ],
      },
    },
  });
  assert.deepEqual(details.changes, [
    { account: 'A', change: -6_000n, now: 4_000n, decimals: 9, mint: undefined },
    { account: 'O', change: 250n, now: 250n, decimals: 6, mint: 'M' },
  ]);
  assert.equal(details.error, '{"InstructionError":[0,"Custom"]}');
  assert.deepEqual(details.logs, ['a', 'b']);
  assert.equal(details.instructions[0]?.type, 'transfer');
  assert.deepEqual(details.instructions[1]?.accounts, ['A', 'B']);
  for (const nonsense of [undefined, null, 'x', { meta: 1, transaction: { message: [] } }])
    assert.deepEqual(detailsOf(nonsense).instructions, []);
});

test('email addresses are read as they were written', () => {
  assert.equal(unescapeHtml('o&#39;neil&#38;co@x.example'), "o'neil&co@x.example");
  assert.equal(unescapeHtml('&#60;b&#62;&#65;'), '<b>&#65;');
});

test('a number is a whole one within its bounds', () => {
  assert.equal(wholeNumber(' 12 ', 1, 20), 12);
  assert.equal(wholeNumber('-3', -5, 5), -3);
  for (const text of ['', '0', '21', '1.5', '1e1', 'x', '99999999999'])
    assert.equal(wholeNumber(text, 1, 20), undefined, text);
});
