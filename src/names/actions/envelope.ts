/** The action envelope (interface §2), as it is answered by create, sign and status. Absent members are left out. */
import type { Action } from './store.ts';

type PublicStatus = 'completed' | 'awaiting-signature' | 'pending' | 'expired' | 'failed';

/** `pending` is said only of what needs no signature and is not finished: nobody should try to sign it. */
function publicStatus(action: Action): PublicStatus {
  switch (action.status) {
    case 'reserved':
    case 'sending':
      return 'pending';
    case 'awaiting':
    case 'signed':
    case 'spawned':
      return 'awaiting-signature';
    default:
      return action.status;
  }
}

/**
 * `signable`: whether the transaction may still be signed, so that it is worth handing out: base64 of the wire with one
 * empty slot, the owner's. `keptWincQty`: what was spent on the chain for a failed action and is not returned.
 */
export function envelopeOf(action: Action, feePayer: string, signable: boolean) {
  const { owned, request } = action;
  const open = owned !== undefined && publicStatus(action) === 'awaiting-signature';
  return {
    nonce: action.nonce,
    action: request.action,
    status: publicStatus(action),
    wincQty: action.winc.toString(),
    ...('name' in request && { name: request.name }),
    ...('owner' in request && { ownerAddress: request.owner }),
    ...(action.antId !== undefined && { antId: action.antId }),
    ...(action.messageId !== undefined && { messageId: action.messageId }),
    ...(open &&
      signable &&
      action.status === 'awaiting' && {
        transaction: owned.wire.toString('base64'),
        feePayer,
        lastValidBlockHeight: String(owned.lastValidBlockHeight),
      }),
    ...(open && { expiresAt: new Date(action.expiresAt).toISOString() }),
    ...(action.failedAt !== undefined && { failedDate: new Date(action.failedAt).toISOString() }),
    ...(action.failedReason !== undefined && { failedReason: action.failedReason }),
    ...(action.failedAt !== undefined && action.keptWinc > 0n && { keptWincQty: action.keptWinc.toString() }),
  };
}
