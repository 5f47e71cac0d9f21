/** What is to be done, before its price is agreed. */
import { signal } from '@preact/signals';
import type { ActionName } from '../../services/names.ts';
import type { NameAction } from './action.ts';
import type { ActionBody } from './owner-proof.ts';

export interface Proposal {
  readonly action: ActionName;
  readonly name: string;
  /** What is asked for; `ownerAddress` is filled in where a wallet of its own is the owner. */
  readonly fields: ActionBody;
  /** `any`: a Solana wallet, which becomes the owner. An address: the wallet that owns it now. */
  readonly owner: 'any' | 'nobody' | { readonly address: string };
  readonly way?: NameAction['way'];
  /** It cannot be taken back: the name is typed first. */
  readonly isFinal?: boolean;
}

export const proposed = signal<Proposal | undefined>(undefined);

/** Shows what is to be done, and does it when it is agreed to. */
export function propose(proposal: Proposal): void {
  proposed.value = proposal;
}

/** The same once more, for whoever agrees to it now. */
export function proposeAgain({ action, name, body, owner, way }: NameAction): void {
  const { ownerAddress, paidBy: _, ...fields } = body;
  const base = { action, name, way, isFinal: action === 'transfer' };
  if (action === 'buy-name') propose({ ...base, fields, owner: 'any' });
  else if (owner === undefined)
    propose({
      ...base,
      fields: ownerAddress === undefined ? fields : { ...fields, ownerAddress },
      owner: 'nobody',
    });
  else propose({ ...base, fields, owner: { address: owner } });
}
