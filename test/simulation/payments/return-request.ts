/** Somebody wants back what is left of a payment: asks what can be returned, and for one of it, until there is an answer. */
import { memberOf, textOf, tryParseJson } from '../../../src/formats/json.ts';
import { contentDigest, signedHeaders } from '../../support/request-signers.ts';
import type { Life } from '../process.ts';
import type { Customer } from './customer.ts';
import { serviceWallet } from './installation.ts';

const path = '/v1/account/returns';

/** `isWanted`: of the payments that the service lists. */
export async function returnPayment(
  life: Life,
  customer: Customer,
  isWanted: (payment: unknown) => boolean,
): Promise<void> {
  const { random, wallet } = customer;
  const listed = await customer.ask(customer.payment(), {
    path,
    headers: await signedHeaders(wallet, uuidOf(random.bytes(16))),
  });
  const payments = memberOf(tryParseJson(listed?.body.toString() ?? ''), 'payments');
  const wanted = (Array.isArray(payments) ? payments : []).filter(
    (payment: unknown) => memberOf(payment, 'refusal') === null && isWanted(payment),
  );
  if (wanted.length === 0) return;
  const payment: unknown = random.pick(wanted);
  const unspent = BigInt(textOf(payment, 'unspentWinc') ?? '0');
  const part = random.below(2) === 0 ? {} : { amount: String(unspent / 2n) };
  const body = JSON.stringify({ payment: textOf(payment, 'payment'), ...part });
  const bound = { service: serviceWallet.address, method: 'POST', path, contentDigest: contentDigest(body) };
  const headers = {
    'content-type': 'application/json',
    ...(await signedHeaders(wallet, uuidOf(random.bytes(16)), bound)),
  };
  const asked = { path, method: 'POST', headers, body } as const;
  const answer = await customer.insist(life, () => customer.payment(), asked);
  customer.tell(`wants ${part.amount ?? 'all'} of ${textOf(payment, 'payment')} back: ${answer?.status}`);
}

const uuidOf = (bytes: Buffer): string =>
  bytes.toString('hex').replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-');
