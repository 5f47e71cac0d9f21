/** Identifiers as the card API writes them: a prefix that names the kind and random letters and digits. */
import { randomInt } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

export function randomLetters(length: number): string {
  let text = '';
  for (let i = 0; i < length; i += 1) text += alphabet[randomInt(alphabet.length)];
  return text;
}

export const newId = {
  charge: () => `ch_${randomLetters(24)}`,
  dispute: () => `du_${randomLetters(24)}`,
  event: () => `evt_${randomLetters(24)}`,
  paymentIntent: () => `pi_${randomLetters(24)}`,
  paymentMethod: () => `pm_${randomLetters(24)}`,
  refund: () => `re_${randomLetters(24)}`,
  request: () => `req_${randomLetters(14)}`,
  session: () => `cs_test_${randomLetters(58)}`,
};

/** The secret that lets a browser act on one object, and on nothing else. */
export const clientSecretFor = (id: string) => `${id}_secret_${randomLetters(25)}`;
