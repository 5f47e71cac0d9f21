/** The parameters of the price and quote routes, in the order they are judged. */
import { asciiLowerCase } from '../../formats/ascii-case.ts';
import { isSolanaAddress, type SolanaAddress } from '../../formats/solana/address.ts';
import { maxLeaseYears } from '../../formats/solana/name-prices.ts';
import { badRequest, missingType } from '../errors.ts';
import type { Purchase, PurchaseAction } from './action.ts';
import { type Fields, nameOf, optionalInteger, optionalNameType, requiredInteger } from './fields.ts';

export interface AskedPurchase {
  readonly purchase: Purchase;
  /** As it is stored: `Buy-Name`, `Buy-Record` … */
  readonly intent: string;
}

export function readPurchase(intentText: string, nameText: string, query: Fields): AskedPurchase {
  const name = nameOf(nameText);
  const known = readIntent(intentText);
  if (known === undefined) throw badRequest(`Invalid intent: ${intentText.slice(0, 40)}`);
  const years = optionalInteger(query, 'years', 1, maxLeaseYears);
  optionalInteger(query, 'increaseQty', 1, 65_535);
  const type = optionalNameType(query);
  const { action, intent } = known;
  switch (action) {
    case 'buy-name': {
      if (type === undefined) throw missingType();
      if (type === 'permabuy') return { intent, purchase: { action, name, type, years: 0 } };
      if (years === undefined) throw badRequest('Missing required parameter: years');
      return { intent, purchase: { action, name, type, years } };
    }
    case 'extend-lease':
      if (years === undefined) throw badRequest('Missing required parameter: years');
      return { intent, purchase: { action, name, years } };
    case 'upgrade-name':
      return { intent, purchase: { action, name } };
    case 'increase-undername-limit':
      return {
        intent,
        purchase: { action, name, quantity: requiredInteger(query, 'increaseQty', 1, 65_535) },
      };
  }
}

/** The buyer's own token; undefined where one is to be made. */
export function readProcessId(value: string | undefined): SolanaAddress | undefined {
  if (value === undefined || value === '') return undefined;
  if (!isSolanaAddress(value)) throw badRequest('processId must be the Solana address of an ANT');
  return value;
}

/** `buy-record` of the contract and `buy-name` of the clients are the same intent. */
const intents: Readonly<Record<string, PurchaseAction>> = {
  'buy-record': 'buy-name',
  'buy-name': 'buy-name',
  'extend-lease': 'extend-lease',
  'upgrade-name': 'upgrade-name',
  'increase-undername-limit': 'increase-undername-limit',
};

/** In any letter case. */
function readIntent(text: string): { action: PurchaseAction; intent: string } | undefined {
  const lower = asciiLowerCase(text);
  const action = Object.hasOwn(intents, lower) ? intents[lower] : undefined;
  return action && { action, intent: capitalIntent(lower) };
}

/** The stored form: `Buy-Name`, `Extend-Lease` … */
export function capitalIntent(text: string): string {
  return text.replace(/(^|-)([a-z])/g, (_, dash: string, letter: string) => dash + letter.toUpperCase());
}
