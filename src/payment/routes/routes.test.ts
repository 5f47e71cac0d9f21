import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { addRow } from '../../pricing/catalogue/rows.ts';
import { signPss } from '../../wallets/arweave/rsa.ts';
import { testArweaveKey } from '../../wallets/testing/keys.ts';
import { issueToken } from '../auth/jwt.ts';
import { jwtSecret, type PaymentBench, paymentBench, serviceWallets } from '../testing.ts';

const ethereum = '0x19E7E376E7C213B7E7e7e46cc70A5dD086DAff2A';
const solana = 'GmaDrppBC7P5ARKV8g3djiwP89vz1jLK23V2GBjuAEGB';
const nonce = '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495';
const ethereumHeaders = {
  'x-public-key': 'BE81W9y3zAr3KO88zrlhXZBoS7Wyyl-FmrDwtwQHWHGqOFtrG46tgJymdFTZaD_PK6A0Vtb-LEq-Kwfw-9uy8cE',
  'x-nonce': nonce,
  'x-signature': 'OOehclbrZf99MBVo9MUyU0CQxg_wu8oT2ppnuf5--VEu8iUDf5grL9AeBTCIUvNpmM1o8t8jlWg6F1UpLwpGyxs',
};
const solanaHeaders = {
  'x-public-key': '6kpsY-KcUgq-9VB7Ey7F-ZVHdq6-vnuSQh7qaRRG0iw',
  'x-nonce': nonce,
  'x-signature': 'qn2dJFDEye8QYwz82kmgNV4oXKKTuXExUFpkJPKsbBVTjOtnpkIWBlHFlabLrfngRJg9eFzwnlY4u_SkfSZHDQ',
  'x-signature-type': '4',
};

async function arweaveHeaders(saltLength = 32): Promise<Record<string, string>> {
  const signature = await signPss(testArweaveKey.privateKey, Buffer.from(nonce), saltLength);
  return {
    'x-public-key': testArweaveKey.modulus.toString('base64url'),
    'x-nonce': nonce,
    'x-signature': signature.toString('base64url'),
  };
}

describe('the payment service', () => {
  let bench: PaymentBench;
  before(async () => {
    bench = await paymentBench();
    await bench.give(testArweaveKey.address, 1_000n);
    await bench.give(ethereum, 500n);
    await bench.give(solana, 70n);
  });
  after(() => bench.close());

  const answers = async (path: string, status: number, body: unknown, headers?: Record<string, string>) => {
    const answer = await bench.get(path, headers);
    assert.deepEqual({ status: answer.status, body: answer.json ?? answer.text }, { status, body }, path);
    return answer;
  };

  describe('GET /price/bytes/{byteCount}', () => {
    it('answers winc as text', async () => {
      const answer = await answers('/v1/price/bytes/1024', 200, { winc: '4377376', adjustments: [] });
      assert.equal(answer.headers['cache-control'], 'public, max-age=60');
      await answers('/v1/price/bytes/0', 200, { winc: '3200000', adjustments: [] });
      await answers('/v1/price/1024', 200, { winc: '4377376', adjustments: [] });
      await answers('/price/ethereum/1024', 200, 4_377_376);
    });

    it('refuses what is not plain digits', async () => {
      for (const wrong of ['-1', '1.5', '1e3', '0x10', '+1', '%201', 'abc', '1%0A']) {
        await answers(`/v1/price/bytes/${wrong}`, 400, 'Invalid byte count');
      }
      await answers('/v1/price/bytes/9007199254740992', 400, 'Byte count too large');
      await answers('/price/dogecoin/1', 400, 'Token not supported');
    });
  });

  describe('GET /price/{type}/{amount}', () => {
    const fee = (adjustmentAmount: string) => ({
      name: 'Infrastructure Fee',
      description: 'Covers the cost of infrastructure and of the payment provider',
      operator: 'multiply',
      operatorMagnitude: '0.766',
      adjustmentAmount,
    });

    it('quotes currencies in any letter case, and fiat as dollars', async () => {
      const expected = {
        winc: '1225600000000',
        adjustments: [],
        fees: [fee('-234')],
        actualPaymentAmount: 1_000,
        quotedPaymentAmount: 1_000,
      };
      for (const type of ['usd', 'USD', 'fiat']) await answers(`/v1/price/${type}/1000`, 200, expected);
      await answers('/v1/price/usd/1000?destinationAddress=placeholder', 200, expected);
    });

    it('quotes tokens, with every digit of large amounts', async () => {
      const answer = await bench.get('/v1/price/arweave/90071992547409930000001');
      assert.match(answer.text, /"actualPaymentAmount":90071992547409930000001,/);
      await answers('/v1/price/ethereum/10000000000000000', 200, {
        winc: '3830000000000',
        adjustments: [],
        fees: [fee('-1170000000000')],
        actualPaymentAmount: 5_000_000_000_000,
        quotedPaymentAmount: 5_000_000_000_000,
      });
    });

    it('refuses bad amounts, currencies and addresses', async () => {
      for (const wrong of [
        '-1',
        '10.5',
        '1e3',
        '0x10',
        '1999.9999999999998',
        '9'.repeat(17),
        '9'.repeat(40),
      ]) {
        await answers(`/v1/price/usd/${wrong}`, 400, 'Payment Amount is Invalid');
      }
      await answers('/v1/price/arweave/1e3', 400, 'Payment Amount is Invalid');
      await answers(
        '/v1/price/xyz/100',
        400,
        "The currency type 'xyz' is currently not supported by this API!",
      );
      await answers(
        '/v1/price/ethereum/1',
        400,
        'Crypto payment amount is too small! Token value must convert to at least one winc',
      );
      const wrongChecksum = ethereum.replace('E7E3', 'e7E3');
      await answers(
        `/v1/price/usd/100?destinationAddress=${wrongChecksum}`,
        400,
        'Invalid destinationAddress format',
      );
      const repeated = await bench.get('/v1/price/usd/100?destinationAddress=a&destinationAddress=b');
      assert.equal(repeated.status, 400);
    });

    it('judges promo codes for the destination or the signer', async () => {
      const row = {
        kind: 'promo',
        name: '20 % off',
        operator: 'multiply',
        magnitude: '0.8',
        code: 'TWENTY',
      } as const;
      await addRow(bench.sql, row, bench.outside.now - 1);
      const needsWallet =
        'Promo codes must be applied to a specific `destinationAddress` or to the request signer';
      await answers('/v1/price/usd/1000?promoCode=TWENTY', 400, needsWallet);
      await answers('/v1/price/usd/1000?promoCode=TWENTY', 400, needsWallet, {
        ...ethereumHeaders,
        'x-nonce': 'another',
      });
      await answers(
        `/v1/price/usd/1000?promoCode=NOPE&destinationAddress=${solana}`,
        400,
        "No promo code found with code 'NOPE'",
      );
      for (const query of [
        'promoCode=TWENTY',
        'promoCode=TWENTY,%20TWENTY',
        'promoCode=TWENTY&promoCode=,',
      ]) {
        const answer = await bench.get(`/v1/price/usd/1000?${query}`, ethereumHeaders);
        assert.equal(answer.status, 200, answer.text);
        assert.match(answer.text, /"actualPaymentAmount":800,"quotedPaymentAmount":1000/);
        assert.match(answer.text, /"promoCode":"TWENTY"/);
        assert.equal(answer.headers['cache-control'], 'no-store');
      }
    });
  });

  describe('GET /rates, /currencies, /countries', () => {
    it('answers the price of a gibibyte as numbers', async () => {
      const answer = await bench.get('/v1/rates');
      assert.equal(answer.status, 200);
      assert.match(answer.text, /^\{"winc":1234567890124,"fiat":\{"aud":/);
      assert.equal(answer.headers['cache-control'], 'public, max-age=60');
    });

    it('answers the price of AR per currency', async () => {
      await answers('/v1/rates/usd', 200, { currency: 'usd', rate: 6.25 });
      await answers('/v1/rates/JPY', 200, { currency: 'jpy', rate: 940 });
      await answers('/v1/rates/xyz', 404, 'Invalid currency');
      await answers('/v1/rates/__proto__', 404, 'Invalid currency');
    });

    it('lists currencies with their limits, and countries', async () => {
      const { json, headers } = await bench.get('/v1/currencies');
      assert.ok(
        typeof json === 'object' && json !== null && 'supportedCurrencies' in json && 'limits' in json,
      );
      assert.deepEqual(json.supportedCurrencies, 'aud brl cad eur gbp hkd inr jpy sgd usd'.split(' '));
      assert.ok(typeof json.limits === 'object' && json.limits !== null && 'jpy' in json.limits);
      assert.deepEqual(json.limits.jpy, {
        minimumPaymentAmount: 750,
        maximumPaymentAmount: 1_500_000,
        suggestedPaymentAmounts: [3_500, 6_500, 15_000],
        zeroDecimalCurrency: true,
      });
      assert.equal(headers['cache-control'], 'public, max-age=3600');
      const countries = (await bench.get('/v1/countries')).json;
      assert.ok(Array.isArray(countries));
      assert.equal(countries.length, 192);
      assert.deepEqual(countries.slice(0, 3), ['United States', 'United Kingdom', 'Afghanistan']);
    });
  });

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
      await answers('/v1/balance', 200, balance('500'), ethereumHeaders);
      await answers('/v1/balance', 200, balance('70'), solanaHeaders);
      for (const saltLength of [0, 32, 478]) {
        await answers('/v1/balance', 200, balance('1000'), await arweaveHeaders(saltLength));
      }
    });

    it('issues a token that stands for the signature on reading routes', async () => {
      const answer = await bench.get('/v1/balance', ethereumHeaders);
      const token = answer.headers.authorization;
      assert.ok(typeof token === 'string' && token.startsWith('Bearer '));
      assert.equal(answer.headers['cache-control'], 'no-store');
      const again = await answers('/v1/balance', 200, balance('500'), { authorization: token });
      assert.equal(again.headers.authorization, undefined, 'a token does not renew itself');
      await answers('/v1/balance', 200, balance('1000'), {
        authorization: token,
        ...(await arweaveHeaders()),
      });
      assert.equal((await bench.get('/v1/account/payments', { authorization: token })).status, 200);
    });

    it('answers by address, in any letter case where that has no meaning', async () => {
      await answers(`/v1/balance?address=${testArweaveKey.address}`, 200, balance('1000'));
      await answers(`/v1/balance?address=${ethereum.toLowerCase()}`, 200, balance('500'));
      for (const path of [
        '/v1/account/balance',
        '/v1/account/balance/ethereum',
        '/account/balance/arweave',
      ]) {
        await answers(`${path}?address=${ethereum}`, 200, balance('500'));
      }
    });

    it('refuses without a wallet, with a wrong signature, or with a wrong token', async () => {
      const refusal = 'Invalid signature or missing required headers';
      await answers('/v1/balance', 403, refusal);
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
        await answers('/v1/balance', 403, refusal, wrong);
        await answers(`/v1/balance?address=${ethereum}`, 403, refusal, wrong);
      }
      const expired = issueToken(jwtSecret, ethereum, Math.floor(bench.outside.now / 1000) - 3_600);
      const forged = issueToken('another secret', ethereum, Math.floor(bench.outside.now / 1000));
      for (const token of [expired, forged, 'x']) {
        await answers('/v1/balance', 403, refusal, { authorization: `Bearer ${token}` });
        await answers(`/v1/balance?address=${ethereum}`, 200, balance('500'), {
          authorization: `Bearer ${token}`,
        });
      }
    });

    it('refuses addresses that are none, and says who is not known', async () => {
      await answers('/v1/balance?address=nobody', 400, 'Invalid address format: nobody');
      await answers('/v1/account/balance?address=', 400, 'Missing address in query parameters');
      await answers('/v1/account/balance', 400, 'Missing address in query parameters');
      const wrongChecksum = ethereum.replace('E7E3', 'e7E3');
      await answers(`/v1/balance?address=${wrongChecksum}`, 400, `Invalid address format: ${wrongChecksum}`);
      await answers(`/v1/balance?address=${'a'.repeat(42)}A`, 404, 'User Not Found');
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
      await answers(`/v1/balance?address=${address}`, 200, { ...balance('0'), owedWinc: '30' });
    });
  });

  describe('GET /account/approvals', () => {
    it('lists a pair and all of a wallet, 200 also when there are none', async () => {
      const { address } = testArweaveKey;
      const pair = `/v1/account/approvals?payingAddress=${address}&approvedAddress=`;
      await answers(pair + ethereum, 200, { approvals: [], amount: '0', expiresBy: 0 });
      await answers(`/v1/account/approvals/get?userAddress=${solana}`, 200, {
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
      await answers(pair + ethereum.toLowerCase(), 200, expected);
      await answers(pair.replace('/v1/account/approvals', '/account/approval') + ethereum, 200, expected);
      await answers(`/v1/account/approvals/get?userAddress=${ethereum}`, 200, {
        givenApprovals: [],
        receivedApprovals: [second, first],
      });
    });

    it('refuses what is missing or no address', async () => {
      const missing = 'Malformed or missing required query parameters: payingAddress, approvedAddress';
      await answers('/v1/account/approvals', 400, missing);
      await answers(`/v1/account/approvals?payingAddress=${solana}`, 400, missing);
      await answers(
        `/v1/account/approvals?payingAddress=x&approvedAddress=${solana}`,
        400,
        'Invalid paying address!',
      );
      await answers(
        `/v1/account/approvals?payingAddress=${solana}&approvedAddress=x`,
        400,
        'Invalid approved address',
      );
      await answers(
        `/v1/account/approvals?payingAddress=${solana}&payingAddress=${solana}&approvedAddress=x`,
        400,
        missing,
      );
      await answers(
        '/v1/account/approvals/get',
        400,
        'Malformed or missing required query parameters: userAddress',
      );
      await answers('/v1/account/approvals/get?userAddress=x', 400, 'Invalid paying address!');
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
      await answers('/v1/account/payments', 403, 'Invalid signature or missing required headers');
      for (const limit of ['0', '101', '1e1', '-1', '']) {
        await answers(
          `/v1/account/payments?limit=${limit}`,
          400,
          'Invalid limit: must be an integer from 1 to 100',
          solanaHeaders,
        );
      }
      await answers('/v1/account/payments?cursor=e5', 400, 'Invalid cursor', solanaHeaders);
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
        },
        gateway: 'http://gw',
        gateways: ['http://gw'],
      };
      for (const path of ['/v1/info', '/v1/', '/info', '/']) await answers(path, 200, expected);
      await answers(`/v1/account/free?address=${solana}`, 200, { bytesRemaining: null });
      await answers('/v1/account/free', 400, 'Missing address in query parameters');
      await answers('/v1/account/free?address=x', 400, 'Invalid address format: x');
    });

    it('is healthy and measured', async () => {
      for (const path of ['/v1/health', '/health']) {
        assert.equal((await bench.get(path)).text, 'OK');
        assert.equal((await bench.get(path, { accept: 'application/json' })).text, '"OK"');
        assert.match((await bench.get(path.replace('health', 'metrics'))).text, /process_cpu_seconds_total/);
      }
      assert.equal((await bench.get('/v1/nothing')).status, 404);
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
      await answers(redeem({ email: 'A&b@example.com' }), 400, 'Failure to redeem payment receipt!');
      await answers(redeem({ id: 'other' }), 400, 'Failure to redeem payment receipt!');
      await answers('/v1/redeem?id=gift', 400, 'Failure to redeem payment receipt!');
      await answers(
        redeem({ destinationAddress: ethereum }),
        400,
        'Provided destination address is not a valid native address!',
      );
      await answers(
        redeem({ email: 'nobody' }),
        400,
        'Provided recipient email address is not a valid email!',
      );
      assert.equal((await bench.credits.balance(solana))?.winc, before);

      await answers(redeem(), 200, {
        message: 'Payment receipt redeemed for 1000 winc!',
        userBalance: (before + 1_000n).toString(),
        userAddress: solana,
        userCreationDate: '2026-01-01T00:00:00.000Z',
      });
      await answers(redeem(), 400, 'Gift has already been redeemed!');
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
      const gift = { email: 'c@example.com', amount: winc(1n), payment };
      await bench.sql.transaction((tx) => bench.gifts.createIn(tx, { ...gift, receiptId: 'withdrawn' }));
      await bench.sql.transaction((tx) => bench.gifts.createIn(tx, { ...gift, receiptId: 'old' }));
      assert.equal(await bench.sql.transaction((tx) => bench.gifts.withdrawIn(tx, 'withdrawn')), undefined);
      const email = 'c@example.com';
      await answers(redeem({ id: 'withdrawn', email }), 400, 'Failure to redeem payment receipt!');
      bench.outside.now += 365 * 86_400_000;
      await answers(redeem({ id: 'old', email }), 400, 'Failure to redeem payment receipt!');
    });
  });
});

describe('the payment service when something below it is down', () => {
  let bench: PaymentBench;
  before(async () => {
    bench = await paymentBench();
  });
  after(() => bench.close());

  it('answers 503 with the contract’s words and when to try again', async () => {
    bench.outside.ratesDown = true;
    bench.outside.networkDown = true;
    const cases: [string, string][] = [
      ['/v1/price/bytes/1024', 'Pricing Oracle Unavailable'],
      ['/v1/price/usd/1000', 'Fiat Oracle Unavailable'],
      ['/v1/price/arweave/1000', 'Fiat Oracle Unavailable'],
      ['/v1/currencies', 'Fiat Oracle Unavailable'],
      ['/v1/rates', 'Failed to calculate rates.'],
      ['/v1/rates/usd', 'Failed to fetch fiat conversion for 1 AR.'],
    ];
    for (const [path, body] of cases) {
      const answer = await bench.get(path);
      assert.deepEqual([answer.status, answer.json], [503, body], path);
      assert.match(String(answer.headers['retry-after']), /^[1-9][0-9]*$/, path);
    }
    bench.outside.ratesDown = false;
    bench.outside.networkDown = false;
    bench.outside.now += 120_000;
    for (const [path] of cases) assert.equal((await bench.get(path)).status, 200, path);
  });

  it('never answers 500 when the database is gone', async () => {
    bench.outside.databaseDown = true;
    const pair = `payingAddress=${ethereum}&approvedAddress=${solana}`;
    const cases: [string, string][] = [
      [`/v1/balance?address=${ethereum}`, 'Cloud Database Unavailable'],
      [`/v1/account/balance?address=${ethereum}`, 'Cloud Database Unavailable'],
      [`/v1/account/approvals?${pair}`, 'Internal server error'],
      [`/v1/account/approvals/get?userAddress=${ethereum}`, 'Internal server error'],
      [
        `/v1/redeem?id=x&email=a@example.com&destinationAddress=${solana}`,
        'Error while redeeming payment receipt. Unable to reach Database!',
      ],
      [`/v1/price/usd/1000?promoCode=X&destinationAddress=${ethereum}`, 'Cloud Database Unavailable'],
    ];
    for (const [path, body] of cases) {
      const answer = await bench.get(path);
      assert.deepEqual([answer.status, answer.json], [503, body], path);
      assert.equal(answer.headers['retry-after'], '5', path);
    }
    const payments = await bench.get('/v1/account/payments', ethereumHeaders);
    assert.deepEqual([payments.status, payments.json], [503, 'Cloud Database Unavailable']);
    assert.equal(
      (await bench.get('/v1/price/bytes/1')).status,
      200,
      'prices need no database while it rests',
    );
  });
});
