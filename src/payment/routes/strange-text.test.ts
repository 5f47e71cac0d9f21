import assert from 'node:assert/strict';
import { it } from 'node:test';
import { HttpError } from '../../kernel/errors.ts';
import { UnstorableText } from '../../storage/sql/sql.ts';
import { forEachEngine } from '../../storage/sql/testing.ts';
import { translated } from '../route-failures.ts';
import { paymentBench, paymentBenchMigrations } from '../testing.ts';
import { solana } from '../testing-wallets.ts';

const email = 'a@example.com';

it('blames whoever sends what the database cannot hold', () => {
  const answer = translated(new UnstorableText('a NUL'), {});
  assert.ok(answer instanceof HttpError && answer.status === 400);
});

forEachEngine((_engine, open) => {
  it('answers text that no database keeps, or that is no Unicode, like any other that is unknown', async (t) => {
    const bench = await paymentBench({}, await open(paymentBenchMigrations));
    t.after(() => bench.close());
    for (const strange of ['%00', 'a%00b', '%ED%A0%80', '%FF', '%F0%9F%92%B8', "';--"]) {
      for (const path of [
        `/v1/price/usd/1000?promoCode=${strange}&destinationAddress=${solana}`,
        `/v1/price/usd/1000?promoCode=NONE&destinationAddress=${strange}`,
        `/v1/redeem?id=${strange}&email=${email}&destinationAddress=${solana}`,
        `/v1/redeem?id=x&email=${strange}&destinationAddress=${solana}`,
        `/v1/balance?address=${strange}`,
        `/v1/account/approvals/get?userAddress=${strange}`,
        `/v1/account/approvals?payingAddress=${strange}&approvedAddress=${solana}`,
        `/v1/price/usd/${strange}`,
        `/v1/price/${strange}/5`,
        `/v1/rates/${strange}`,
      ]) {
        const { status, json } = await bench.get(path);
        assert.ok(status === 400 || status === 404, `${path} answered ${status}`);
        assert.equal(typeof json, 'string', path);
      }
      const reported = await bench.post('/v1/account/balance/arweave', `{"tx_id":"${decodeText(strange)}"}`);
      assert.ok(reported.status === 400 || reported.status === 404, `${strange} answered ${reported.status}`);
    }
  });
});

function decodeText(encoded: string): string {
  try {
    return JSON.stringify(decodeURIComponent(encoded)).slice(1, -1);
  } catch {
    return 'x';
  }
}
