/** The JSON of payment rows, read through its schema: what the database holds is trusted no further than its shape. */
import { type Static, type TSchema, Type } from 'typebox';
import { Value } from 'typebox/value';
import type { FacilitatorRequest, SettleAnswer } from '../../formats/x402/facilitator.ts';

const Version = Type.Union([Type.Literal(1), Type.Literal(2)]);
const Payload = Type.Intersect([
  Type.Record(Type.String(), Type.Unknown()),
  Type.Object({ x402Version: Version }),
]);
const requirement = {
  scheme: Type.Literal('exact'),
  network: Type.String(),
  payTo: Type.String(),
  asset: Type.String(),
  maxTimeoutSeconds: Type.Number(),
  extra: Type.Object({ name: Type.String(), version: Type.String() }),
};
const RequirementV1 = Type.Object({
  ...requirement,
  maxAmountRequired: Type.String(),
  resource: Type.String(),
  description: Type.String(),
  mimeType: Type.String(),
});
const RequirementV2 = Type.Object({ ...requirement, amount: Type.String() });
const Request = Type.Object({
  x402Version: Version,
  paymentPayload: Payload,
  paymentRequirements: Type.Union([RequirementV1, RequirementV2]),
});
const Settlement = Type.Object({
  success: Type.Boolean(),
  errorReason: Type.Optional(Type.String()),
  transaction: Type.String(),
  network: Type.String(),
  payer: Type.Optional(Type.String()),
});

export const readStoredRequest = (text: string, payment: string): FacilitatorRequest =>
  read(Request, text, `the request of x402 payment ${payment}`);

export const readStoredSettlement = (text: string, payment: string): SettleAnswer =>
  read(Settlement, text, `the settlement of x402 payment ${payment}`);

function read<Schema extends TSchema>(schema: Schema, text: string, what: string): Static<Schema> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text);
  } catch (cause) {
    throw new Error(`${what} is not JSON`, { cause });
  }
  if (!Value.Check(schema, parsed)) throw new Error(`${what} has another shape than was stored`);
  return parsed;
}
