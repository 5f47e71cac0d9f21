/** What a purchase is called: `buy-record` of the contract and `buy-name` of the clients are the same intent. */

import type { PurchaseAction } from './action.ts';
import { lowerCaseOf } from './fields.ts';

const intents: Readonly<Record<string, PurchaseAction>> = {
  'buy-record': 'buy-name',
  'buy-name': 'buy-name',
  'extend-lease': 'extend-lease',
  'upgrade-name': 'upgrade-name',
  'increase-undername-limit': 'increase-undername-limit',
};

/** In any letter case. */
export function readIntent(text: string): { action: PurchaseAction; intent: string } | undefined {
  const lower = lowerCaseOf(text) ?? '';
  const action = Object.hasOwn(intents, lower) ? intents[lower] : undefined;
  return action && { action, intent: capitalIntent(lower) };
}

/** The stored form: `Buy-Name`, `Extend-Lease` … */
export function capitalIntent(text: string): string {
  return text.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}
