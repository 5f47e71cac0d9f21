import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readConfig } from '../config/config.ts';
import { listProblems } from './config-lists.ts';

test('a word that is none of its list is one line for each', () => {
  const arweave = 'LudA6glCd-BgVeKGscDJ5ZyBotQiDYWj_2UtKpOQnxM';
  const ethereum = '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a';
  assert.deepEqual(listProblems(readConfig({ BLOCK_LISTED_ADDRESSES: `${arweave}, ${ethereum}` })), []);
  const wrong = readConfig({
    BLOCK_LISTED_ADDRESSES: `${arweave},${arweave}x`,
    CRYPTO_FUND_EXCLUDED_ADDRESSES: 'somebody',
    TOKENS_WITHOUT_FEES: 'ario,solarna',
  });
  assert.deepEqual(listProblems(wrong), [
    `BLOCK_LISTED_ADDRESSES must be wallet addresses, not "${arweave}x"`,
    'CRYPTO_FUND_EXCLUDED_ADDRESSES must be wallet addresses, not "somebody"',
    'TOKENS_WITHOUT_FEES must be names of tokens, not "solarna"',
  ]);
});
