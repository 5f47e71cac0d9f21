import assert from 'node:assert/strict';
import { it } from 'node:test';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { creditsMigrations } from '../migrations.ts';
import { payerNonceKey, SpentSignatures, signatureKey } from './spent-signatures.ts';

const uuid = 'abcdefab-1111-4111-8111-abcdefabcdef';

forEachEngine((_engine, open) => {
  it('keeps what was seen first for ever: spent stays spent, and a claim stays with its request', async () => {
    const sql = await open(creditsMigrations);
    let now = 0;
    const spent = new SpentSignatures(sql, () => now);
    const nonce = payerNonceKey('wallet', uuid);
    const [one, two] = [signatureKey('one'), signatureKey('two')];
    assert.equal(await spent.knowsAll([nonce, one]), false);
    assert.equal(await spent.claim([nonce, one], 'request'), 'ours');
    assert.equal(await spent.knowsAll([nonce, one]), true);
    await spent.spend([nonce, one]);
    // The same nonce, signed anew for the same request.
    assert.equal(await spent.claim([nonce, two], 'request'), 'ours');
    assert.equal(await spent.claim([nonce, two], 'another request'), 'another');
    // One signature is good for one request, whatever nonce is written beside it.
    assert.equal(await spent.claim([payerNonceKey('wallet', 'other'), one], 'another request'), 'another');
    assert.equal(
      await spent.claim([payerNonceKey('other wallet', uuid), signatureKey('x')], 'theirs'),
      'ours',
    );
    await spent.spend([payerNonceKey('wallet', 'shown'), signatureKey('shown')]);
    now = Number.MAX_SAFE_INTEGER;
    assert.equal(await spent.claim([payerNonceKey('wallet', 'shown'), signatureKey('y')], 'r'), 'spent');
    assert.equal(await spent.claim([payerNonceKey('wallet', 'z'), signatureKey('shown')], 'r'), 'spent');
  });

  it('gives one of many requests at once what they all show', async () => {
    const sql = await open(creditsMigrations);
    const processes = [new SpentSignatures(sql, () => 1), new SpentSignatures(sql, () => 2)];
    const keys = [payerNonceKey('wallet', uuid), signatureKey('one')];
    const results = await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        processes[n % 2]?.claim(n % 3 === 0 ? keys : keys.toReversed(), `request ${n}`),
      ),
    );
    assert.equal(results.filter((result) => result === 'ours').length, 1, results.join(' '));
    assert.equal(results.filter((result) => result === 'another').length, 19);
  });
});
