/** The card form as it is sent: what was typed, what is wrong with it, and the card it names. */
import { cardByNumber, passesLuhn, type TestCard } from '../test-cards.ts';

export type FieldName = 'email' | 'number' | 'expiry' | 'cvc' | 'name';
export type Typed = Readonly<Record<FieldName, string>>;
export type Wrong = Readonly<Partial<Record<FieldName, string>>>;

export const emptyForm: Typed = { email: '', number: '', expiry: '', cvc: '', name: '' };

const longestField = 320;

export function readTyped(body: string): Typed {
  const sent = new URLSearchParams(body);
  const field = (name: FieldName) => (sent.get(name) ?? '').trim().slice(0, longestField);
  return {
    email: field('email'),
    number: field('number'),
    expiry: field('expiry'),
    cvc: field('cvc'),
    name: field('name'),
  };
}

export type Checked = { readonly card: TestCard } | { readonly wrong: Wrong };

/** Every fault at once, each with what to do about it. */
export function checkTyped(typed: Typed, now: Date): Checked {
  const wrong: Partial<Record<FieldName, string>> = {};
  const number = typed.number.replace(/[ -]/g, '');
  const card = cardByNumber(number);
  if (!/^[0-9]{13,19}$/.test(number)) wrong.number = 'Enter the number on the front of the card.';
  else if (!passesLuhn(number)) wrong.number = 'Your card number is invalid. Check it for a typing error.';
  else if (card === undefined)
    wrong.number = 'No real card is charged here. Use one of the test cards below.';
  const expiry = expiryFault(typed.expiry, now);
  if (expiry !== undefined) wrong.expiry = expiry;
  if (!/^[0-9]{3,4}$/.test(typed.cvc)) wrong.cvc = 'Enter the 3 or 4 digits of the security code.';
  if (typed.name === '') wrong.name = 'Enter the name on the card.';
  if (typed.email !== '' && !/^[^\s@]+@[^\s@]+$/.test(typed.email))
    wrong.email = 'Enter an email like name@example.com.';
  return card !== undefined && Object.keys(wrong).length === 0 ? { card } : { wrong };
}

function expiryFault(text: string, now: Date): string | undefined {
  const match = /^(0?[1-9]|1[0-2])\s*\/?\s*(?:20)?([0-9]{2})$/.exec(text);
  if (match === null) return 'Enter the date as month / year, like 04 / 31.';
  const months = (2000 + Number(match[2])) * 12 + Number(match[1]);
  return months < now.getUTCFullYear() * 12 + now.getUTCMonth() + 1 ? 'Your card has expired.' : undefined;
}
