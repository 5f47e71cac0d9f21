/** An upload that an Ethereum key pays for by itself (x402, scheme `exact`): asked for a price, paid once, sent. */
import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import { findX402Network } from '../../formats/x402/networks.ts';
import { writeAuthorization } from '../../formats/x402/payment.ts';
import { StartupError } from '../../kernel/errors.ts';
import { transferDigest } from '../../wallets/ethereum/transfer-authorization.ts';
import type { PersonKey } from '../person-key.ts';
import { type ServiceAnswer, ServiceClient } from '../service-client.ts';
import type { UploadItem } from '../upload/file-item.ts';
import type { Reservation, SpendingSession } from './spending.ts';

const tries = 4;
const retryMs = 1_000;
const maxText = 1_000;

interface Requirement {
  readonly network: string;
  readonly amount: bigint;
  readonly payTo: string;
  readonly maxTimeoutSeconds: number;
}

export interface PaidUpload {
  readonly usdc: bigint;
  readonly transaction: string | undefined;
}

/** What the service asks for an item, without paying it. */
export async function x402Price(url: string, item: UploadItem): Promise<bigint> {
  return (await askPrice(clientOf(url), item)).amount;
}

export async function payByX402(
  url: string,
  item: UploadItem,
  key: PersonKey,
  spending: SpendingSession,
): Promise<PaidUpload> {
  const client = clientOf(url);
  const required = await askPrice(client, item);
  const header = paymentHeader(required, key);
  const reservation = await spending.reserve('usdc', required.amount);
  const answer = await send(client, item, header, reservation);
  const receipt = tryParseJson(answer.text);
  return {
    usdc: required.amount,
    transaction: textOf(memberOf(receipt, 'x402Payment'), 'txHash', maxText),
  };
}

const clientOf = (url: string) => new ServiceClient('upload service', url, 300_000);

const post = (client: ServiceClient, item: UploadItem, headers: Record<string, string>) =>
  client.call('/v1/x402/upload/signed', {
    method: 'POST',
    headers: {
      ...headers,
      'content-type': 'application/octet-stream',
      'content-length': String(item.size),
    },
    body: Readable.from(item.read(0, item.size)),
  });

async function askPrice(client: ServiceClient, item: UploadItem): Promise<Requirement> {
  const { status, text } = await post(client, item, {});
  if (status !== 402)
    throw new StartupError(`the upload service did not ask for a payment: status ${status}`);
  const accepts = memberOf(tryParseJson(text), 'accepts');
  for (const entry of Array.isArray(accepts) ? accepts : []) {
    const network = findX402Network(textOf(entry, 'network', maxText) ?? '');
    const amount = textOf(entry, 'maxAmountRequired', 40) ?? '';
    const payTo = textOf(entry, 'payTo', 100) ?? '';
    const isOurs = memberOf(entry, 'scheme') === 'exact' && network?.name !== undefined;
    const sameToken = textOf(entry, 'asset', 100)?.toLowerCase() === network?.asset.toLowerCase();
    if (!isOurs || !sameToken || !/^[0-9]{1,30}$/.test(amount) || !/^0x[0-9a-fA-F]{40}$/.test(payTo))
      continue;
    const seconds = isRecord(entry) ? Number(entry.maxTimeoutSeconds) : Number.NaN;
    const maxTimeoutSeconds = Number.isSafeInteger(seconds) && seconds > 0 ? Math.min(seconds, 3_600) : 300;
    return { network: network.name, amount: BigInt(amount), payTo, maxTimeoutSeconds };
  }
  throw new StartupError('the upload service takes no payment that this key can make');
}

function paymentHeader(
  { network: name, amount, payTo, maxTimeoutSeconds }: Requirement,
  key: PersonKey,
): string {
  const network = findX402Network(name);
  if (network === undefined || key.signDigest === undefined) {
    throw new StartupError('only an Ethereum key can pay an upload by x402');
  }
  const authorization = {
    from: key.address,
    to: payTo,
    value: amount,
    validAfter: 0n,
    validBefore: BigInt(Math.floor(Date.now() / 1000) + maxTimeoutSeconds),
    nonce: `0x${randomBytes(32).toString('hex')}`,
  };
  const signature = `0x${key.signDigest(transferDigest(authorization, network)).toString('hex')}`;
  const payload = { signature, authorization: writeAuthorization(authorization) };
  return Buffer.from(JSON.stringify({ x402Version: 1, scheme: 'exact', network: name, payload })).toString(
    'base64',
  );
}

/** The same payment for the same item is taken once, however often it is sent: so it is sent until an answer comes. */
async function send(
  client: ServiceClient,
  item: UploadItem,
  header: string,
  reservation: Reservation,
): Promise<ServiceAnswer> {
  for (let attempt = 1; ; attempt += 1) {
    const answer = await post(client, item, { 'x-payment': header }).catch((error: unknown) => {
      if (attempt < tries) return undefined;
      throw error;
    });
    if (answer !== undefined) {
      if (answer.status === 200 || answer.status === 202) return answer;
      const maySettle = answer.status === 409 || answer.status >= 500;
      if (!maySettle) {
        await reservation.release();
        throw new StartupError(`the payment was not taken: ${answer.text.slice(0, 300)}`);
      }
      if (attempt >= tries) {
        throw new StartupError(
          `whether the payment was taken is not known yet (status ${answer.status}): send the same again`,
        );
      }
    }
    await sleep(retryMs * attempt);
  }
}
