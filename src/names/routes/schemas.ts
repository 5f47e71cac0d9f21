/** The shapes of interface §2 that the name routes answer, for the OpenAPI document. */
import { Type } from 'typebox';

const amount = Type.String({ pattern: '^[0-9]+$' });
const text = Type.String();
const optional = Type.Optional;

export const errorText = Type.String({ title: 'Error' });
export const adjustment = Type.Object(
  {
    name: text,
    description: text,
    operator: text,
    operatorMagnitude: text,
    adjustmentAmount: text,
    promoCode: optional(text),
  },
  { title: 'Adjustment' },
);

const fiatEstimate = Type.Object({
  paymentAmount: Type.Number(),
  paymentAmountWithAntSpawn: optional(Type.Number()),
  antSpawnSurchargeAmount: optional(Type.Number()),
  quotedPaymentAmount: Type.Number(),
  excessWincAmount: amount,
  adjustments: Type.Array(adjustment),
  fees: Type.Array(adjustment),
});

export const priceResult = Type.Object(
  {
    mTOKEN: amount,
    mARIO: amount,
    winc: amount,
    antSpawnSurchargeWinc: optional(amount),
    wincTotalWithAntSpawn: optional(amount),
    fiatEstimate: optional(fiatEstimate),
  },
  { title: 'ArNS price result' },
);

export const envelope = Type.Object(
  {
    nonce: text,
    action: text,
    status: text,
    wincQty: amount,
    name: optional(text),
    ownerAddress: optional(text),
    antId: optional(text),
    messageId: optional(text),
    transaction: optional(Type.String({ description: 'base64 wire transaction for the owner to sign' })),
    signOrder: optional(
      Type.String({
        description:
          'owner-first: no slot of the transaction is filled, and it is made anew when its time is over',
      }),
    ),
    feePayer: optional(text),
    lastValidBlockHeight: optional(text),
    expiresAt: optional(text),
    failedDate: optional(text),
    failedReason: optional(text),
    keptWincQty: optional(text),
    alreadyCompleted: optional(Type.Boolean()),
  },
  { title: 'ArNS action envelope' },
);

export const ownedName = Type.Object(
  {
    name: text,
    antId: text,
    intent: text,
    type: optional(text),
    years: optional(Type.Integer()),
    purchaseDate: text,
    custodial: Type.Boolean(),
    selfCustody: Type.Boolean(),
  },
  { title: 'ArNS owned-name receipt' },
);

const lease = {
  state: Type.String({ description: 'free, registered, grace, lapsed, reserved or returned' }),
  type: optional(text),
  startedAt: optional(text),
  endsAt: optional(text),
  graceEndsAt: optional(text),
  extendableYears: optional(Type.Integer()),
  undernameLimit: optional(Type.Integer()),
  auctionEndsAt: optional(text),
};

export const nameNow = Type.Object(
  {
    name: text,
    ...lease,
    service: optional(Type.String({ description: "the service's own Solana address" })),
    antId: optional(text),
    token: optional(
      Type.Object({
        owner: text,
        program: Type.String({ description: 'the program that governs it' }),
        controllers: Type.Array(text),
        name: text,
        ticker: text,
        logo: text,
        description: text,
        keywords: Type.Array(text),
      }),
    ),
    records: optional(
      Type.Array(
        Type.Object({
          undername: text,
          target: text,
          protocol: text,
          ttlSeconds: Type.Integer(),
          index: Type.Integer({ description: 'place by priority, then name; @ is 0' }),
          owner: optional(text),
          displayName: optional(text),
          logo: optional(text),
          description: optional(text),
          keywords: optional(Type.Array(text)),
        }),
      ),
    ),
  },
  { title: 'ArNS name as it stands' },
);

const gatewayView = Type.Object({
  gateway: text,
  state: Type.String({ description: 'current, stale or silent' }),
  target: Type.Union([text, Type.Null()]),
  ttlSeconds: optional(Type.Integer()),
  resolvedAt: optional(Type.String({ description: 'when the gateway asked for the name' })),
  secondsLeft: optional(Type.Integer({ description: 'until it asks again' })),
  ageSeconds: optional(Type.Integer({ description: 'of a cache in front of it' })),
  problem: optional(text),
});

export const nameWhere = Type.Object(
  {
    name: text,
    target: Type.Union([text, Type.Null()], { description: 'what the chain says' }),
    ttlSeconds: optional(Type.Integer()),
    antId: optional(text),
    readAt: text,
    gateways: Type.Array(gatewayView),
    stale: Type.Array(Type.String({ description: 'a gateway that shows something else' })),
  },
  { title: 'ArNS name at gateways' },
);

export const nameEvents = Type.Object(
  {
    events: Type.Array(
      Type.Object({
        signature: text,
        slot: Type.Integer(),
        at: optional(text),
        failed: Type.Boolean(),
        steps: Type.Array(Type.Object({ instruction: text, values: Type.Record(text, text) })),
      }),
    ),
  },
  { title: 'ArNS name history' },
);

export const ownedNames = Type.Object(
  { names: Type.Array(Type.Object({ name: text, antId: text, ...lease })) },
  { title: 'ArNS names owned' },
);

const purchaseFields = {
  nonce: text,
  name: text,
  intent: text,
  mTOKENQty: amount,
  mARIOQty: amount,
  wincQty: amount,
  owner: text,
  processId: optional(text),
  increaseQty: optional(Type.Integer()),
  type: optional(text),
  years: optional(Type.Integer()),
  usdArRate: Type.Number(),
  usdTokenRate: Type.Number(),
  usdArioRate: Type.Number(),
  paymentAmount: Type.Number(),
  quotedPaymentAmount: Type.Number(),
  currencyType: text,
  paymentProvider: text,
  quoteCreationDate: text,
  quoteExpirationDate: text,
  excessWincAmount: amount,
};

export const purchaseStatus = Type.Object(
  {
    ...purchaseFields,
    status: text,
    createdDate: text,
    paidBy: Type.Array(text),
    messageId: optional(text),
    antId: optional(text),
    failedDate: optional(text),
    failedReason: optional(text),
  },
  { title: 'ArNS purchase status' },
);

export const purchaseQuote = Type.Object(
  { ...purchaseFields, adjustments: Type.Array(adjustment) },
  { title: 'ArNS purchase quote' },
);

export const paymentSession = Type.Object({
  id: text,
  client_secret: Type.Union([text, Type.Null()]),
  url: Type.Union([text, Type.Null()]),
});

export const payerHeaders = Type.Object({
  'x-signature': optional(text),
  'x-nonce': optional(text),
  'x-public-key': optional(text),
  'x-signature-type': optional(text),
});

export const ownerHeaders = Type.Object({
  ...payerHeaders.properties,
  'x-service-address': optional(Type.String({ description: 'the service that a bound signature is for' })),
  'content-digest': optional(
    Type.String({ description: 'RFC 9530, sha-256: what a bound signature covers of the body' }),
  ),
  'x-owner-signature': optional(text),
  'x-owner-nonce': optional(text),
  'x-owner-public-key': optional(text),
  'x-owner-signature-type': optional(text),
  'x-owner-service-address': optional(text),
});
