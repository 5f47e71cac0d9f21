/** The shapes of interface §2 that several routes answer, for the OpenAPI document. */
import { Type } from 'typebox';

export const winc = Type.String({ pattern: '^[0-9]+$', description: 'winc, a decimal integer' });

export const adjustment = Type.Object(
  {
    name: Type.String(),
    description: Type.String(),
    operator: Type.Union([Type.Literal('multiply'), Type.Literal('add')]),
    operatorMagnitude: Type.String(),
    adjustmentAmount: Type.String(),
    promoCode: Type.Optional(Type.String()),
  },
  { title: 'Adjustment' },
);

export const adjustments = Type.Array(adjustment);

export const approval = Type.Object(
  {
    approvalDataItemId: Type.String(),
    approvedAddress: Type.String(),
    payingAddress: Type.String(),
    approvedWincAmount: winc,
    usedWincAmount: winc,
    creationDate: Type.String(),
    expirationDate: Type.Optional(Type.String()),
  },
  { title: 'Approval' },
);

export const balance = Type.Object(
  {
    winc,
    controlledWinc: winc,
    effectiveBalance: winc,
    givenApprovals: Type.Array(approval),
    receivedApprovals: Type.Array(approval),
    balance: winc,
    owedWinc: Type.Optional(winc),
  },
  { title: 'Balance' },
);

/** Error bodies are JSON strings with the contract's words (interface §7). */
export const errorText = Type.String({ title: 'Error' });

/** Headers that say which wallet asks. */
export const signatureHeaders = Type.Object({
  'x-signature': Type.Optional(Type.String()),
  'x-nonce': Type.Optional(Type.String()),
  'x-public-key': Type.Optional(Type.String()),
  'x-signature-type': Type.Optional(Type.String()),
  'x-service-address': Type.Optional(
    Type.String({ description: 'the service that a bound signature is for' }),
  ),
});
