/** The twelve actions (interface §4.2), what each needs, and who must prove what. */
import type { SolanaAddress } from '../../formats/solana/address.ts';

export const purchaseActions = [
  'buy-name',
  'extend-lease',
  'upgrade-name',
  'increase-undername-limit',
] as const;
export const recordActions = [
  'set-record',
  'remove-record',
  'set-record-metadata',
  'remove-record-metadata',
  'transfer-record',
] as const;
export const authorityActions = ['add-controller', 'remove-controller', 'transfer'] as const;

export type PurchaseAction = (typeof purchaseActions)[number];
export type RecordAction = (typeof recordActions)[number];
export type AuthorityAction = (typeof authorityActions)[number];
export type ActionName = PurchaseAction | RecordAction | AuthorityAction;

export const actionNames: readonly ActionName[] = [...purchaseActions, ...recordActions, ...authorityActions];

export function toActionName(text: string): ActionName | undefined {
  return actionNames.find((name) => name === text);
}

export function isPurchaseAction(action: ActionName): action is PurchaseAction {
  return purchaseActions.some((name) => name === action);
}

/** The opening state of a bought name's token (interface §4.2 `antState`); empty texts count as unset. */
export interface AntOpening {
  readonly transactionId?: string;
  readonly targetProtocol?: 0 | 1;
  readonly ticker?: string;
  readonly logo?: string;
  readonly description?: string;
  readonly keywords?: readonly string[];
}

/** Undefined leaves a field as it is, null clears it, a value sets it. */
export interface MetadataChange {
  readonly displayName?: string | null;
  readonly recordLogo?: string | null;
  readonly recordDescription?: string | null;
  readonly recordKeywords?: readonly string[] | null;
}

/** What an action asks for, checked. */
export type ActionRequest =
  | {
      readonly action: 'buy-name';
      readonly name: string;
      readonly owner: SolanaAddress;
      readonly type: 'lease' | 'permabuy';
      readonly years: number;
      readonly opening: AntOpening;
    }
  | { readonly action: 'extend-lease'; readonly name: string; readonly years: number }
  | { readonly action: 'upgrade-name'; readonly name: string }
  | { readonly action: 'increase-undername-limit'; readonly name: string; readonly quantity: number }
  | (OnRecord & {
      readonly action: 'set-record';
      readonly transactionId: string;
      readonly ttlSeconds: number;
    })
  | (OnRecord & { readonly action: 'remove-record' | 'remove-record-metadata' })
  | (OnRecord & { readonly action: 'set-record-metadata'; readonly change: MetadataChange })
  | (OnRecord & { readonly action: 'transfer-record'; readonly target: SolanaAddress })
  | (OnToken & { readonly action: AuthorityAction; readonly target: SolanaAddress });

interface OnToken {
  readonly antId: SolanaAddress;
  readonly owner: SolanaAddress;
}

interface OnRecord extends OnToken {
  /** As it was sent: the owner's proof binds these very characters. */
  readonly undername: string;
}

export type RecordRequest = Extract<ActionRequest, { readonly action: RecordAction }>;
export type TokenRequest = Extract<ActionRequest, { readonly antId: SolanaAddress }>;
export type BuyRequest = Extract<ActionRequest, { readonly action: 'buy-name' }>;

export function isRecordRequest(request: ActionRequest): request is RecordRequest {
  return recordActions.some((name) => name === request.action);
}
