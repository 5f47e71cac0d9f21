/** `/verify`, `/settle`, `/supported`; `/mint` and `/balance/{address}` for the token; `/test/faults` for tests. */
import { type Static, Type } from 'typebox';
import {
  type FacilitatorRequest,
  type SettleAnswer,
  type VerifyAnswer,
  x402Reasons,
} from '../../formats/x402/facilitator.ts';
import type { X402Network } from '../../formats/x402/networks.ts';
import { HttpError } from '../../kernel/errors.ts';
import { originOf } from '../../kernel/http/app.ts';
import { greetPeople } from '../../kernel/http/page/greeting.ts';
import type { App } from '../../kernel/http/server.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import { settleCall } from './settle-call.ts';
import { TransferRefused } from './token-ledger.ts';
import { type Facilitator, permittedSettlement, type Verdict, verify } from './verification.ts';

const Text = Type.String({ maxLength: 2_000 });
const Requirement = Type.Object({
  scheme: Type.Union([Type.Literal('exact'), Type.Literal('upto')]),
  network: Text,
  asset: Text,
  payTo: Text,
  maxTimeoutSeconds: Type.Integer({ minimum: 0 }),
  extra: Type.Object({
    name: Text,
    version: Text,
    assetTransferMethod: Type.Optional(Text),
    facilitatorAddress: Type.Optional(Text),
  }),
});
const RequirementV1 = Type.Intersect([
  Requirement,
  Type.Object({ maxAmountRequired: Text, resource: Text, description: Text, mimeType: Text }),
]);
const RequirementV2 = Type.Intersect([Requirement, Type.Object({ amount: Text })]);
const RequestBody = Type.Object({
  x402Version: Type.Union([Type.Literal(1), Type.Literal(2)]),
  paymentPayload: Type.Object({ x402Version: Type.Union([Type.Literal(1), Type.Literal(2)]) }),
  paymentRequirements: Type.Union([RequirementV1, RequirementV2]),
});

const MintBody = Type.Object(
  {
    address: Text,
    /** Atomic units. */
    amount: Type.Union([Type.String({ pattern: '^[1-9][0-9]{0,24}$' }), Type.Integer({ minimum: 1 })]),
    network: Type.Optional(Text),
  },
  { additionalProperties: false },
);

const Count = Type.Integer({ minimum: 0, maximum: 1_000_000 });
const FaultsBody = Type.Object(
  {
    /** The next settlements are made, and their answers lost. */
    loseAnswers: Type.Optional(Count),
    /** The next settlements are refused. */
    refuse: Type.Optional(Count),
    /** The next calls are answered 500, and nothing is done. */
    fail: Type.Optional(Count),
  },
  { additionalProperties: false },
);
type Faults = Required<Static<typeof FaultsBody>>;

export function facilitatorRoutes(app: App, facilitator: Facilitator): void {
  greetPeople(app, (request) => ({
    title: 'Local x402 facilitator',
    about:
      'Verifies and settles x402 payments in local dollars, which cost nothing, and answers for their chain.',
    badge: 'Local network: play money',
    links: [
      { path: '/api-docs', what: 'every route, to read' },
      { path: '/supported', what: 'the networks whose payments it takes' },
    ],
    next: {
      text: 'Give a wallet ten dollars to pay with:',
      command: `curl ${originOf(request)}/mint -H 'content-type: application/json' -d '{"address":"0x…","amount":"10000000"}'`,
    },
  }));
  const { networks, ledger } = facilitator;
  let faults: Faults = { loseAnswers: 0, refuse: 0, fail: 0 };

  app.get('/supported', async () => ({
    kinds: networks.flatMap(({ name, caip2 }) => [
      ...(name === undefined ? [] : [{ x402Version: 1, scheme: 'exact', network: name }]),
      { x402Version: 2, scheme: 'exact', network: caip2 },
      { x402Version: 2, scheme: 'upto', network: caip2, extra: { facilitatorAddress: facilitator.address } },
    ]),
    extensions: [],
    signers: { 'eip155:*': [facilitator.address] },
  }));

  const take = (fault: keyof Faults): boolean => {
    if (faults[fault] === 0) return false;
    faults = { ...faults, [fault]: faults[fault] - 1 };
    return true;
  };

  app.post('/verify', { schema: { body: RequestBody } }, async ({ body }): Promise<VerifyAnswer> => {
    if (take('fail')) throw new HttpError(500, { error: 'failing on request' });
    const verdict = await verify(body satisfies FacilitatorRequest, facilitator);
    if (verdict.ok) return { isValid: true, payer: verdict.payment.authorization.from };
    return { isValid: false, invalidReason: verdict.reason, ...payerOf(verdict.payer) };
  });

  app.post('/settle', { schema: { body: RequestBody } }, async (request, reply): Promise<SettleAnswer> => {
    const { body } = request;
    if (take('fail')) throw new HttpError(500, { error: 'failing on request' });
    const refused = (errorReason: string, payer: string | undefined): SettleAnswer => ({
      success: false,
      errorReason,
      transaction: '',
      network: body.paymentRequirements.network,
      ...payerOf(payer),
    });
    const isUpTo = body.paymentRequirements.scheme === 'upto';
    const upTo = isUpTo ? permittedSettlement(body) : undefined;
    if (isUpTo && upTo === undefined) return refused(x402Reasons.permitExceeded, undefined);
    const verdict = await verify(upTo?.whole ?? (body satisfies FacilitatorRequest), facilitator);
    if (!verdict.ok) return refused(verdict.reason, verdict.payer);
    const { authorization } = verdict.payment;
    if (take('refuse')) return refused('unexpected_settle_error', authorization.from);
    const taken = upTo === undefined ? {} : { amount: upTo.amount.toString() };
    if (upTo?.amount === 0n) {
      const { network } = body.paymentRequirements;
      return { success: true, transaction: '', network, payer: authorization.from, ...taken };
    }
    try {
      const { transaction } = await carryOut(verdict, upTo?.amount);
      if (take('loseAnswers')) {
        reply.hijack();
        request.raw.socket.destroy();
      }
      return {
        success: true,
        transaction,
        network: body.paymentRequirements.network,
        payer: authorization.from,
        ...taken,
      };
    } catch (error) {
      if (!(error instanceof TransferRefused)) throw error;
      const [funds, nonce] = isUpTo
        ? [x402Reasons.permitFunds, x402Reasons.permitNonceUsed]
        : [x402Reasons.funds, x402Reasons.nonceUsed];
      return refused(error.kind === 'funds' ? funds : nonce, authorization.from);
    }
  });

  /** Of a permit so much is taken. */
  function carryOut({ payment, network }: Verdict & { ok: true }, amount: bigint | undefined) {
    const { authorization, permit } = payment;
    if (permit === undefined || amount === undefined) return ledger.transfer(network.caip2, authorization);
    const input = settleCall(authorization, permit, amount, payment.signature);
    return ledger.transferPermitted(network.caip2, { authorization, amount, input });
  }

  app.post('/mint', { schema: { body: MintBody } }, async ({ body }) => {
    const address = addressOf(body.address);
    const network = networkOf(body.network);
    const amount = BigInt(body.amount);
    const balance = await ledger.mint(network.caip2, address, amount).catch((error: unknown) => {
      if (error instanceof RangeError) throw new HttpError(400, 'Amount is too large');
      throw error;
    });
    return held(address, network, balance);
  });

  app.get<{ Params: { address: string }; Querystring: { network?: string } }>(
    '/balance/:address',
    async ({ params, query }) => {
      const address = addressOf(params.address);
      const network = networkOf(query.network);
      return held(address, network, await ledger.balance(network.caip2, address));
    },
  );

  app.get('/test/faults', async () => faults);
  app.post('/test/faults', { schema: { body: FaultsBody } }, async ({ body }) => {
    faults = { loseAnswers: 0, refuse: 0, fail: 0, ...body };
    return faults;
  });

  function networkOf(name: string | undefined): X402Network {
    const network =
      name === undefined
        ? networks[0]
        : networks.find((entry) => entry.name === name || entry.caip2 === name);
    if (network === undefined) throw new HttpError(400, `Unknown network`);
    return network;
  }
}

const held = (address: string, { name, caip2 }: X402Network, balance: bigint) => ({
  address,
  network: name ?? caip2,
  balance: balance.toString(),
});

function addressOf(text: string): string {
  const address = parseEthereumAddress(text);
  if (address === undefined) throw new HttpError(400, 'Invalid address');
  return address;
}

const payerOf = (payer: string | undefined) => (payer === undefined ? {} : { payer });
