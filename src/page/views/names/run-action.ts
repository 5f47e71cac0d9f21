/**
 * Takes an action from the agreed price to its end: the payer signs the request, the owner proves to be one, the service
 * does it or asks the owner for a signature. Every step is kept before it is taken.
 */
import { ServiceError } from '../../services/console.ts';
import { decodeBase64, encodeBase64, encodeBase64url } from '../../services/encoding.ts';
import { type ActionStatus, actionPath, type CardPurchase, isOnRecord } from '../../services/names.ts';
import { texts } from '../../texts.ts';
import { type Wallet, WalletRefused } from '../../wallet/wallet.ts';
import { afterPurchase, afterStatus, type NameAction } from './action.ts';
import { ownerProofText } from './owner-proof.ts';

const { progress: words } = texts.names;

/** What is asked of the service; `services/names.ts` is one. */
export interface NameService {
  serviceAddress(): Promise<string | undefined>;
  createAction(
    action: NameAction['action'],
    body: string,
    headers: Readonly<Record<string, string>>,
  ): Promise<ActionStatus>;
  actionStatus(nonce: string): Promise<ActionStatus | undefined>;
  signAction(nonce: string, transaction: string): Promise<ActionStatus>;
  freshTransaction(nonce: string, serviceFirst: boolean): Promise<ActionStatus>;
  cardPurchase(nonce: string): Promise<CardPurchase>;
}

export interface ActionSteps {
  /** An agreed action: signed and sent. */
  send(action: NameAction, payer: Wallet, owner: Wallet | undefined): Promise<NameAction>;
  /** What the owner of an awaiting action has to sign now, in base64; undefined where there is nothing any more. */
  transactionOf(action: NameAction): Promise<string | undefined>;
  /** The owner's signature, and what comes of it. */
  sign(action: NameAction, transaction: string, owner: Wallet): Promise<NameAction>;
  /** Asks the service how it stands. */
  follow(action: NameAction): Promise<NameAction>;
}

interface StepsDeps {
  readonly service: NameService;
  /** Answers when it would be found after a crash. */
  readonly keep: (action: NameAction) => Promise<void>;
  readonly now?: () => number;
}

export function createActionSteps({ service, keep, now = Date.now }: StepsDeps): ActionSteps {
  async function moved(action: NameAction, change: Partial<NameAction>): Promise<NameAction> {
    const { problem: _, ...rest } = action;
    const next: NameAction = { ...rest, ...change, changedAt: now() };
    await keep(next);
    return next;
  }

  async function told(action: NameAction, status: ActionStatus | undefined): Promise<NameAction> {
    const next = afterStatus(action, status, now());
    if (next !== action) await keep(next);
    return next;
  }

  async function follow(action: NameAction): Promise<NameAction> {
    if (action.way === 'credits') return told(action, await service.actionStatus(action.id));
    if (action.card === undefined) return action;
    const next = afterPurchase(action, await service.cardPurchase(action.card.nonce), now());
    await keep(next);
    return next;
  }

  /** After a call that failed, the service alone knows how the action stands. */
  async function afterFailure(action: NameAction, error: unknown, refused: () => Promise<NameAction>) {
    if (!(error instanceof ServiceError)) throw error;
    const mayHaveActed = error.status === 0 || error.status >= 500 || error.status === 409;
    if (mayHaveActed) return follow(action).catch(() => action);
    return refused();
  }

  return {
    async send(action, payer, owner) {
      const { id, action: what, body } = action;
      const text = JSON.stringify(body);
      let headers: Readonly<Record<string, string>>;
      try {
        const address = await service.serviceAddress();
        const boundTo = address && { service: address, method: 'POST', path: actionPath(what), body: text };
        headers = {
          ...(isOnRecord(what) && (await ownerProof(action, owner, address))),
          ...(await payer.signRequest({ nonce: id, ...(boundTo && { boundTo }) })),
        };
      } catch (error) {
        if (error instanceof WalletRefused) return moved(action, { stage: 'declined' });
        return moved(action, { stage: 'failed', problem: messageOf(error) });
      }
      const sent = await moved(action, { stage: 'sent' });
      try {
        return await told(sent, await service.createAction(what, text, headers));
      } catch (error) {
        return afterFailure(sent, error, () => moved(sent, { stage: 'failed', problem: messageOf(error) }));
      }
    },

    async transactionOf(action) {
      const status = await service.actionStatus(action.id);
      await told(action, status);
      const isOver = status?.status === 'awaiting-signature' && status.transaction === undefined;
      if (!isOver || status.signOrder === undefined) return status?.transaction;
      const fresh = await service.freshTransaction(action.id, false);
      await told(action, fresh);
      return fresh.transaction;
    },

    async sign(action, transaction, owner) {
      let signed: Uint8Array;
      try {
        const bytes = decodeBase64(transaction);
        if (bytes === undefined || owner.signSolanaTransaction === undefined) {
          return moved(action, { problem: 'This wallet cannot sign Solana transactions.' });
        }
        signed = await owner.signSolanaTransaction(bytes);
      } catch (error) {
        // It can still be signed, until its time runs out.
        return moved(action, { problem: messageOf(error) });
      }
      const sent = await moved(action, { stage: 'owner-signed' });
      try {
        const after = await told(sent, await service.signAction(action.id, encodeBase64(signed)));
        return after.stage === 'awaiting-owner' ? moved(after, { problem: words.signAgain }) : after;
      } catch (error) {
        return afterFailure(sent, error, async () => {
          if (isChanged(error) && action.told?.signOrder !== undefined) {
            const given = await told(sent, await service.freshTransaction(action.id, true));
            return moved(given, { problem: words.walletChanged });
          }
          // A refusal that ended the action is told by the action itself.
          const after = await follow({ ...sent, stage: 'awaiting-owner' }).catch(() => sent);
          return after.stage === 'awaiting-owner' ? moved(after, { problem: messageOf(error) }) : after;
        });
      }
    },

    follow,
  };
}

/** What the service says of a transaction that a wallet has added something to. */
const isChanged = (error: unknown): boolean => /not the one that was handed out/.test(messageOf(error));

async function ownerProof(action: NameAction, owner: Wallet | undefined, service: string | undefined) {
  if (owner === undefined || owner.kind !== 'solana' || !isOnRecord(action.action)) {
    throw new Error('Only the Solana wallet that owns the name can do this.');
  }
  const nonce = crypto.randomUUID();
  const signature = await owner.signText(ownerProofText(action.action, action.body, nonce, service));
  return {
    'x-owner-public-key': encodeBase64url(await owner.publicKey()),
    'x-owner-nonce': nonce,
    'x-owner-signature': encodeBase64url(signature),
    'x-owner-signature-type': '4',
    ...(service !== undefined && { 'x-owner-service-address': service }),
  };
}

const messageOf = (error: unknown): string =>
  error instanceof Error ? error.message : String(error).slice(0, 500);
