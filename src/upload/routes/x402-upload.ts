/**
 * Uploads that pay for themselves with x402: `POST /x402/upload/signed` takes a signed data item,
 * `POST /x402/upload/unsigned` raw data that the service signs; both also under `/x402/data-item/…`, as older
 * clients call them. Without a payment they answer how to make one.
 */

import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import { type App, mount, type Reply, type Request } from '../../kernel/http/server.ts';
import type { PaymentClaim } from '../../payments/x402/claims.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { DiskSpace } from '../../storage/disk-space.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import { parseAddress } from '../../wallets/address.ts';
import type { ArweaveKey } from '../../wallets/arweave/rsa.ts';
import { translateError, uploadErrors } from '../errors.ts';
import type { PayloadHashes } from '../hashing/payload-hash.ts';
import type { Accepted, Intake } from '../intake/intake.ts';
import { PayloadSink, writeHashed } from '../intake/payload-sink.ts';
import { findKept } from '../items/item-rows.ts';
import { checkOpenSessions, type NewSession } from '../multipart/sessions.ts';
import { makeUnsignedItem, readUserTags, unsignedItemBytes } from '../x402/unsigned-item.ts';
import type { UploadPayment, UploadPayments } from '../x402/upload-payment.ts';
import { checkContentType, contentLength, takeRawBodies, uploadBody } from './request-body.ts';
import { clientNetwork } from './request-payers.ts';
import { type PayableUploads, sendAccepted } from './tx.ts';

export interface X402UploadDeps {
  readonly sql: Sql;
  readonly blobs: BlobStore;
  readonly disk: DiskSpace;
  readonly intake: Intake;
  readonly hashes: PayloadHashes;
  readonly payments: UploadPayments;
  readonly dataKey: ArweaveKey;
  readonly maxItemBytes: number;
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

/** The same for `POST /tx`, whose 402 then says how to pay with the request. */
export function payableUploads(deps: X402UploadDeps): PayableUploads {
  return {
    carriesPayment: (request) => deps.payments.carriedBy(request.headers),
    receive: (request, reply, token) => receiveSigned(request, reply, deps, token),
    async challenge(request, bytes) {
      const quote = await deps.payments.quote(request, bytes).catch((error: unknown) => {
        throw translateError(error);
      });
      return deps.payments.challenge(quote);
    },
  };
}

/** The payment of an upload in parts, which is taken before the first part. `address` is credited with what is left. */
export function payForSession(deps: X402UploadDeps, maxOpenPerAddress: number) {
  return async (
    request: Request,
    totalBytes: number,
    address: string | undefined,
    claim: PaymentClaim,
  ): Promise<Pick<NewSession, 'totalBytes' | 'paid'>> => {
    const payment = await deps.payments.read(request, totalBytes);
    if (!(await payment.isKnown())) {
      const network = clientNetwork(request, deps.trustedProxies);
      await checkOpenSessions(deps.sql, network, maxOpenPerAddress);
    }
    const wallet = address === undefined ? undefined : parseAddress(address);
    return { totalBytes, paid: { reserved: await payment.settleSession(wallet, claim), claim } };
  };
}

/** Prices and debits go by bytes, so a payment needs to know how many there will be. */
function statedLength(request: Request, maxItemBytes: number): number {
  const bytes = contentLength(request);
  if (bytes === undefined) throw uploadErrors.lengthRequired();
  if (bytes > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
  return bytes;
}

async function receiveSigned(
  request: Request,
  reply: Reply,
  deps: X402UploadDeps,
  token: string | undefined,
): Promise<Accepted> {
  const bytes = statedLength(request, deps.maxItemBytes);
  const payment = await deps.payments.read(request, bytes).catch((error: unknown) => {
    throw translateError(error);
  });
  const accepted = await deps.intake.receive({
    body: uploadBody(request),
    contentLength: bytes,
    paidBy: [],
    clientAddress: clientNetwork(request, deps.trustedProxies),
    token,
    prepaid: payment,
  });
  await nameSettlement(reply, payment, accepted);
  return accepted;
}

async function receiveUnsigned(request: Request, reply: Reply, deps: X402UploadDeps): Promise<Accepted> {
  const dataBytes = statedLength(request, deps.maxItemBytes);
  const tags = readUserTags(request.headers['x-data-item-tags'], request.headers['content-type']);
  const size = unsignedItemBytes(dataBytes, tags);
  const payment = await deps.payments.read(request, size).catch((error: unknown) => {
    throw translateError(error);
  });
  // The service signs the item: whose upload it is, the payment says.
  deps.intake.refuseBlocked(payment.payer);
  const sink = new PayloadSink(deps.blobs, deps.disk);
  const hash = deps.hashes.begin(dataBytes);
  try {
    await sink.makeRoom(dataBytes);
    let received = 0;
    for await (const piece of uploadBody(request)) {
      received += piece.length;
      await writeHashed(sink, hash, piece);
    }
    if (received !== dataBytes) throw uploadErrors.sizeMismatch();
    const admitted = await makeUnsignedItem(deps.dataKey, tags, payment.payer, await hash.digest());
    const stored = await findKept(deps.sql, admitted.id);
    if (stored !== undefined) {
      await sink.abort();
      const repeated = await deps.intake.repeat(stored);
      await nameSettlement(reply, payment, repeated);
      return repeated;
    }
    const payers = { paidBy: [], clientAddress: '', prepaid: payment };
    const accepted = await deps.intake.accept(payers, admitted, size, await deps.intake.commit(sink));
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
