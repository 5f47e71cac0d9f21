import assert from 'node:assert/strict';
import { type TestContext, test } from 'node:test';
import { openX402Bench, type X402Bench } from '../../../test/support/x402-bench.ts';
import { encodeHeader, examplePayment } from '../../formats/x402/testing.ts';
import { type FacilitatorForTest, signPayment, startFacilitator } from '../../localnet/x402/testing.ts';
import { parseWanted } from './x402-top-up.ts';

const payer = examplePayment.payer;

interface TopUpBench extends X402Bench {
  readonly facilitator: FacilitatorForTest;
}

async function openTopUps(t: TestContext): Promise<TopUpBench> {
  const facilitator = await startFacilitator(t);
  const { url, payTo, rpcUrls } = facilitator.facilitator;
  return { ...(await openX402Bench(t, { facilitatorUrl: url, payTo, rpcUrls })), facilitator };
}

const json = async (answer: Response): Promise<Record<string, unknown>> => {
  const body: Record<string, unknown> = JSON.parse(await answer.text());
  return body;
};

const decoded = (header: string | null): unknown =>
  JSON.parse(Buffer.from(header ?? '', 'base64').toString());

test('quantities are whole bytes or credits with up to twelve places', () => {
  assert.deepEqual(parseWanted('bytes', '1024'), { kind: 'bytes', bytes: 1024 });
  assert.deepEqual(parseWanted('credits', '1'), { kind: 'credits', winc: 1_000_000_000_000n });
  assert.deepEqual(parseWanted('credits', '2.000000000001'), { kind: 'credits', winc: 2_000_000_000_001n });
  for (const [type, qty] of [
    ['bytes', '0'],
    ['bytes', '1.5'],
    ['bytes', '9007199254740993'],
    ['bytes', '1e3'],
    ['credits', '0.5'],
    ['credits', '1.0000000000001'],
    ['credits', '+1'],
    ['credits', '0x10'],
    ['credits', ''],
    ['credits', '1'.repeat(13)],
    ['winc', '1'],
    [undefined, '1'],
    ['bytes', undefined],
  ] as const) {
    assert.equal(parseWanted(type, qty), undefined, `${type} ${qty}`);
  }
});

test('without a payment it asks for one, in both versions of the protocol', async (t) => {
  const { get, url, facilitator } = await openTopUps(t);
  const answer = await get('type=credits&qty=1.5');
  assert.equal(answer.status, 402);
  assert.equal(answer.headers.get('cache-control'), 'no-store');
  const body = await json(answer);
  assert.equal(body.scheme, 'exact');
  assert.equal(body.network, 'base-sepolia');
  assert.equal(body.maxAmountRequired, '1500000');
  assert.equal(body.payTo, facilitator.payTo);
  assert.equal(body.resource, `${url}/v1/x402/top-up?type=credits&qty=1.5`);
  assert.equal(body.description, '1.5 storage credits');
  assert.equal(body.error, 'X-PAYMENT header is required');
  assert.ok(Array.isArray(body.accepts) && body.accepts.length === 1);
  const header = decoded(answer.headers.get('payment-required'));
  assert.ok(typeof header === 'object' && header !== null && 'x402Version' in header);
  assert.equal(header.x402Version, 2);
});

test('bytes are priced as one upload, the charge per item included, and never below the smallest payment', async (t) => {
  const { get } = await openTopUps(t);
  assert.equal((await json(await get('type=bytes&qty=1000000000'))).maxAmountRequired, '10001');
  assert.equal((await json(await get('type=bytes&qty=1'))).maxAmountRequired, '1000');
});

for (const version of [1, 2] as const) {
  test(`a payment of version ${version} is settled and credited to the payer`, async (t) => {
    const { get, credits, facilitator } = await openTopUps(t);
    await facilitator.mint(payer, 3_000_000n);
    const { paymentPayload } = signPayment({ version, payTo: facilitator.payTo, value: 1_000_000n });
    const headers = { [version === 1 ? 'x-payment' : 'payment-signature']: encodeHeader(paymentPayload) };
    const answer = await get('type=credits&qty=1', headers);
    assert.equal(answer.status, 200);
    const body = await json(answer);
    const network = version === 1 ? 'base-sepolia' : 'eip155:84532';
    const settlement = decoded(answer.headers.get('x-payment-response'));
    assert.ok(typeof settlement === 'object' && settlement !== null && 'transaction' in settlement);
    assert.deepEqual(body, {
      walletAddress: payer,
      balance: '1000000000000',
      creditedWinc: '1000000000000',
      x402SettlementResponse: { transaction: settlement.transaction, network, payTo: facilitator.payTo },
    });
    assert.deepEqual(settlement, { success: true, transaction: settlement.transaction, network, payer });
    assert.equal(answer.headers.get('payment-response'), answer.headers.get('x-payment-response'));
    assert.match(answer.headers.get('access-control-expose-headers') ?? '', /payment-response/);
    const again = await get('type=credits&qty=1', headers);
    assert.equal(again.status, 200);
    assert.deepEqual(await json(again), body);
    assert.equal((await credits.balance(payer))?.winc, 1_000_000_000_000n);
    assert.equal(await facilitator.balance(payer), '2000000');
  });
}

test('a named wallet is credited instead of the payer', async (t) => {
  const { get, credits, facilitator } = await openTopUps(t);
  await facilitator.mint(payer, 1_000_000n);
  const { paymentPayload } = signPayment({ payTo: facilitator.payTo });
  const address = `${'a'.repeat(42)}A`;
  const answer = await get(`type=credits&qty=1&address=${address}`, {
    'x-payment': encodeHeader(paymentPayload),
  });
  assert.equal((await json(answer)).walletAddress, address);
  assert.equal((await credits.balance(address))?.winc, 1_000_000_000_000n);
  assert.equal(await credits.balance(payer), undefined);
});

test('wrong requests and payments are refused with the words of the contract, and nothing moves', async (t) => {
  const { get, credits, facilitator } = await openTopUps(t);
  await facilitator.mint(payer, 1_000_000n);
  const good = signPayment({ payTo: facilitator.payTo });
  const header = encodeHeader(good.paymentPayload);
  for (const query of [
    '',
    'type=credits',
    'qty=1',
    'type=x&qty=1',
    'type=bytes&qty=0',
    'type=bytes&qty=1&qty=2',
  ]) {
    const answer = await get(query, { 'x-payment': header });
    assert.equal(answer.status, 400, query);
    assert.equal(await answer.text(), '"Invalid quantity parameter"');
  }
  const forbidden: Record<string, string>[] = [
    { 'x-payment': 'not base64' },
    { 'x-payment': encodeHeader({ x402Version: 1 }) },
    {
      'x-payment': encodeHeader(
        signPayment({ payTo: facilitator.payTo, tamper: { validAfter: '1' } }).paymentPayload,
      ),
    },
    { 'x-payment': header, 'x-signature': 'AAAA', 'x-nonce': 'n', 'x-public-key': 'AAAA' },
  ];
  for (const headers of forbidden) {
    const answer = await get('type=credits&qty=1', headers);
    assert.equal(answer.status, 403);
    assert.equal(await answer.text(), '"Invalid signature or missing required headers"');
  }
  const low = signPayment({ payTo: facilitator.payTo, value: 10n });
  const refused = await get('type=credits&qty=1', { 'x-payment': encodeHeader(low.paymentPayload) });
  assert.equal(refused.status, 402);
  assert.equal((await json(refused)).error, 'invalid_exact_evm_payload_authorization_value');
  const poor = signPayment({ payTo: facilitator.payTo, value: 2_000_000n });
  const unfunded = await get('type=credits&qty=1', { 'x-payment': encodeHeader(poor.paymentPayload) });
  assert.equal(unfunded.status, 402);
  assert.equal((await json(unfunded)).error, 'insufficient_funds');
  assert.equal((await get('type=credits&qty=1&address=nobody', { 'x-payment': header })).status, 400);
  assert.equal(await credits.balance(payer), undefined);
  assert.equal(await facilitator.balance(payer), '1000000');
});

test('a settlement that fails is 503 and says so in the header; an oracle that is down is 503 too', async (t) => {
  const { get, credits, facilitator, oracle } = await openTopUps(t);
  await facilitator.mint(payer, 1_000_000n);
  await facilitator.call('POST', '/test/faults', { refuse: 1 });
  const { paymentPayload } = signPayment({ payTo: facilitator.payTo });
  const answer = await get('type=credits&qty=1', { 'x-payment': encodeHeader(paymentPayload) });
  assert.equal(answer.status, 503);
  assert.equal(await answer.text(), '"Payment settlement failed"');
  const settlement = decoded(answer.headers.get('x-payment-response'));
  assert.ok(typeof settlement === 'object' && settlement !== null && 'success' in settlement);
  assert.equal(settlement.success, false);
  assert.equal(await credits.balance(payer), undefined);
  oracle.down = true;
  const down = await get('type=credits&qty=1');
  assert.equal(down.status, 503);
  assert.equal(await down.text(), '"Fiat Oracle Unavailable"');
  assert.equal(down.headers.get('retry-after'), '7');
});

test('a little less than the price is taken only when it was asked a short while ago', async (t) => {
  const { get, credits, facilitator, oracle } = await openTopUps(t);
  await facilitator.mint(payer, 5_000_000n);
  const pay = (query: string, value: bigint) => {
    const { paymentPayload } = signPayment({ payTo: facilitator.payTo, value });
    return get(query, { 'x-payment': encodeHeader(paymentPayload) });
  };
  for (const query of ['type=credits&qty=1', 'type=bytes&qty=100000000000']) {
    const { maxAmountRequired } = await json(await get(query));
    const low = (BigInt(String(maxAmountRequired)) * 96n) / 100n;
    const refused = await pay(query, low);
    assert.equal(refused.status, 402);
    assert.equal((await json(refused)).error, 'invalid_exact_evm_payload_authorization_value');
  }
  assert.equal(await credits.balance(payer), undefined);
  assert.equal(await facilitator.balance(payer), '5000000');
  // It rises by four percent after it was asked.
  oracle.percent = 104n;
  assert.equal((await pay('type=credits&qty=2', 2_000_000n)).status, 402, 'this was not asked');
  assert.equal((await pay('type=credits&qty=1', 999_999n)).status, 402, 'nor so little');
  const taken = await pay('type=credits&qty=1', 1_000_000n);
  assert.equal(taken.status, 200);
  assert.equal((await json(taken)).creditedWinc, '961538461538', 'what was paid is credited');
  assert.equal(await facilitator.balance(payer), '4000000');
});

test('a payment shown by who does not know whom it credited says nothing and moves nothing', async (t) => {
  const { get, credits, facilitator } = await openTopUps(t);
  await facilitator.mint(payer, 1_000_000n);
  const header = { 'x-payment': encodeHeader(signPayment({ payTo: facilitator.payTo }).paymentPayload) };
  const address = `${'a'.repeat(42)}A`;
  const query = 'type=credits&qty=1';
  const first = await json(await get(`${query}&address=${address}`, header));
  for (const other of ['', `&address=${'b'.repeat(42)}A`, `&address=${payer}`]) {
    const answer = await get(`${query}${other}`, header);
    assert.equal(answer.status, 402, other);
    assert.ok(!(await answer.text()).includes(address));
  }
  assert.deepEqual(await json(await get(`${query}&address=${address}`, header)), first);
  assert.equal((await credits.balance(address))?.winc, 1_000_000_000_000n);
  assert.equal(await credits.balance(payer), undefined);
  assert.equal(await facilitator.balance(payer), '0');
});
