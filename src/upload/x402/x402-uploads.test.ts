import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { costOf, openX402World, payer, type X402WorldOptions } from '../../../test/support/x402-uploads.ts';
import { winc } from '../../credits/credits.ts';
import { encodeHeader } from '../../formats/x402/testing.ts';
import { signPayment } from '../../localnet/x402/testing.ts';
import { addRow } from '../../pricing/catalogue/rows.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { verifyItem } from '../../wallets/data-items/verify.ts';
import { solanaAddress } from '../../wallets/solana/address.ts';
import { ed25519RawPublicKey } from '../../wallets/solana/ed25519.ts';
import { ed25519TestKey, testArweaveKey } from '../../wallets/testing/keys.ts';
import { byteForWinc, type TestUpload } from '../testing.ts';

const random = seededRandom(71);
const signer = solanaSigner(ed25519TestKey('x402'));

/** One atomic dollar buys one winc, and a byte costs three unless another price is given. */
const open = (
  t: TestContext,
  environment: Record<string, string> = {},
  pricing?: NonNullable<X402WorldOptions['pricing']>,
) => openX402World(t, { environment, ...(pricing && { pricing }) });

const makeItem = (bytes: number) => signItem({ data: random.bytes(bytes) }, signer);
const cost = costOf;

for (const path of ['/v1/x402/upload/signed', '/v1/x402/data-item/signed', '/v1/tx/solana']) {
  test(`${path} says how to pay, takes the payment, and answers a receipt`, async (t) => {
    const { upload, pay, facilitator } = await open(t);
    const item = await makeItem(20_000);
    const asked = await upload.post(path, item);
    assert.equal(asked.status, 402);
    assert.equal(asked.body.x402Version, 1);
    // Without an account there is nothing to be short of.
    const why = path.startsWith('/v1/tx') ? 'Insufficient balance' : 'X-PAYMENT header is required';
    assert.ok(asked.bytes.toString().startsWith(`{"error":"${why}",`), asked.bytes.toString());
    assert.equal(asked.body.maxAmountRequired, String(cost(item.length)));
    assert.equal(asked.at('accepts.0.resource'), `${upload.url}${path}`);
    assert.equal((await upload.counts()).upload_items, 0);

    const paid = await upload.post(path, item, pay(cost(item.length)));
    assert.equal(paid.status, 200, paid.bytes.toString());
    assert.equal(paid.body.winc, '0', 'no credits were charged');
    assert.equal(paid.body.payer, payer);
    assert.equal(paid.at('x402Payment.network'), 'base-sepolia');
    assert.match(String(paid.at('x402Payment.txHash')), /^0x[0-9a-f]{64}$/);
    assert.ok(paid.headers['x-payment-response'] !== undefined);
    assert.equal(await upload.balance(payer), 0n);
    assert.equal(await facilitator.balance(payer), String(1_000_000_000n - cost(item.length)));
    assert.ok((await upload.get(`/v1/data-item/${paid.body.id}`)).bytes.equals(item));
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });
}

test('behind a proxy that is trusted, what is paid for has the address that the client knows', async (t) => {
  for (const [trusted, scheme] of [
    ['127.0.0.1', 'https'],
    ['10.0.0.1', 'http'],
  ] as const) {
    const { upload } = await open(t, { TRUSTED_PROXIES: trusted });
    const headers = { 'x-forwarded-proto': 'https', 'x-forwarded-host': 'upload.example' };
    const asked = await upload.post('/v1/x402/upload/signed', await makeItem(20_000), headers);
    assert.equal(new URL(String(asked.at('accepts.0.resource'))).protocol, `${scheme}:`);
  }
});

test('the same payment again answers the same and takes nothing', async (t) => {
  const { upload, pay, facilitator } = await open(t);
  const item = await makeItem(500);
  const headers = pay(cost(item.length));
  const first = await upload.post('/v1/x402/upload/signed', item, headers);
  const again = await upload.post('/v1/x402/upload/signed', item, headers);
  assert.equal(first.status, 200);
  assert.equal(again.status, 202);
  assert.deepEqual(again.body, first.body);
  const other = await makeItem(500);
  assert.equal(
    (await upload.post('/v1/x402/upload/signed', other, headers)).status,
    402,
    'nor buys another item',
  );
  assert.equal((await upload.counts()).upload_items, 1);
  assert.equal(await facilitator.balance(payer), String(1_000_000_000n - cost(item.length)));
});

test('an item that is refused is not paid for', async (t) => {
  const { upload, pay, facilitator } = await open(t);
  const item = await makeItem(500);
  item[item.length - 1]! ^= 1;
  const answer = await upload.post('/v1/x402/upload/signed', item, pay(cost(item.length)));
  assert.equal(answer.status, 400);
  assert.equal(await facilitator.balance(payer), '1000000000');
  assert.equal((await upload.counts()).upload_items, 0);
});

test('payments that are too small, malformed or forged are refused', async (t) => {
  const { upload, pay, facilitator } = await open(t);
  const item = await makeItem(5_000);
  assert.equal((await upload.post('/v1/x402/upload/signed', item, pay(100n))).status, 402);
  assert.equal((await upload.post('/v1/x402/upload/signed', item, { 'x-payment': 'nonsense' })).status, 403);
  const forged = signPayment({
    payTo: facilitator.payTo,
    value: cost(item.length),
    tamper: { to: '0x0000000000000000000000000000000000000001' },
  });
  const headers = { 'x-payment': encodeHeader(forged.paymentPayload) };
  const status = (await upload.post('/v1/x402/upload/signed', item, headers)).status;
  assert.ok(status === 402 || status === 403);
  assert.equal((await upload.counts()).upload_items, 0);
});

test('a body without a length is refused before anything is paid', async (t) => {
  const { upload, pay } = await open(t);
  const item = await makeItem(500);
  for (const headers of [{}, pay(cost(item.length))]) {
    const answer = await fetch(`${upload.url}/v1/x402/upload/signed`, {
      method: 'POST',
      headers,
      body: new ReadableStream({
        start(controller) {
          controller.enqueue(item);
          controller.close();
        },
      }),
      duplex: 'half',
    } as RequestInit & { duplex: 'half' });
    assert.equal(answer.status, 411);
  }
  assert.equal((await upload.counts()).upload_items, 0);
});

test('raw data becomes an item that the service signs', async (t) => {
  const { upload, pay } = await open(t);
  for (const bytes of [100, 50_000]) {
    const data = random.bytes(bytes);
    const tags = [
      { name: 'Content-Type', value: 'image/png' },
      { name: 'x-approve-payment', value: payer },
      { name: 'Payer-Address', value: 'somebody else' },
      { name: 'App', value: 'é' },
    ];
    const described = { 'x-data-item-tags': JSON.stringify(tags).replace('é', '\\u00e9') };
    const asked = await upload.post('/v1/x402/upload/unsigned', data, described);
    assert.equal(asked.status, 402);
    const price = BigInt(String(asked.body.maxAmountRequired));
    const headers = { ...described, ...pay(price) };
    const paid = await upload.post('/v1/x402/upload/unsigned', data, headers);
    assert.equal(paid.status, 200, paid.bytes.toString());
    assert.equal(paid.body.owner, testArweaveKey.address);
    assert.equal(paid.body.payer, payer);
    const raw = (await upload.get(`/v1/data-item/${paid.body.id}`)).bytes;
    assert.equal(price, cost(raw.length), 'the price was that of the item as it is');
    const item = verifyItem(raw);
    assert.ok(typeof item !== 'string', String(item));
    assert.ok(item.data.equals(data));
    assert.deepEqual(item.header.tags, [
      { name: 'Content-Type', value: 'image/png' },
      { name: 'App', value: 'é' },
      { name: 'Bundler', value: 'Turnpike' },
      { name: 'Payer-Address', value: payer },
    ]);
    const again = await upload.post('/v1/x402/upload/unsigned', data, headers);
    assert.equal(again.status, 202);
    assert.equal(again.body.id, paid.body.id);
  }
  assert.equal(await upload.balance(payer), 0n);
});

test('raw data of a blocked wallet is refused and not paid for', async (t) => {
  const { upload, facilitator, pay } = await open(t, { BLOCK_LISTED_ADDRESSES: payer });
  const refused = await upload.post('/v1/x402/upload/unsigned', random.bytes(100), pay(100_000n));
  assert.deepEqual([refused.status, refused.body], [403, 'Forbidden']);
  assert.equal(await facilitator.balance(payer), '1000000000');
  assert.equal((await upload.counts()).upload_items, 0);
});

test('nothing is paid for what a disk that is nearly full does not take', async (t) => {
  const { upload, pay, facilitator } = await open(t, { MIN_FREE_DISK_BYTES: '9007199254740991' });
  const item = await makeItem(20_000);
  const session = '/v1/chunks/solana/-1/-1?totalBytes=20000';
  for (const answer of [
    await upload.post('/v1/x402/upload/signed', item, pay(cost(item.length))),
    await upload.post('/v1/x402/upload/unsigned', item, pay(cost(30_000))),
    await upload.get(session, pay(cost(20_000))),
  ]) {
    assert.equal(answer.status, 507, answer.bytes.toString());
    assert.match(String(answer.body), /^The disk of this service is nearly full/);
  }
  assert.equal(await facilitator.balance(payer), '1000000000');
  assert.equal((await upload.counts()).upload_items, 0);
});

test('tags of raw data that are no tags are refused', async (t) => {
  const { upload } = await open(t);
  for (const header of [
    '{',
    '{}',
    '[1]',
    '[{"name":"a"}]',
    JSON.stringify([{ name: 'a', value: 'b'.repeat(4_000) }]),
  ]) {
    const answer = await upload.post('/v1/x402/upload/unsigned', Buffer.from('x'), {
      'x-data-item-tags': header,
    });
    assert.equal(answer.status, 400, header.slice(0, 40));
    assert.match(String(answer.body), /^Invalid x-data-item-tags header/);
  }
});

test('an upload in parts can be paid when it begins, once, and what is left over stays as credits', async (t) => {
  const { upload, pay, facilitator } = await open(t);
  const item = await makeItem(30_000);
  const declared = item.length + 1_000;
  const path = `/v1/chunks/base-usdc/-1/-1?chunkSize=5242880&totalBytes=${declared}&address=${payer}&signatureType=3`;
  assert.equal((await upload.get(path)).status, 402);
  const headers = pay(cost(declared));
  const begun = await upload.get(path, headers);
  assert.equal(begun.status, 200);
  assert.equal(begun.body.chunkSize, 5_242_880);
  assert.equal(
    (await upload.get(path, headers)).body.id,
    begun.body.id,
    'the same payment begins the same upload',
  );
  assert.equal(await facilitator.balance(payer), String(1_000_000_000n - cost(declared)));
  const id = String(begun.body.id);
  const tooMuch = await upload.post(`/v1/chunks/base-usdc/${id}/0`, random.bytes(declared + 1));
  assert.match(String(tooMuch.body), /were paid for/);
  assert.equal((await upload.post(`/v1/chunks/base-usdc/${id}/0`, item)).status, 200);
  const done = await upload.post(`/v1/chunks/base-usdc/${id}/-1`, Buffer.alloc(0));
  assert.equal(done.status, 200, done.bytes.toString());
  assert.equal(done.body.payer, payer);
  assert.equal(await upload.balance(payer), cost(1_000));
  assert.ok((await upload.get(`/v1/data-item/${done.body.id}`)).bytes.equals(item));
});

const victim = solanaAddress(ed25519RawPublicKey(ed25519TestKey('victim')));

const lend = (upload: TestUpload, address: string, amount: bigint) =>
  upload.credits.credit({
    address,
    addressType: 'solana',
    amount: winc(amount),
    reason: 'admin_credit',
    id: `for ${address}`,
  });

test('a payment that bought an item cannot have an upload in parts charged to another wallet', async (t) => {
  const { upload, pay } = await open(t);
  await lend(upload, victim, 10_000_000n);
  const item = await makeItem(30_000);
  const headers = pay(cost(item.length));
  assert.equal((await upload.post('/v1/x402/upload/signed', item, headers)).status, 200);
  const path = `/v1/chunks/base-usdc/-1/-1?totalBytes=${item.length}`;
  for (const address of [victim, payer]) {
    const answer = await upload.get(`${path}&address=${address}`, headers);
    assert.equal(answer.status, 402, address);
    assert.equal(answer.body.error, 'invalid_exact_evm_nonce_already_used');
  }
  assert.equal(await upload.balance(victim), 10_000_000n);
});

test('nor can one that began an upload in parts be charged to another wallet when it comes again', async (t) => {
  const { upload, pay } = await open(t);
  await lend(upload, victim, 10_000_000n);
  const path = '/v1/chunks/base-usdc/-1/-1?totalBytes=30000';
  const headers = pay(cost(30_000));
  assert.equal((await upload.get(`${path}&address=${payer}`, headers)).status, 200);
  assert.equal((await upload.get(`${path}&address=${victim}`, headers)).status, 402);
  assert.equal(await upload.balance(victim), 10_000_000n);
});

test('whoever reads a settled top-up on its chain cannot upload on its payer’s credits', async (t) => {
  const { upload, pay, x402 } = await open(t);
  const headers = pay(1_000_000n);
  const quote = await x402.offer({
    product: 'top-up',
    winc: winc(1_000_000n),
    resource: 'http://localhost/v1/x402/top-up',
    description: '',
    mimeType: '',
  });
  const payment = await x402.read(headers, quote);
  assert.ok(payment !== undefined);
  await x402.settle(payment, { purpose: 'top-up' });
  assert.equal(await upload.balance(payer), 1_000_000n);
  const item = await makeItem(30_000);
  for (const path of ['/v1/x402/upload/signed', '/v1/x402/upload/unsigned', '/v1/tx']) {
    assert.equal((await upload.post(path, item, headers)).status, 402, path);
  }
  assert.equal(await upload.balance(payer), 1_000_000n);
  assert.equal((await upload.counts()).upload_items, 0);
});

test('an upload in parts takes no more from a wallet than was paid into it', async (t) => {
  const { upload, pay, market } = await open(t);
  await lend(upload, victim, 10_000_000n);
  const item = await makeItem(30_000);
  const path = `/v1/chunks/base-usdc/-1/-1?totalBytes=${item.length}&address=${victim}`;
  const asked = await upload.get(path);
  market.percent = 104n;
  const begun = await upload.get(path, pay(BigInt(String(asked.body.maxAmountRequired))));
  assert.equal(begun.status, 200);
  const id = String(begun.body.id);
  assert.equal((await upload.post(`/v1/chunks/base-usdc/${id}/0`, item)).status, 200);
  const done = await upload.post(`/v1/chunks/base-usdc/${id}/-1`, Buffer.alloc(0));
  assert.equal(done.status, 200, done.bytes.toString());
  assert.equal(await upload.balance(victim), 10_000_000n);
});

test('a discount that is limited per wallet neither lowers nor is used up by an upload in parts that x402 pays', async (t) => {
  const { upload, pay } = await open(t, { FREE_UPLOAD_LIMIT: '0' }, byteForWinc);
  const item = await makeItem(30_000);
  const size = BigInt(item.length);
  const limit = { wincLimitation: size, limitIntervalMs: 86_400_000 };
  const row = { kind: 'upload', name: 'Half', operator: 'multiply', magnitude: '0.5', ...limit } as const;
  await addRow(upload.sql, row, 0);
  const path = `/v1/chunks/base-usdc/-1/-1?totalBytes=${size}&address=${payer}`;
  const asked = await upload.get(path);
  assert.equal(asked.body.maxAmountRequired, String(size), 'nobody is known yet whose limit it could be');
  for (let count = 0; count < 2; count += 1) {
    const begun = await upload.get(path, pay(size));
    const id = String(begun.body.id);
    const part = count === 0 ? item : await makeItem(30_000);
    assert.equal((await upload.post(`/v1/chunks/base-usdc/${id}/0`, part)).status, 200);
    const done = await upload.post(`/v1/chunks/base-usdc/${id}/-1`, Buffer.alloc(0));
    assert.equal(done.status, 200, done.bytes.toString());
  }
  assert.equal(await upload.balance(payer), 0n, 'the whole price was charged');
  assert.deepEqual(await upload.sql.all('SELECT * FROM pricing_upload_uses'), []);
  assert.equal((await upload.credits.selfCheck()).ok, true);
});
