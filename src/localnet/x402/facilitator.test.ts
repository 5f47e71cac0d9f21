import assert from 'node:assert/strict';
import { test } from 'node:test';
import { examplePayment } from '../../formats/x402/testing.ts';
import { type PermitOptions, signPayment, signPermit, startFacilitator } from './testing.ts';

const rich = examplePayment.payer;

test('it says what it settles', async (t) => {
  const { call, address } = await startFacilitator(t);
  const { kinds } = await call('GET', '/supported');
  assert.deepEqual(kinds, [
    { x402Version: 1, scheme: 'exact', network: 'base-sepolia' },
    { x402Version: 2, scheme: 'exact', network: 'eip155:84532' },
    {
      x402Version: 2,
      scheme: 'upto',
      network: 'eip155:84532',
      extra: { facilitatorAddress: await address() },
    },
  ]);
});

for (const version of [1, 2] as const) {
  test(`a payment of version ${version} is verified, settled once, and moves the money`, async (t) => {
    const { call, mint, balance, facilitator } = await startFacilitator(t);
    await mint(rich, 1_500_000n);
    const request = signPayment({ version, payTo: facilitator.payTo, value: 1_000_000n });
    assert.deepEqual(await call('POST', '/verify', request), { isValid: true, payer: rich });
    const settled = await call('POST', '/settle', request);
    assert.equal(settled.success, true);
    assert.match(String(settled.transaction), /^0x[0-9a-f]{64}$/);
    assert.equal(settled.network, version === 1 ? 'base-sepolia' : 'eip155:84532');
    assert.equal(await balance(rich), '500000');
    assert.equal(await balance(facilitator.payTo), '1000000');
    const again = await call('POST', '/settle', request);
    assert.equal(again.success, false);
    assert.equal(again.errorReason, 'invalid_exact_evm_nonce_already_used');
    assert.equal((await call('POST', '/verify', request)).isValid, false);
    assert.equal(await balance(rich), '500000');
  });
}

test('what does not meet the requirement is refused with its reason, and nothing moves', async (t) => {
  const { call, mint, balance, facilitator } = await startFacilitator(t);
  await mint(rich, 1_000_000n);
  const { payTo } = facilitator;
  const now = Math.floor(Date.now() / 1000);
  const cases: [ReturnType<typeof signPayment>, string][] = [
    [signPayment({ payTo, value: 2_000_000n }), 'insufficient_funds'],
    [signPayment({ payTo: rich, required: { payTo } }), 'invalid_exact_evm_payload_recipient_mismatch'],
    [
      signPayment({ payTo, value: 5n, required: { amount: 6n } }),
      'invalid_exact_evm_payload_authorization_value',
    ],
    [
      signPayment({ version: 2, payTo, value: 7n, required: { amount: 6n } }),
      'invalid_exact_evm_payload_authorization_value',
    ],
    [
      signPayment({ payTo, validBefore: BigInt(now + 3) }),
      'invalid_exact_evm_payload_authorization_valid_before',
    ],
    [
      signPayment({ payTo, validAfter: BigInt(now + 3_600) }),
      'invalid_exact_evm_payload_authorization_valid_after',
    ],
    [signPayment({ payTo, tamper: { value: '999999' } }), 'invalid_exact_evm_payload_signature'],
    [signPayment({ payTo, network: 'base' }), 'invalid_network'],
    [signPayment({ payTo, required: { asset: payTo } }), 'invalid_payment_requirements'],
    [signPayment({ payTo, tamper: { nonce: '0x12' } }), 'invalid_payload'],
  ];
  for (const [request, reason] of cases) {
    const verified = await call('POST', '/verify', request);
    assert.deepEqual([verified.isValid, verified.invalidReason], [false, reason]);
    const settled = await call('POST', '/settle', request);
    assert.deepEqual([settled.success, settled.errorReason, settled.transaction], [false, reason, '']);
  }
  assert.equal(await balance(rich), '1000000');
  assert.equal(await balance(payTo), '0');
});

test('the same payment settled many times at once moves once', async (t) => {
  const { call, mint, balance, facilitator } = await startFacilitator(t);
  await mint(rich, 1_000_000n);
  const request = signPayment({ payTo: facilitator.payTo, value: 400_000n });
  const answers = await Promise.all(Array.from({ length: 10 }, () => call('POST', '/settle', request)));
  assert.equal(answers.filter((answer) => answer.success === true).length, 1);
  assert.equal(await balance(rich), '600000');
});

test('balances and used authorisations survive a restart', async (t) => {
  const first = await startFacilitator(t);
  await first.mint(rich, 1_000_000n);
  const request = signPayment({ payTo: first.facilitator.payTo, value: 400_000n });
  await first.call('POST', '/settle', request);
  const second = await first.restart();
  assert.equal(second.facilitator.payTo, first.payTo);
  assert.equal(await second.balance(rich), '600000');
  assert.equal((await second.call('POST', '/settle', request)).success, false);
});

test('minting takes whole amounts for real addresses only', async (t) => {
  const { status, balance } = await startFacilitator(t);
  for (const body of [
    { address: rich, amount: '0' },
    { address: rich, amount: '-1' },
    { address: rich, amount: '1e6' },
    { address: rich, amount: 1.5 },
    { address: rich, amount: '9'.repeat(40) },
    { address: `${rich.slice(0, -1)}b`, amount: '1' },
    { address: 'nobody', amount: '1' },
    { address: rich, amount: '1', network: 'moon' },
    { amount: '1' },
  ]) {
    assert.equal(await status('POST', '/mint', body), 400, JSON.stringify(body));
  }
  assert.equal(await balance(rich), '0');
});

test('its chain tells what became of an authorisation', async (t) => {
  const { call, mint, facilitator } = await startFacilitator(t);
  await mint(rich, 1_000_000n);
  const request = signPayment({ payTo: facilitator.payTo, value: 10n });
  const { nonce } = request.paymentPayload.payload.authorization;
  const rpc = async (method: string, ...params: unknown[]) =>
    (await call('POST', '/rpc/eip155:84532', { jsonrpc: '2.0', id: 1, method, params })).result;
  const asset = request.paymentRequirements.asset;
  const holder = rich.slice(2).toLowerCase().padStart(64, '0');
  const state = () => rpc('eth_call', { to: asset, data: `0xe94a0102${holder}${nonce.slice(2)}` }, 'latest');
  const logs = () =>
    rpc('eth_getLogs', {
      address: asset,
      topics: ['0x98de503528ee59b575ef0c0a2576a82497bfc029a5685b209e9ec333479b10a5', `0x${holder}`, nonce],
    });
  assert.equal(await rpc('eth_chainId'), '0x14a34');
  assert.equal(await state(), `0x${'0'.repeat(64)}`);
  assert.deepEqual(await logs(), []);
  const { transaction } = await call('POST', '/settle', request);
  assert.equal(await state(), `0x${'1'.padStart(64, '0')}`);
  const [log] = (await logs()) as { transactionHash: string }[];
  assert.equal(log?.transactionHash, transaction);
});

test('of a permit exactly what is asked for is taken, once, and never more than it allows', async (t) => {
  const { call, mint, balance, facilitator, address } = await startFacilitator(t);
  await mint(rich, 1_000_000n);
  const who = { payTo: facilitator.payTo, facilitator: await address() };
  const nonce = '70000';
  const more = signPermit({ ...who, nonce, value: 500_000n, amount: 500_001n });
  const tooMuch = await call('POST', '/settle', more);
  assert.equal(tooMuch.errorReason, 'invalid_upto_evm_payload_settlement_exceeds_amount');
  const whole = signPermit({ ...who, nonce, value: 500_000n });
  assert.deepEqual(await call('POST', '/verify', whole), { isValid: true, payer: rich });
  const settled = await call('POST', '/settle', signPermit({ ...who, nonce, value: 500_000n, amount: 123n }));
  assert.deepEqual([settled.success, settled.amount], [true, '123']);
  assert.equal(await balance(rich), '999877');
  assert.equal(await balance(facilitator.payTo), '123');
  const again = await call('POST', '/settle', signPermit({ ...who, nonce, value: 500_000n, amount: 5n }));
  assert.equal(again.errorReason, 'permit2_invalid_nonce');
  assert.equal(await balance(rich), '999877');
  // Another bit of the same word is another permit.
  const next = await call('POST', '/settle', signPermit({ ...who, nonce: '70001', value: 500n, amount: 7n }));
  assert.equal(next.success, true);
});

test('a permit that does not meet the requirement is refused with its reason, and nothing moves', async (t) => {
  const { call, mint, balance, facilitator, address } = await startFacilitator(t);
  await mint(rich, 1_000_000n);
  const who = { payTo: facilitator.payTo, facilitator: await address() };
  const now = Math.floor(Date.now() / 1000);
  const other = `0x${'12'.repeat(20)}`;
  const cases: [Partial<PermitOptions>, string][] = [
    [{ value: 2_000_000n }, 'permit2_insufficient_balance'],
    [{ spender: other }, 'invalid_permit2_spender'],
    [{ facilitator: other }, 'upto_facilitator_mismatch'],
    [{ token: other }, 'permit2_token_mismatch'],
    [{ deadline: BigInt(now + 3) }, 'permit2_deadline_expired'],
    [{ validAfter: BigInt(now + 3_600) }, 'permit2_not_yet_valid'],
    [{ tamper: { amount: '999999' }, amount: 999_999n }, 'invalid_permit2_signature'],
    [{ tamper: { to: other } }, 'invalid_permit2_recipient_mismatch'],
  ];
  for (const [change, reason] of cases) {
    const request = signPermit({ ...who, ...change });
    assert.equal((await call('POST', '/verify', request)).invalidReason, reason);
    const settled = await call('POST', '/settle', request);
    assert.deepEqual([settled.success, settled.errorReason], [false, reason]);
  }
  assert.equal(await balance(rich), '1000000');
});
