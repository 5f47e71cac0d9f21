/**
 * The twelve actions (interface §4.2) and what each asks for, as schemas: a request is stored as JSON, and is read again
 * through them.
 */
import { type Static, Type } from 'typebox';
import { isSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';

const purchaseActions = ['buy-name', 'extend-lease', 'upgrade-name', 'increase-undername-limit'] as const;
const recordActions = [
  'set-record',
  'remove-record',
  'set-record-metadata',
  'remove-record-metadata',
  'transfer-record',
] as const;
const authorityActions = ['add-controller', 'remove-controller', 'transfer'] as const;

export type PurchaseAction = (typeof purchaseActions)[number];
export type RecordAction = (typeof recordActions)[number];
export type AuthorityAction = (typeof authorityActions)[number];
export type ActionName = PurchaseAction | RecordAction | AuthorityAction;

const actionNames: readonly ActionName[] = [...purchaseActions, ...recordActions, ...authorityActions];

export function toActionName(text: string): ActionName | undefined {
  return actionNames.find((name) => name === text);
}

export function isPurchaseAction(action: ActionName): action is PurchaseAction {
  return purchaseActions.some((name) => name === action);
}

const { Literal, Object: Shape, Optional, Union } = Type;
const text = Type.String();
const count = Type.Integer();
export const solanaAddress = Type.Refine(Type.Unsafe<SolanaAddress>(text), isSolanaAddress);
export const nameType = Union([Literal('lease'), Literal('permabuy')]);
const textOrNull = Optional(Union([text, Type.Null()]));

/** The opening state of a bought name's token (interface §4.2 `antState`); empty texts count as unset. */
const antOpening = Shape({
  transactionId: Optional(text),
  targetProtocol: Optional(Union([Literal(0), Literal(1)])),
  ticker: Optional(text),
  logo: Optional(text),
  description: Optional(text),
  keywords: Optional(Type.Array(text)),
});

/** Undefined leaves a field as it is, null clears it, a value sets it. */
const metadataChange = Shape({
  displayName: textOrNull,
  recordLogo: textOrNull,
  recordDescription: textOrNull,
  recordKeywords: Optional(Union([Type.Array(text), Type.Null()])),
});

const buy = { action: Literal('buy-name'), name: text, type: nameType, years: count };
const paidFor = [
  Shape({ action: Literal('extend-lease'), name: text, years: count }),
  Shape({ action: Literal('upgrade-name'), name: text }),
  Shape({ action: Literal('increase-undername-limit'), name: text, quantity: count }),
] as const;
const onToken = { antId: solanaAddress, owner: solanaAddress };
/** `undername` is as it was sent: the owner's proof binds these very characters. */
const onRecord = { ...onToken, undername: text };

/** What the registry is paid for. */
export const purchase = Union([Shape(buy), ...paidFor]);

/** What an action asks for, checked. */
export const actionRequest = Union([
  Shape({ ...buy, owner: solanaAddress, opening: antOpening }),
  ...paidFor,
  Shape({ ...onRecord, action: Literal('set-record'), transactionId: text, ttlSeconds: count }),
  Shape({ ...onRecord, action: Union([Literal('remove-record'), Literal('remove-record-metadata')]) }),
  Shape({ ...onRecord, action: Literal('set-record-metadata'), change: metadataChange }),
  Shape({ ...onRecord, action: Literal('transfer-record'), target: solanaAddress }),
  Shape({
    ...onToken,
    action: Union([Literal('add-controller'), Literal('remove-controller'), Literal('transfer')]),
    target: solanaAddress,
  }),
]);

export type AntOpening = Static<typeof antOpening>;
export type MetadataChange = Static<typeof metadataChange>;
export type Purchase = Static<typeof purchase>;
export type ActionRequest = Static<typeof actionRequest>;
export type RecordRequest = Extract<ActionRequest, { readonly undername: string }>;
export type TokenRequest = Extract<ActionRequest, { readonly antId: SolanaAddress }>;
export type BuyRequest = Extract<ActionRequest, { readonly action: 'buy-name' }>;

export function isRecordRequest(request: ActionRequest): request is RecordRequest {
  return 'undername' in request;
}
