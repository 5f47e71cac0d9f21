import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, it } from 'node:test';
import { payersOfEachKind, signedHeaders } from '../../../test/support/request-signers.ts';
import { RequestSignatures } from '../../credits/signatures/request-signatures.ts';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { testServer } from '../../kernel/testing.ts';
import { serviceWallets } from '../../payments/chain/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';
import { type PaymentBench, paymentBench } from '../testing.ts';

describe('signatures that are shown to the payment service', () => {
  let bench: PaymentBench;
  before(async () => {
    bench = await paymentBench();
    for (const { address } of payersOfEachKind()) await bench.give(address, 1000n);
  });
  after(() => bench.close());

  const claims = (uuid: string) =>
    bench.sql.all<{ signer: string; claim: string | null }>(
      'SELECT signer, claim FROM spent_signatures WHERE key = ?',
      uuid,
    );
  const stored = async () => (await bench.sql.all('SELECT key FROM spent_signatures')).length;

  it('are spent with their nonce on every route, also on those that ignore or refuse them', async () => {
    const paths = [
      '/v1/balance',
      '/v1/balance?address=x',
      '/v1/account/balance?address=x',
      '/v1/account/payments',
      '/v1/account/payments?limit=x',
      '/v1/price/usd/1000',
      '/v1/price/bytes/1000',
      '/v1/price/nothing/1',
      '/v1/rates',
      '/v1/info',
      '/v1/account/free',
      '/v1/redeem',
      '/v1/nowhere',
      '/account/balance',
      '/nowhere',
    ];
    for (const signer of payersOfEachKind()) {
      for (const path of paths) {
        const nonce = randomUUID();
        await bench.get(path, await signedHeaders(signer, nonce.toUpperCase()));
        assert.deepEqual(await claims(nonce), [{ signer: `payer:${signer.address}`, claim: null }], path);
      }
      const nonce = randomUUID();
      await bench.post('/v1/account/balance/arweave', '{', await signedHeaders(signer, nonce));
      assert.equal((await claims(nonce)).length, 1);
    }
  });

  it('leave nothing behind when they could not act anyway, or do not hold', async () => {
    const before = await stored();
    for (const signer of payersOfEachKind()) {
      const reading = await signedHeaders(signer, '5f2c6a0e9b1d4c3aa7e8f0d1c2b3a495');
      assert.equal((await bench.get('/v1/balance', reading)).status, 200);
      const good = await signedHeaders(signer);
      for (const wrong of [
        { ...good, 'x-nonce': randomUUID() },
        { ...good, 'x-service-address': 'elsewhere' },
        { ...reading, 'x-owner-signature': 'AAAA', 'x-owner-nonce': 'no UUID' },
      ]) {
        await bench.get('/v1/price/usd/1000', wrong);
      }
    }
    assert.equal(await stored(), before);
  });

  it('are refused rather than left unspent when the database is gone', async () => {
    const [signer] = payersOfEachKind();
    assert.ok(signer !== undefined);
    const headers = await signedHeaders(signer);
    bench.outside.databaseDown = true;
    try {
      for (const path of ['/v1/price/bytes/1000', '/v1/info', '/v1/nowhere']) {
        const answer = await bench.get(path, headers);
        assert.deepEqual([answer.status, answer.headers['retry-after']], [503, '5'], path);
      }
      assert.equal((await bench.get('/v1/info')).status, 200);
    } finally {
      bench.outside.databaseDown = false;
    }
  });

  it('are taken from one network only so many at a time, and what was seen before is free', async () => {
    const server = testServer({
      admit: new RequestSignatures({ sql: bench.sql, service: 'x', perMinute: 2 }).admit,
    });
    await server.app.ready();
    try {
      const [, signer] = payersOfEachKind();
      assert.ok(signer !== undefined);
      const ask = async (headers: Record<string, string>) =>
        (await server.app.inject({ method: 'GET', url: '/', headers })).statusCode;
      const first = await signedHeaders(signer);
      assert.equal(await ask(first), 404);
      assert.equal(await ask(await signedHeaders(signer)), 404);
      const before = await stored();
      assert.equal(await ask(await signedHeaders(signer)), 429);
      const owner = { 'x-owner-nonce': randomUUID(), 'x-owner-signature': 'A'.repeat(86) };
      assert.equal(await ask(owner), 429);
      assert.equal(await stored(), before);
      assert.equal(await ask(first), 404);
      assert.equal(await ask({}), 404);
    } finally {
      await server.close();
    }
  });

  it('read nothing where bound ones are required, and give no token', async () => {
    const strict = await paymentBench({ REQUIRE_BOUND_SIGNATURES: 'true' });
    try {
      for (const signer of payersOfEachKind()) {
        await strict.give(signer.address, 1000n);
        for (const path of ['/v1/balance', '/v1/account/payments']) {
          const bare = await strict.get(path, await signedHeaders(signer, 'a-nonce'));
          assert.deepEqual([bare.status, bare.headers.authorization], [403, undefined], path);
          const boundTo = { service: serviceWallets.arweave, method: 'GET', path, contentDigest: '' };
          const bound = await strict.get(path, await signedHeaders(signer, undefined, boundTo));
          assert.equal(bound.status, 200, path);
        }
      }
    } finally {
      await strict.close();
    }
  });

  it('cannot be read out of an item that its wallet published', async () => {
    const signer = solanaSigner(ed25519TestKey('payer'));
    let message: Buffer = Buffer.alloc(0);
    const noting = {
      ...signer,
      sign(bytes: Buffer) {
        message = bytes;
        return signer.sign(bytes);
      },
    };
    const header = parseItemHeader(await signItem({ data: Buffer.from('public') }, noting));
    assert.ok(typeof header !== 'string' && message.length === 48);
    const published = {
      'x-public-key': header.owner.toString('base64url'),
      'x-nonce': message.toString('hex'),
      'x-signature': header.signature.toString('base64url'),
      'x-signature-type': '4',
    };
    for (const path of ['/v1/account/payments', '/v1/balance']) {
      const answer = await bench.get(path, published);
      assert.deepEqual([answer.status, answer.headers.authorization], [403, undefined], path);
    }
  });

  it('may be bound to the request that they read with', async () => {
    const { addresses } = JSON.parse((await bench.get('/v1/info')).text);
    for (const signer of payersOfEachKind()) {
      const bound = { service: addresses.arweave, method: 'GET', path: '/v1/balance', contentDigest: '' };
      const headers = await signedHeaders(signer, randomUUID(), bound);
      assert.equal((await bench.get('/v1/balance', headers)).status, 200);
      assert.equal((await bench.get('/v1/balance?address=x', headers)).status, 403);
      assert.equal((await bench.get('/v1/account/payments', headers)).status, 403);
      const { 'x-service-address': _service, ...unbound } = headers;
      assert.equal((await bench.get('/v1/balance', unbound)).status, 403);
      const foreign = await signedHeaders(signer, randomUUID(), { ...bound, service: signer.address });
      assert.equal((await bench.get('/v1/balance', foreign)).status, 403);
    }
  });
});
