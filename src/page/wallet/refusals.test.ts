import assert from 'node:assert/strict';
import { test } from 'node:test';
import { asked, walletError } from './refusals.ts';
import { WalletRefused } from './wallet.ts';

test('a no is known in every form in which wallets say it', () => {
  const refusals = [
    'User cancelled the AuthRequest',
    'User rejected the signature request',
    { code: 4001, message: 'MetaMask Tx Signature: User denied transaction signature.' },
    new Error('User rejected the request.'),
    new WalletRefused('no'),
  ];
  for (const refusal of refusals) assert.ok(walletError(refusal) instanceof WalletRefused, String(refusal));
});

test('everything else is an error with words', () => {
  for (const [thrown, words] of [
    ['Missing permission(s) for "signature": SIGNATURE', /Missing permission/],
    [{ code: -32002, message: 'x' }, /already asking/],
    [{ code: 4902, message: 'x' }, /does not know the chain/],
    [{ code: -32603, message: 'x', data: { originalError: { code: 4902 } } }, /does not know the chain/],
    [undefined, /without saying why/],
    [{}, /without saying why/],
    ['x'.repeat(10_000), /^x{300}$/],
  ] as const) {
    const error = walletError(thrown);
    assert.match(error.message, words);
    assert.ok(!(error instanceof WalletRefused));
  }
});

test('what a wallet does well is answered as it is', async () => {
  assert.equal(await asked(async () => 5), 5);
  await assert.rejects(
    asked(() => Promise.reject('User cancelled the AuthRequest')),
    WalletRefused,
  );
});
