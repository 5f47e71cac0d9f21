/**
 * Uploads that pay for themselves with x402: `POST /x402/upload/signed` takes a signed data item,
 * `POST /x402/upload/unsigned` raw data that the service signs; both also under `/x402/data-item/…`, as older
 * clients call them. Without a payment they answer how to make one.
 */
import { memberOf } from '../../formats/json.ts';
import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import { HttpError } from '../../kernel/errors.ts';
import { type App, mount, type Reply, type Request } from '../../kernel/http/server.ts';
import type { PaymentClaim } from '../../payments/x402/claims.ts';
import { parseAddress } from '../../wallets/address.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { throwTranslated, translateError, uploadErrors } from '../errors.ts';
import type { Accepted, Intake, IntakeDeps } from '../intake/intake.ts';
import { PayloadSink, writeHashed } from '../intake/payload-sink.ts';
import { findKept } from '../items/item-rows.ts';
import { checkOpenSessions, type NewSession } from '../multipart/sessions.ts';
import { makeUnsignedItem, readUserTags, unsignedItemBytes } from '../x402/unsigned-item.ts';
import type { UploadPayment, UploadPayments } from '../x402/upload-payment.ts';
import {
  checkContentType,
  clientNetwork,
  contentLength,
  sendAccepted,
  takeRawBodies,
  uploadBody,
} from './upload-request.ts';

export interface X402UploadDeps
  extends Pick<IntakeDeps, 'sql' | 'blobs' | 'disk' | 'hashes' | 'maxItemBytes'> {
  readonly intake: Intake;
  readonly payments: UploadPayments;
  readonly dataKey: ArweaveKey;
  readonly trustedProxies: number;
}

export function x402UploadRoutes(app: App, deps: X402UploadDeps): void {
  mount(app, (scope) => {
    takeRawBodies(scope);
    for (const path of ['/x402/upload', '/x402/data-item']) {
      scope.post(
        `${path}/signed`,
        { schema: { summary: 'Upload a signed data item and pay for it with x402' } },
        async (request, reply) => {
          checkContentType(request);
          return sendAccepted(reply, await receiveSigned(request, reply, deps, undefined));
        },
      );
      scope.post(
        `${path}/unsigned`,
        { schema: { summary: 'Upload raw data, signed by the service, and pay for it with x402' } },
        async (request, reply) => sendAccepted(reply, await receiveUnsigned(request, reply, deps)),
      );
    }
  });
}

/**
 * The payment of an upload in parts, which is taken before the first part; throws the 402 that asks for it. `address`
 * is credited with what is left.
 */
export async function payForSession(
  deps: X402UploadDeps,
  request: Request,
  totalBytes: number,
  address: string | undefined,
  claim: PaymentClaim,
  maxOpen: number,
): Promise<Pick<NewSession, 'totalBytes' | 'paid'>> {
  const payment = await deps.payments.read(request, totalBytes);
  if (!(await payment.isKnown())) await checkOpenSessions(deps.sql, claim.network, maxOpen);
  const wallet = address === undefined ? undefined : parseAddress(address);
  return { totalBytes, paid: { reserved: await payment.settleSession(wallet, claim), claim } };
}

/** How many bytes come: exactly so many, or no more than that. */
interface ExpectedBytes {
  readonly exact: number | undefined;
  readonly most: number;
}

/**
 * Prices and debits go by bytes, so a payment needs to know how many there will be: the stated length, or for a body
 * in chunks `?maxBytes=`, of which the price of those that came is taken.
 */
function expectedBytes(request: Request, maxItemBytes: number): ExpectedBytes {
  const exact = contentLength(request);
  const most = exact ?? maxBytesOf(request);
  if (most === undefined) throw uploadErrors.lengthRequired();
  if (most > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
  return { exact, most };
}

function maxBytesOf({ query }: Request): number | undefined {
  const text = memberOf(query, 'maxBytes');
  if (text === undefined) return undefined;
  if (typeof text !== 'string' || !/^[1-9][0-9]{0,14}$/.test(text)) {
    throw new HttpError(400, 'maxBytes must be a number of bytes');
  }
  return Number(text);
}

/** The payment for an upload of so many bytes, given what is expected of the body. */
async function readUploadPayment(
  request: Request,
  { payments }: X402UploadDeps,
  { exact }: ExpectedBytes,
  bytes: number,
): Promise<UploadPayment> {
  if (exact !== undefined) return payments.read(request, bytes).catch(throwTranslated);
  const payment = await payments.readUpTo(request, bytes).catch(throwTranslated);
  if (payment === undefined) throw uploadErrors.lengthRequired();
  return payment;
}

/** A body in chunks ends with a refusal where it is longer than was said. */
const bodyOf = (request: Request, { exact, most }: ExpectedBytes): AsyncIterable<Buffer> =>
  exact === undefined ? noMoreThan(most, uploadBody(request)) : uploadBody(request);

async function* noMoreThan(most: number, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let received = 0;
  for await (const piece of body) {
    received += piece.length;
    if (received > most) throw uploadErrors.longerThanPaid(most);
    yield piece;
  }
}

/** Also for a payment that comes with `POST /tx`. */
export async function receiveSigned(
  request: Request,
  reply: Reply,
  deps: X402UploadDeps,
  token: string | undefined,
): Promise<Accepted> {
  const expected = expectedBytes(request, deps.maxItemBytes);
  const payment = await readUploadPayment(request, deps, expected, expected.most);
  const accepted = await deps.intake.receive({
    body: bodyOf(request, expected),
    contentLength: expected.exact,
    paidBy: [],
    clientAddress: clientNetwork(request, deps.trustedProxies),
    token,
    prepaid: payment,
  });
  await nameSettlement(reply, payment, accepted);
  return accepted;
}

async function receiveUnsigned(request: Request, reply: Reply, deps: X402UploadDeps): Promise<Accepted> {
  const expected = expectedBytes(request, deps.maxItemBytes);
  const tags = readUserTags(request.headers['x-data-item-tags'], request.headers['content-type']);
  const payment = await readUploadPayment(request, deps, expected, unsignedItemBytes(expected.most, tags));
  // The service signs the item: whose upload it is, the payment says.
  deps.intake.refuseBlocked(payment.payer);
  const sink = new PayloadSink(deps.blobs, deps.disk);
  const hash = deps.hashes.begin(expected.exact);
  try {
    await sink.makeRoom(expected.exact);
    let received = 0;
    for await (const piece of bodyOf(request, expected)) {
      received += piece.length;
      await writeHashed(sink, hash, piece);
    }
    if (received !== (expected.exact ?? received)) throw uploadErrors.sizeMismatch();
    const size = unsignedItemBytes(received, tags);
    const admitted = await makeUnsignedItem(deps.dataKey, tags, payment.payer, await hash.digest());
    const stored = await findKept(deps.sql, admitted.id);
    if (stored !== undefined) await sink.abort();
    const payers = { paidBy: [], clientAddress: '', prepaid: payment };
    const accepted =
      stored === undefined
        ? await deps.intake.accept(payers, admitted, size, await deps.intake.commit(sink))
        : await deps.intake.repeat(stored);
    await nameSettlement(reply, payment, accepted);
    return accepted;
  } catch (error) {
    await sink.abort();
    throw translateError(error);
  } finally {
    hash.release();
  }
}

/** A payment that was not taken now, since the item is there, may be the one that bought it. */
async function nameSettlement(reply: Reply, payment: UploadPayment, accepted: Accepted): Promise<void> {
  const receipt = payment.receipt ?? (await payment.recall(accepted.receipt.id));
  if (receipt !== undefined) reply.headers(settlementHeaders(receipt.settlement));
}
