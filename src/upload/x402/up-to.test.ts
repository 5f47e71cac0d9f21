/** Uploads whose size is known at the end: paid up to an amount, charged for the bytes that came. */
import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { seededRandom } from '../../../test/support/seeded-random.ts';
import { costOf, openX402World, payer } from '../../../test/support/x402-uploads.ts';
import { memberOf, tryParseJson } from '../../formats/json.ts';
import { encodeHeader } from '../../formats/x402/testing.ts';
import { type PermitOptions, signPermit } from '../../localnet/x402/testing.ts';
import { signItem, solanaSigner } from '../../wallets/data-items/signer.ts';
import { ed25519TestKey } from '../../wallets/testing/keys.ts';

const random = seededRandom(72);
const signer = solanaSigner(ed25519TestKey('up to'));

async function open(t: TestContext) {
  const world = await openX402World(t);
  const { upload, facilitator } = world;
  const address = await facilitator.address();
  /** In pieces, without a length. */
  const stream = async (path: string, body: Buffer, headers: Record<string, string> = {}) => {
    const pieces = [body.subarray(0, 100), body.subarray(100)];
    const answer = await fetch(`${upload.url}${path}`, {
      method: 'POST',
      headers,
      body: ReadableStream.from(pieces),
      duplex: 'half',
    } as RequestInit & { duplex: 'half' });
    const text = await answer.text();
    return { status: answer.status, text, body: tryParseJson(text), headers: answer.headers };
  };
  const pay = (value: bigint, changed: Partial<PermitOptions> = {}) => ({
    'payment-signature': encodeHeader(
      signPermit({ payTo: facilitator.payTo, facilitator: address, value, ...changed }).paymentPayload,
    ),
  });
  return { ...world, stream, pay, address };
}

for (const route of ['/v1/x402/upload/signed', '/v1/tx/solana']) {
  test(`${route} takes a body in chunks and charges what came`, async (t) => {
    const { upload, stream, pay, spent, address } = await open(t);
    const path = `${route}?maxBytes=50000`;
    const item = await signItem({ data: random.bytes(20_000) }, signer);
    if (route.startsWith('/v1/x402')) {
      const asked = await stream(path, item);
      assert.equal(asked.status, 402, asked.text);
      const required = JSON.parse(
        Buffer.from(asked.headers.get('payment-required') ?? '', 'base64').toString(),
      );
      assert.deepEqual(
        [
          required.accepts[0].scheme,
          required.accepts[0].amount,
          required.accepts[0].extra.facilitatorAddress,
        ],
        ['upto', String(costOf(50_000)), address],
      );
    }
    const headers = pay(costOf(50_000));
    const paid = await stream(path, item, headers);
    assert.equal(paid.status, 200, paid.text);
    assert.equal(await spent(), costOf(item.length), 'the bytes that came, no more');
    const settlement = JSON.parse(
      Buffer.from(paid.headers.get('payment-response') ?? '', 'base64').toString(),
    );
    assert.equal(settlement.amount, String(costOf(item.length)));
    assert.equal(await upload.balance(payer), 0n);

    const again = await stream(path, item, headers);
    assert.deepEqual([again.status, again.body], [202, paid.body]);
    const other = await signItem({ data: random.bytes(10_000) }, signer);
    assert.equal((await stream(path, other, headers)).status, 402, 'it buys nothing else');
    assert.equal(await spent(), costOf(item.length));
    assert.equal((await upload.counts()).upload_items, 1);
    assert.equal((await upload.credits.selfCheck()).ok, true);
  });
}

test('raw data in chunks becomes an item that the service signs, paid by its size', async (t) => {
  const { upload, stream, pay, spent } = await open(t);
  const data = random.bytes(30_000);
  const paid = await stream('/v1/x402/upload/unsigned?maxBytes=40000', data, pay(costOf(50_000)));
  assert.equal(paid.status, 200, paid.text);
  const raw = (await upload.get(`/v1/data-item/${memberOf(paid.body, 'id')}`)).bytes;
  assert.ok(raw.subarray(-data.length).equals(data));
  assert.equal(await spent(), costOf(raw.length));
});

test('more than was said is refused, and nothing is taken', async (t) => {
  const { upload, stream, pay, spent } = await open(t);
  const item = await signItem({ data: random.bytes(20_000) }, signer);
  const refused = await stream('/v1/x402/upload/signed?maxBytes=5000', item, pay(costOf(5_000)));
  assert.equal(refused.status, 413, refused.text);
  assert.match(refused.text, /longer than the 5000 bytes/);
  const raw = await stream('/v1/x402/upload/unsigned?maxBytes=5000', item, pay(costOf(10_000)));
  assert.equal(raw.status, 413);
  const small = await stream('/v1/x402/upload/signed?maxBytes=50000', item, pay(costOf(40_000)));
  assert.equal(small.status, 402, 'less than was asked for is not enough');
  for (const bad of ['x', '0', '-5', '1e3', '']) {
    assert.equal((await stream(`/v1/x402/upload/signed?maxBytes=${bad}`, item, {})).status, 400, bad);
  }
  assert.equal(await spent(), 0n);
  assert.equal((await upload.counts()).upload_items, 0);
});

test('an answer of the facilitator that is lost costs once, and the item can be had with the same payment', async (t) => {
  const { upload, facilitator, stream, pay, spent } = await open(t);
  const item = await signItem({ data: random.bytes(20_000) }, signer);
  const headers = pay(costOf(50_000));
  await facilitator.call('POST', '/test/faults', { loseAnswers: 1 });
  const path = '/v1/x402/upload/signed?maxBytes=50000';
  assert.equal((await stream(path, item, headers)).status, 503);
  assert.equal((await upload.counts()).upload_items, 0);
  assert.equal((await stream(path, item, headers)).status, 200);
  assert.equal(await spent(), costOf(item.length));
  assert.equal(await upload.balance(payer), 0n);
});
