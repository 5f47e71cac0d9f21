import assert from 'node:assert/strict';
import { test } from 'node:test';
import { winc } from '../../credits/credits.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { encodeHeader, examplePayment } from '../../formats/x402/testing.ts';
import {
  type PaymentOptions,
  type PermitOptions,
  signPayment,
  signPermit,
} from '../../localnet/x402/testing.ts';
import { AuthorizationChain } from './chain.ts';
import { X402Refused, X402SignatureInvalid, X402Unreadable } from './errors.ts';
import { type PaymentRules, readSignedPayment } from './read-payment.ts';
import type { X402Quote } from './x402.ts';

const [network, ethereum] = [findX402Network('base-sepolia'), findX402Network('ethereum')];
assert.ok(network !== undefined && ethereum !== undefined);
const payTo = `0x${'Bb'.repeat(20)}`;
const facilitator = `0x${'Cc'.repeat(20)}`;
const seconds = 1_800_000_000n;
const quote: X402Quote = {
  ...{ amount: 1_000_000n, product: 'credits', winc: winc(5n), payTo, networks: [ethereum, network] },
  ...{ resource: 'http://x.test', description: '', mimeType: '', maxTimeoutSeconds: 300 },
};
const upTo: X402Quote = { ...quote, upTo: new Map([[network.caip2, facilitator.toLowerCase()]]) };

/** A wallet that is a contract, or nobody's. */
class ContractChain extends AuthorizationChain {
  isKnown = false;
  isSigned = false;
  constructor() {
    super({});
  }
  override knows(): boolean {
    return this.isKnown;
  }
  override async isSignedByContract(): Promise<boolean> {
    return this.isSigned;
  }
}

function setUp(more: Partial<PaymentRules> = {}) {
  const chain = new ContractChain();
  const united: string[] = [];
  const rules: PaymentRules = {
    ...{ minimum: 1_000n, toleranceBasisPoints: 500n, settlementBufferSeconds: 6n, chain },
    quotes: { wasAsked: async () => false },
    credits: { unite: async ({ wallet }) => void united.push(wallet.address) },
    isKnown: async () => false,
    now: () => Number(seconds) * 1000 + 999,
    ...more,
  };
  const usual = { payTo, validBefore: seconds + 300n };
  const read = (options: Partial<PaymentOptions> = {}, against = quote) =>
    readSignedPayment(encodeHeader(signPayment({ ...usual, ...options }).paymentPayload), against, rules);
  const permit = (options: Partial<PermitOptions> = {}, against = upTo) =>
    readSignedPayment(
      encodeHeader(signPermit({ payTo, facilitator, deadline: seconds + 300n, ...options }).paymentPayload),
      against,
      rules,
    );
  return { read, permit, chain, united, rules };
}

const refused = (reason: string) => (error: unknown) =>
  error instanceof X402Refused && error.reason === reason;

test('a payment is taken as it was offered, on the network that it names', async () => {
  const { read, permit, united } = setUp();
  for (const version of [1, 2] as const) {
    const { payer, network: chosen, quote: of } = await read({ version });
    assert.deepEqual([payer, chosen, of], [examplePayment.payer, network, quote]);
  }
  assert.equal((await permit()).payer, examplePayment.payer);
  assert.deepEqual(united, Array(3).fill(examplePayment.payer));
  await assert.rejects(read({ network: 'base' }), refused('invalid_network'));
  await assert.rejects(read({ network: 'base', version: 2 }), refused('invalid_network'));
});

test('an amount is enough from the price on, below it only what was asked a moment ago', async () => {
  const { read } = setUp();
  const tooLittle = refused('invalid_exact_evm_payload_authorization_value');
  await read({ value: 1_000_000n });
  await read({ value: 10n ** 18n - 1n });
  await assert.rejects(read({ value: 10n ** 18n }), tooLittle);
  await assert.rejects(read({ value: 999_999n }), tooLittle);
  const asked: [string, bigint][] = [];
  const { read: tolerant, permit } = setUp({
    quotes: {
      wasAsked: async (product, value) => {
        asked.push([product, value]);
        return true;
      },
    },
  });
  await tolerant({ value: 950_000n });
  assert.deepEqual(asked, [['credits', 950_000n]]);
  await assert.rejects(tolerant({ value: 949_999n }), tooLittle);
  await assert.rejects(permit({ value: 949_999n }), refused('permit2_amount_mismatch'));
  const least = { ...quote, amount: 1n };
  await assert.rejects(tolerant({ value: 999n }, least), tooLittle);
  await tolerant({ value: 1_000n }, least);
});

test('a payment is taken from its beginning until it could not be settled any more', async () => {
  const { read, permit } = setUp();
  await read({ validAfter: seconds });
  await assert.rejects(
    read({ validAfter: seconds + 1n }),
    refused('invalid_exact_evm_payload_authorization_valid_after'),
  );
  await assert.rejects(permit({ validAfter: seconds + 1n }), refused('permit2_not_yet_valid'));
  await read({ validBefore: seconds + 6n });
  await assert.rejects(
    read({ validBefore: seconds + 5n }),
    refused('invalid_exact_evm_payload_authorization_valid_before'),
  );
  await assert.rejects(permit({ deadline: seconds + 5n }), refused('permit2_deadline_expired'));
});

test('what was sent before is read again, however late and little it is by now', async () => {
  const { read } = setUp({ isKnown: async ({ payer }) => payer === examplePayment.payer });
  await read({ value: 5n, validBefore: seconds - 50n });
});

test('requirements that a payment says it accepted must be those of the offer', async () => {
  const { read } = setUp();
  const other = `0x${'12'.repeat(20)}`;
  for (const required of [{ amount: 999_999n }, { payTo: other }, { asset: other }])
    await assert.rejects(read({ version: 2, required }), refused('invalid_payment_requirements'));
  await read({ version: 2, required: { payTo: payTo.toLowerCase(), asset: network.asset.toLowerCase() } });
  await assert.rejects(read({ payTo: other }), refused('invalid_exact_evm_payload_recipient_mismatch'));
});

test('a permit is for one contract, token, payee and facilitator, and for offers that take permits', async () => {
  const { read, permit } = setUp();
  const other = `0x${'12'.repeat(20)}`;
  await assert.rejects(permit({ spender: other }), refused('invalid_permit2_spender'));
  await assert.rejects(permit({ token: other }), refused('permit2_token_mismatch'));
  await assert.rejects(permit({ facilitator: other }), refused('upto_facilitator_mismatch'));
  await assert.rejects(permit({}, { ...quote, upTo: new Map() }), refused('upto_facilitator_mismatch'));
  await assert.rejects(permit({ payTo: other }), refused('invalid_permit2_recipient_mismatch'));
  await assert.rejects(permit({}, quote), refused('invalid_scheme'));
  await assert.rejects(read({ version: 2 }, upTo), refused('invalid_scheme'));
});

test('a payment that its payer did not sign may be that of a contract, where the chain can be asked', async () => {
  const { read, chain, united } = setUp();
  const forged = () => read({ tamper: { value: '1000001' } });
  await assert.rejects(forged(), X402SignatureInvalid);
  chain.isSigned = true;
  await assert.rejects(forged(), X402SignatureInvalid, 'its chain cannot be asked');
  chain.isKnown = true;
  await forged();
  chain.isSigned = false;
  await assert.rejects(forged(), X402SignatureInvalid);
  assert.deepEqual(united, []);
});

test('what is no payment of a known version is told from one that cannot be read', async () => {
  const { rules } = setUp();
  await assert.rejects(readSignedPayment('???', quote, rules), X402Unreadable);
  const { paymentPayload } = signPayment({ payTo });
  const later = encodeHeader({ ...paymentPayload, x402Version: 3 });
  await assert.rejects(readSignedPayment(later, quote, rules), refused('invalid_x402_version'));
});
