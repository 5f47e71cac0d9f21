import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { serviceWallets } from '../../payments/chain/testing.ts';
import { formsOfAddress, formsOfEthereumKey } from '../../wallets/address-forms.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { ethereum, ethereumHeaders, solana, solanaHeaders } from '../testing-wallets.ts';
import { type RoutesBench, routesBench } from './testing.ts';

describe('a wallet’s account', () => {
  let bench: RoutesBench;
  before(async () => {
    bench = await routesBench({ [testArweaveKey.address]: 1_000n, [solana]: 70n });
  });
  after(() => bench.close());

  describe('GET /account/approvals', () => {
    it('lists a pair and all of a wallet, 200 also when there are none', async () => {
      const { address } = testArweaveKey;
      const pair = `/v1/account/approvals?payingAddress=${address}&approvedAddress=`;
      await bench.answers(pair + ethereum, 200, { approvals: [], amount: '0', expiresBy: 0 });
      await bench.answers(`/v1/account/approvals/get?userAddress=${solana}`, 200, {
        givenApprovals: [],
        receivedApprovals: [],
      });
      const first = await bench.credits.approve({
        id: 'a1',
        payer: address,
        approved: ethereum,
        amount: winc(5n),
      });
      const second = await bench.credits.approve({
        id: 'a2',
        payer: address,
        approved: ethereum,
        amount: winc(7n),
        expiresInSeconds: 60,
      });
      const expiresBy = bench.outside.now + 60_000;
      const expected = { approvals: [second, first], amount: '12', expiresBy };
      await bench.answers(pair + ethereum.toLowerCase(), 200, expected);
      await bench.answers(
        pair.replace('/v1/account/approvals', '/account/approval') + ethereum,
        200,
        expected,
      );
      await bench.answers(`/v1/account/approvals/get?userAddress=${ethereum}`, 200, {
        givenApprovals: [],
        receivedApprovals: [second, first],
      });
    });

    it('refuses what is missing or no address', async () => {
      const missing = 'Malformed or missing required query parameters: payingAddress, approvedAddress';
      await bench.answers('/v1/account/approvals', 400, missing);
      await bench.answers(`/v1/account/approvals?payingAddress=${solana}`, 400, missing);
      await bench.answers(
        `/v1/account/approvals?payingAddress=x&approvedAddress=${solana}`,
        400,
        'Invalid paying address!',
      );
      await bench.answers(
        `/v1/account/approvals?payingAddress=${solana}&approvedAddress=x`,
        400,
        'Invalid approved address',
      );
      await bench.answers(
        `/v1/account/approvals?payingAddress=${solana}&payingAddress=${solana}&approvedAddress=x`,
        400,
        missing,
      );
      await bench.answers(
        '/v1/account/approvals/get',
        400,
        'Malformed or missing required query parameters: userAddress',
      );
      await bench.answers('/v1/account/approvals/get?userAddress=x', 400, 'Invalid paying address!');
    });
  });

  describe('GET /account/payments', () => {
    it('shows the signer his own top-ups in pages', async () => {
      for (const [index, id] of ['p1', 'p2', 'p3'].entries()) {
        await bench.credits.credit({
          address: solana,
          addressType: 'solana',
          amount: winc(BigInt(index + 1)),
          reason: 'payment',
          id,
          payment: {
            type: 'fiat',
            paymentAmount: '500',
            currencyType: 'usd',
            paymentProvider: 'stripe',
            receiptId: id,
            giftMessage: null,
          },
        });
      }
      const first = await bench.get('/v1/account/payments?limit=2', solanaHeaders);
      assert.match(
        first.text,
        /"receiptId":"p3".*"receiptId":"p2".*"hasMore":true,"cursor":"[A-Za-z0-9_-]+"/,
      );
      const cursor = /"cursor":"([^"]+)"/.exec(first.text)?.[1];
      const last = await bench.get(`/v1/account/payments?cursor=${cursor}`, solanaHeaders);
      assert.deepEqual(last.json, {
        payments: [
          {
            type: 'fiat',
            paymentAmount: '500',
            currencyType: 'usd',
            paymentProvider: 'stripe',
            receiptId: 'p1',
            giftMessage: null,
            date: '2026-01-01T00:00:00.000Z',
            wincCredited: '1',
          },
        ],
        hasMore: false,
        cursor: null,
      });
    });

    it('refuses strangers, wrong limits and wrong cursors', async () => {
      await bench.answers('/v1/account/payments', 403, 'Invalid signature or missing required headers');
      for (const limit of ['0', '101', '1e1', '-1', '']) {
        await bench.answers(
          `/v1/account/payments?limit=${limit}`,
          400,
          'Invalid limit: must be an integer from 1 to 100',
          solanaHeaders,
        );
      }
      await bench.answers('/v1/account/payments?cursor=e5', 400, 'Invalid cursor', solanaHeaders);
    });
  });

  describe('the rest', () => {
    it('names the wallets to pay, and the free tier', async () => {
      const expected = {
        version: '1',
        addresses: {
          arweave: serviceWallets.arweave,
          matic: serviceWallets.ethereum,
          pol: serviceWallets.ethereum,
          'polygon-usdc': serviceWallets.ethereum,
        },
        gateway: 'http://gw',
        gateways: ['http://gw'],
      };
      for (const path of ['/v1/info', '/v1/', '/info', '/']) await bench.answers(path, 200, expected);
      await bench.answers(`/v1/account/free?address=${solana}`, 200, { bytesRemaining: null });
      await bench.answers('/v1/account/free', 400, 'Missing address in query parameters');
      await bench.answers('/v1/account/free?address=x', 400, 'Invalid address format: x');
    });

    it('is healthy and measured', async () => {
      for (const path of ['/v1/health', '/health']) {
        assert.equal((await bench.get(path)).text, 'OK');
        assert.equal((await bench.get(path, { accept: 'application/json' })).text, '"OK"');
        assert.match((await bench.get(path.replace('health', 'metrics'))).text, /process_cpu_seconds_total/);
      }
      assert.equal((await bench.get('/v1/nothing')).status, 404);
    });

    it('answers probes that ask with HEAD', async () => {
      for (const path of ['/health', '/v1/health', '/info', '/v1/info', '/', '/metrics', '/v1/metrics']) {
        assert.equal((await bench.head(path)).status, 200, path);
      }
    });
  });

  describe('GET /redeem', () => {
    const redeem = (more: Record<string, string> = {}) =>
      `/v1/redeem?${new URLSearchParams({ id: 'gift', email: 'a&b@example.com', destinationAddress: solana, token: 'solana', ...more })}`;

    it('credits a gift once, to whoever knows the receipt and the address', async () => {
      const before = (await bench.credits.balance(solana))?.winc ?? 0n;
      await bench.sql.transaction((tx) =>
        bench.gifts.createIn(tx, {
          receiptId: 'gift',
          quoteId: 'quote of the gift',
          email: 'a&#38;b@example.com',
          amount: winc(1_000n),
          payment: {
            type: 'fiat',
            paymentAmount: '500',
            currencyType: 'usd',
            paymentProvider: 'stripe',
            receiptId: 'gift',
            giftMessage: 'for you',
          },
        }),
      );
      await bench.answers(redeem({ email: 'A&b@example.com' }), 400, 'Failure to redeem payment receipt!');
      await bench.answers(redeem({ id: 'other' }), 400, 'Failure to redeem payment receipt!');
      await bench.answers('/v1/redeem?id=gift', 400, 'Failure to redeem payment receipt!');
      await bench.answers(
        redeem({ destinationAddress: ethereum }),
        400,
        'Provided destination address is not a valid native address!',
      );
      await bench.answers(
        redeem({ email: 'nobody' }),
        400,
        'Provided recipient email address is not a valid email!',
      );
      assert.equal((await bench.credits.balance(solana))?.winc, before);

      await bench.answers(redeem(), 200, {
        message: 'Payment receipt redeemed for 1000 winc!',
        userBalance: (before + 1_000n).toString(),
        userAddress: solana,
        userCreationDate: '2026-01-01T00:00:00.000Z',
      });
      await bench.answers(redeem(), 400, 'Gift has already been redeemed!');
      assert.equal((await bench.credits.balance(solana))?.winc, before + 1_000n);
      const holder = await bench.sql.transaction((tx) => bench.gifts.withdrawIn(tx, 'gift'));
      assert.deepEqual(holder, { address: solana, addressType: 'solana' });
    });

    it('gives nothing for a gift that was withdrawn or is a year old', async () => {
      const payment = {
        type: 'fiat',
        paymentAmount: '1',
        currencyType: 'usd',
        paymentProvider: 'stripe',
        receiptId: 'x',
        giftMessage: null,
      } as const;
      const gift = { quoteId: 'q', email: 'c@example.com', amount: winc(1n), payment };
      await bench.sql.transaction((tx) => bench.gifts.createIn(tx, { ...gift, receiptId: 'withdrawn' }));
      await bench.sql.transaction((tx) => bench.gifts.createIn(tx, { ...gift, receiptId: 'old' }));
      assert.equal(await bench.sql.transaction((tx) => bench.gifts.withdrawIn(tx, 'withdrawn')), undefined);
      const email = 'c@example.com';
      await bench.answers(redeem({ id: 'withdrawn', email }), 400, 'Failure to redeem payment receipt!');
      bench.outside.now += 365 * 86_400_000;
      await bench.answers(redeem({ id: 'old', email }), 400, 'Failure to redeem payment receipt!');
    });
  });

  describe('GET /account', () => {
    it('is the same by every form of an address', async () => {
      const [hashed = ''] = formsOfAddress(solana);
      const held = String((await bench.credits.balance(solana))?.winc);
      const expected = {
        address: solana,
        otherForms: [hashed],
        known: true,
        winc: held,
        owedWinc: '0',
        controlledWinc: held,
        effectiveBalance: held,
        givenApprovals: [],
        receivedApprovals: [],
        bytesRemaining: null,
        topUp: `http://pay/${solana}`,
      };
      await bench.answers(`/v1/account?address=${solana}`, 200, expected);
      await bench.answers(`/v1/account?address=${hashed}`, 200, expected);
      const balance = (await bench.get(`/v1/account/balance?address=${hashed}`)).json;
      assert.deepEqual(balance, (await bench.get(`/v1/account/balance?address=${solana}`)).json);
    });

    it('learns what only the key tells from a signed request', async () => {
      const key = Buffer.from(ethereumHeaders['x-public-key'], 'base64url');
      const { others } = formsOfEthereumKey(key);
      const [keyHash = '', kyve = ''] = others;
      await bench.give(keyHash, 30n);
      await bench.give(kyve, 4n);
      const before = (await bench.get(`/v1/account?address=${keyHash}`)).json;
      assert.equal((before as { address: string }).address, keyHash);
      assert.equal((await bench.get('/v1/account/payments', ethereumHeaders)).status, 200);
      for (const form of [ethereum, ethereum.toLowerCase(), ...others]) {
        const { json } = await bench.get(`/v1/account?address=${form}`);
        const { address, winc } = json as { address: string; winc: string };
        assert.deepEqual([address, winc], [ethereum, '34'], form);
      }
    });

    it('of a wallet that nobody knows is empty, and of no address there is none', async () => {
      const { json } = await bench.get(`/v1/account?address=${'n'.repeat(42)}A`);
      assert.deepEqual([(json as { known: boolean }).known, (json as { winc: string }).winc], [false, '0']);
      await bench.answers('/v1/account', 400, 'Missing address in query parameters');
      await bench.answers('/v1/account?address=so', 400, 'Invalid address format: so');
    });
  });

  describe('GET /account/spending and /account/holds', () => {
    it('tell the wallet itself what it spent and what is held', async () => {
      const spending = { reason: 'upload', signer: solana, signerType: 'solana' } as const;
      await bench.credits.spend({ ...spending, id: 'item', amount: winc(5n) });
      await bench.credits.reserve({ ...spending, id: 'held', reason: 'arns_action', amount: winc(6n) });
      await bench.credits.approve({ id: 'lent', payer: solana, approved: ethereum, amount: winc(9n) });
      const lent = { ...spending, id: 'lent item', signer: ethereum, paidBy: [solana], amount: winc(2n) };
      await bench.credits.spend(lent);
      const now = new Date(bench.outside.now).toISOString();
      const day = { date: now.slice(0, 10), winc: '13', uploads: '5', names: '6', byOthers: '2' };
      await bench.answers('/v1/account/spending?days=2', 200, { days: [day], complete: true }, solanaHeaders);
      const held = { id: 'held', reason: 'arns_action', winc: '6', since: now };
      await bench.answers('/v1/account/holds', 200, { holds: [held], count: 1 }, solanaHeaders);
    });

    it('refuse whoever does not sign, and days that are none', async () => {
      const refusal = 'Invalid signature or missing required headers';
      await bench.answers('/v1/account/spending', 403, refusal);
      await bench.answers('/v1/account/holds', 403, refusal);
      const days = 'Invalid days: must be an integer from 1 to 366';
      for (const text of ['0', '367', 'x', '1.5']) {
        await bench.answers(`/v1/account/spending?days=${text}`, 400, days, solanaHeaders);
      }
    });
  });
});
