/**
 * An action on a name as this browser remembers it, from the price that was agreed to its end. It is kept before every step
 * that cannot be taken back, so that whatever happens to the tab, it is known what to ask the service for.
 */
import type { ActionName, ActionStatus, CardPurchase } from '../../services/names.ts';
import type { WalletKind } from '../../wallet/wallet.ts';
import type { ActionBody } from './owner-proof.ts';

export type Stage =
  /** The price is agreed; nothing is signed. */
  | 'agreed'
  /** The request is signed and on its way; the service may have it. */
  | 'sent'
  /** The service has made everything ready and waits for the owner's signature. */
  | 'awaiting-owner'
  /** The owner's signature is on its way to the chain. */
  | 'owner-signed'
  /** The card provider's page is open, or the payment is being turned into the name. */
  | 'paying'
  | 'completed'
  /** Refused or failed; `problem` says why. */
  | 'failed'
  /** The owner did not sign in time. */
  | 'expired'
  /** The person declined; nothing was sent. */
  | 'declined'
  /** The tab was closed before anything reached the service. */
  | 'unsent';

export interface WalletName {
  readonly kind: WalletKind;
  readonly address: string;
  readonly label: string;
}

export interface NameAction {
  /** A UUID; the service knows an action that is paid with credits by it too. */
  readonly id: string;
  readonly way: 'credits' | 'card';
  readonly action: ActionName;
  readonly name: string;
  readonly body: ActionBody;
  readonly payer: WalletName;
  /** The Solana address that has, or gets, the name; undefined where that does not matter. */
  readonly owner?: string;
  /** Whether the owner signs a transaction on the way. */
  readonly asksOwner: boolean;
  readonly stage: Stage;
  /** Unix milliseconds. */
  readonly createdAt: number;
  readonly changedAt: number;
  /** What was agreed: winc, or cents of a dollar by card. */
  readonly price: string;
  /** As the service last told it, without the transaction. */
  readonly told?: Omit<ActionStatus, 'transaction'>;
  readonly card?: Pick<CardPurchase, 'nonce' | 'quoteExpirationDate'> & { readonly url: string };
  readonly messageId?: string;
  readonly antId?: string;
  readonly problem?: string;
}

const finalStages: ReadonlySet<Stage> = new Set(['completed', 'failed', 'expired', 'declined', 'unsent']);

export const isOpen = ({ stage }: NameAction): boolean => !finalStages.has(stage);

/** Whether credits or money may have moved, so that the service knows more than this browser. */
export const isWithService = ({ stage }: NameAction): boolean =>
  stage === 'sent' || stage === 'awaiting-owner' || stage === 'owner-signed' || stage === 'paying';

/** How long a request may be on its way before it counts as never sent. */
const arrivalMs = 90_000;

/** The action after the service told how it stands; undefined: it does not know of it. */
export function afterStatus(action: NameAction, told: ActionStatus | undefined, now: number): NameAction {
  if (told === undefined) {
    if (action.stage !== 'sent' || now - action.changedAt < arrivalMs) return action;
    return { ...action, stage: 'unsent', changedAt: now };
  }
  const { transaction: _, ...kept } = told;
  const next = {
    ...action,
    told: kept,
    ...(told.antId !== undefined && { antId: told.antId }),
    ...(told.messageId !== undefined && { messageId: told.messageId }),
  };
  const stage = stageOf(action, told);
  if (stage === action.stage) return next;
  const { problem: __, ...without } = next;
  return {
    ...without,
    stage,
    asksOwner: action.asksOwner || stage === 'awaiting-owner',
    changedAt: now,
    ...(told.failedReason !== undefined && { problem: told.failedReason }),
  };
}

function stageOf({ stage }: NameAction, { status, transaction }: ActionStatus): Stage {
  switch (status) {
    case 'completed':
    case 'failed':
    case 'expired':
      return status;
    case 'pending':
      return 'sent';
    case 'awaiting-signature':
      // Without a transaction there is nothing to sign any more: it is on the chain, or its time has run out.
      return transaction === undefined && stage === 'owner-signed' ? 'owner-signed' : 'awaiting-owner';
  }
}

/** The action after the service told how its card payment stands. */
export function afterPurchase(action: NameAction, told: CardPurchase, now: number): NameAction {
  const next = {
    ...action,
    ...(told.antId !== undefined && { antId: told.antId }),
    ...(told.messageId !== undefined && { messageId: told.messageId }),
  };
  if (told.status === 'PENDING') return next;
  if (told.status === 'CONFIRMED') return { ...next, stage: 'completed', changedAt: now };
  const problem = told.failedReason;
  return { ...next, stage: 'failed', changedAt: now, ...(problem !== undefined && { problem }) };
}

export interface ActionStep {
  readonly id: 'agreed' | 'signed' | 'owner' | 'paid' | 'chain';
  readonly state: 'done' | 'now' | 'waiting' | 'failed';
}

/** How far an action got, in the steps that it takes. */
export function stepsOf({ way, stage, asksOwner, told }: NameAction): ActionStep[] {
  const ids: ActionStep['id'][] =
    way === 'card'
      ? ['agreed', 'paid', 'chain']
      : ['agreed', 'signed', ...(asksOwner ? ['owner' as const] : []), 'chain'];
  if (stage === 'completed') return ids.map((id) => ({ id, state: 'done' }));
  const at = ids.indexOf(
    reached[stage] ?? (way === 'card' ? 'paid' : told === undefined ? 'signed' : 'chain'),
  );
  const isOver = finalStages.has(stage);
  return ids.map((id, index) => ({
    id,
    state: index < at ? 'done' : index > at ? 'waiting' : isOver ? 'failed' : 'now',
  }));
}

/** The step that an action is at; a failed one is at what the service last did. */
const reached: Readonly<Partial<Record<Stage, ActionStep['id']>>> = {
  agreed: 'signed',
  declined: 'signed',
  unsent: 'signed',
  sent: 'chain',
  'awaiting-owner': 'owner',
  expired: 'owner',
  'owner-signed': 'chain',
  paying: 'paid',
};
