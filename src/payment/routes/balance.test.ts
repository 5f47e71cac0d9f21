import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { issueToken } from '../auth/jwt.ts';
import { jwtSecret } from '../testing.ts';
import { arweaveHeaders, ethereum, ethereumHeaders, solana, solanaHeaders } from '../testing-wallets.ts';
import { type RoutesBench, routesBench } from './testing.ts';

describe('balances', () => {
  let bench: RoutesBench;
  before(async () => {
    bench = await routesBench({ [testArweaveKey.address]: 1_000n, [ethereum]: 500n, [solana]: 70n });
  });
  after(() => bench.close());

  describe('GET /balance', () => {
    const balance = (amount: string) => ({
      winc: amount,
      controlledWinc: amount,
      effectiveBalance: amount,
      balance: amount,
      givenApprovals: [],
      receivedApprovals: [],
    });

    it('knows the wallet by the signature of any key kind and any salt length', async () => {
      await bench.answers('/v1/balance', 200, balance('500'), ethereumHeaders);
      await bench.answers('/v1/balance', 200, balance('70'), solanaHeaders);
      for (const saltLength of [0, 32, 478]) {
        await bench.answers('/v1/balance', 200, balance('1000'), await arweaveHeaders(saltLength));
      }
    });

    it('issues a token that stands for the signature on reading routes', async () => {
      const answer = await bench.get('/v1/balance', ethereumHeaders);
      const token = answer.headers.authorization;
      assert.ok(typeof token === 'string' && token.startsWith('Bearer '));
      assert.equal(answer.headers['cache-control'], 'no-store');
      const again = await bench.answers('/v1/balance', 200, balance('500'), { authorization: token });
      assert.equal(again.headers.authorization, undefined, 'a token does not renew itself');
      await bench.answers('/v1/balance', 200, balance('1000'), {
        authorization: token,
        ...(await arweaveHeaders()),
      });
      assert.equal((await bench.get('/v1/account/payments', { authorization: token })).status, 200);
    });

    it('answers by address, in any letter case where that has no meaning', async () => {
      await bench.answers(`/v1/balance?address=${testArweaveKey.address}`, 200, balance('1000'));
      await bench.answers(`/v1/balance?address=${ethereum.toLowerCase()}`, 200, balance('500'));
      for (const path of [
        '/v1/account/balance',
        '/v1/account/balance/ethereum',
        '/account/balance/arweave',
      ]) {
        await bench.answers(`${path}?address=${ethereum}`, 200, balance('500'));
      }
    });

    it('refuses without a wallet, with a wrong signature, or with a wrong token', async () => {
      const refusal = 'Invalid signature or missing required headers';
      await bench.answers('/v1/balance', 403, refusal);
      const { 'x-nonce': _nonce, ...withoutNonce } = ethereumHeaders;
      for (const wrong of [
        { ...ethereumHeaders, 'x-nonce': 'another' },
        { ...ethereumHeaders, 'x-signature': 'AAAA' },
        { ...ethereumHeaders, 'x-signature-type': '1' },
        { ...ethereumHeaders, 'x-signature-type': '101' },
        { ...ethereumHeaders, 'x-public-key': '' },
        { ...ethereumHeaders, 'x-nonce': 'n'.repeat(257) },
        { ...solanaHeaders, 'x-signature-type': '2' },
        withoutNonce,
      ]) {
        await bench.answers('/v1/balance', 403, refusal, wrong);
        await bench.answers(`/v1/balance?address=${ethereum}`, 403, refusal, wrong);
      }
      const expired = issueToken(jwtSecret, ethereum, Math.floor(bench.outside.now / 1000) - 3_600);
      const forged = issueToken('another secret', ethereum, Math.floor(bench.outside.now / 1000));
      for (const token of [expired, forged, 'x']) {
        await bench.answers('/v1/balance', 403, refusal, { authorization: `Bearer ${token}` });
        await bench.answers(`/v1/balance?address=${ethereum}`, 200, balance('500'), {
          authorization: `Bearer ${token}`,
        });
      }
    });

    it('refuses addresses that are none, and says who is not known', async () => {
      await bench.answers('/v1/balance?address=nobody', 400, 'Invalid address format: nobody');
      // Of the contract's form, though its last character has bits to spare: nobody owns it, and nothing is wrong.
      const ofNobody = '43CharArweaveStubAddress1234567890123456789';
      for (const path of ['/v1/balance', '/v1/account/balance', '/account/balance/arweave']) {
        await bench.answers(`${path}?address=${ofNobody}`, 404, 'User Not Found');
      }
      await bench.answers('/v1/account/balance?address=', 400, 'Missing address in query parameters');
      await bench.answers('/v1/account/balance', 400, 'Missing address in query parameters');
      const wrongChecksum = ethereum.replace('E7E3', 'e7E3');
      await bench.answers(
        `/v1/balance?address=${wrongChecksum}`,
        400,
        `Invalid address format: ${wrongChecksum}`,
      );
      await bench.answers(`/v1/balance?address=${'a'.repeat(42)}A`, 404, 'User Not Found');
      assert.equal((await bench.get(`/v1/balance?address=${ethereum}&address=${ethereum}`)).status, 400);
    });

    it('shows debt apart, since amounts carry no sign', async () => {
      const address = `${'b'.repeat(42)}A`;
      await bench.credits.clawback({
        address,
        addressType: 'arweave',
        amount: winc(30n),
        reason: 'chargeback',
        id: 'd',
      });
      await bench.answers(`/v1/balance?address=${address}`, 200, { ...balance('0'), owedWinc: '30' });
    });
  });
});
