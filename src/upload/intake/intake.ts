/**
 * One data item from its first byte to its receipt, in one pass: read, refused as early as can be known, verified,
 * priced by the bytes that came, stored and paid (`store-item.ts`).
 *
 * The payload of a large item is made durable before the transaction that stores it; if that does not happen, the
 * blob is left to the sweeper. Nothing is found under the item's id before it is verified and paid.
 */
import { type Winc, winc } from '../../credits/credits.ts';
import { lackOf, type TopUpPage } from '../../credits/lack.ts';
import type { ItemHeader } from '../../formats/ans104/item-header.ts';
import { type ItemEnd, ItemParser } from '../../formats/ans104/item-parser.ts';
import { itemProblems } from '../../formats/ans104/item-problem.ts';
import type { Tag } from '../../formats/avro-tags.ts';
import { HttpError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { AdjustmentUsedUp, type Pricing } from '../../pricing/pricing.ts';
import type { BlobStore } from '../../storage/blobs/blobs.ts';
import type { DiskSpace } from '../../storage/disk-space.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { itemOwner } from '../../wallets/data-items/owner.ts';
import { verifyStreamed } from '../../wallets/data-items/verify.ts';
import { kyveAddress } from '../../wallets/kyve-address.ts';
import { FreeAllowanceUsedUp, InsufficientBalance, translateError, uploadErrors } from '../errors.ts';
import type { PayloadHash, PayloadHashes } from '../hashing/payload-hash.ts';
import { forgetNotes, noteBlobs } from '../items/blob-uses.ts';
import { findItem, findKept, type NewItem, type StoredItem } from '../items/item-rows.ts';
import type { UploadMetrics } from '../metrics.ts';
import {
  type ApprovalOrder,
  type ApprovalRules,
  type RevokeOrder,
  readApprovalTags,
} from './approval-tags.ts';
import type { ChainHead } from './chain-head.ts';
import { inlineBytes, PayloadSink, type StoredPayload, writeHashed } from './payload-sink.ts';
import { type Payers, paymentFor } from './payment.ts';
import { deadlineBlocks, type Receipt, type Receipts } from './receipts.ts';
import { type StoreDeps, type Stored, storeItem } from './store-item.ts';

export interface IntakeDeps extends StoreDeps {
  readonly blobs: BlobStore;
  readonly disk: DiskSpace;
  readonly pricing: Pricing;
  readonly receipts: Receipts;
  readonly head: Pick<ChainHead, 'height'>;
  readonly hashes: PayloadHashes;
  readonly metrics: UploadMetrics;
  readonly log: Logger;
  readonly blocked: ReadonlySet<string>;
  readonly maxItemBytes: number;
  readonly approvalRules: ApprovalRules;
  /** Told to whom cannot pay. */
  readonly topUpPage?: TopUpPage | undefined;
  /** Called when there is an item to announce; absent where there is no gateway. */
  readonly announce: (() => void) | undefined;
  readonly now: () => number;
}

interface IntakeRequest extends Payers {
  /** Leaving it unread must be safe. */
  readonly body: AsyncIterable<Buffer>;
  readonly contentLength: number | undefined;
  /** The route's token: `kyve` makes an Ethereum key stand for a KYVE wallet. */
  readonly token?: string | undefined;
}

export interface Accepted {
  readonly receipt: Receipt;
  /** The item was here before: nothing was charged now. */
  readonly duplicate: boolean;
}

/** An item whose header was read and not refused. */
export interface Admitted {
  readonly header: ItemHeader;
  readonly id: string;
  readonly signer: WalletAddress;
  readonly order: ApprovalOrder | RevokeOrder | undefined;
}

/** From this size on it is worth asking whether the wallet can pay before the body is read. */
const askFirstBytes = 1024 * 1024;

export class Intake {
  readonly #deps: IntakeDeps;

  constructor(deps: IntakeDeps) {
    this.#deps = deps;
  }

  /** Throws the answer (`HttpError`) when the item is refused; nothing has changed then. */
  async receive(request: IntakeRequest): Promise<Accepted> {
    const { maxItemBytes } = this.#deps;
    if ((request.contentLength ?? 0) > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
    const sink = new PayloadSink(this.#deps.blobs, this.#deps.disk);
    const parser = new ItemParser({ hash: false });
    const hash = this.#deps.hashes.begin(request.contentLength);
    try {
      await sink.makeRoom(request.contentLength);
      const read = await this.#read(request, parser, hash, sink);
      if ('receivedAt' in read) {
        await sink.abort();
        return await this.repeat(read);
      }
      const end = readWhole(parser);
      await verify(end.header, hash);
      const size = end.header.length + end.payloadBytes;
      if (!sink.isInline) await this.checkFunds(request, read, size);
      return await this.accept(request, read, size, await this.commit(sink));
    } catch (error) {
      await sink.abort();
      const answer = translateError(error, parser.header?.id);
      this.#deps.metrics.refused(answer instanceof HttpError ? answer.status : 500);
      throw answer;
    } finally {
      hash.release();
    }
  }

  /** The receipt of an item that is stored. */
  async repeat(item: StoredItem): Promise<Accepted> {
    this.#deps.metrics.repeated();
    return { receipt: await this.#deps.receipts.of(item), duplicate: true };
  }

  /** What the header alone says: who signed, and what for. Throws the answer for what is refused by then. */
  admit(header: ItemHeader, token?: string): Admitted {
    const owner = itemOwner(header.signatureType, header.owner);
    const { wallet } = owner;
    const signer: WalletAddress =
      token === 'kyve' && header.signatureType === 3
        ? { kind: 'kyve', address: kyveAddress(header.owner) }
        : wallet;
    this.refuseBlocked(wallet.address);
    // The same key has other addresses, and each of them may be on the list.
    const { blocked } = this.#deps;
    if (blocked.size > 0) for (const form of owner.forms?.others ?? []) this.refuseBlocked(form);
    const order = readApprovalTags(header.tags, signer.address, this.#deps.approvalRules);
    return { header, id: header.id, signer, order };
  }

  /** Throws 403 for a wallet that may not upload here. */
  refuseBlocked(address: string): void {
    if (this.#deps.blocked.has(address)) throw uploadErrors.forbidden();
  }

  /** Throws 402 when an item of this size could not be paid now. */
  async checkFunds(payers: Payers, { id, signer, header }: Admitted, size: number): Promise<void> {
    const { freeTier, pricing, credits } = this.#deps;
    const { prepaid, reserved, paidBy } = payers;
    const { address, kind: signerType } = signer;
    if (prepaid !== undefined || reserved !== undefined || freeTier.covers(size, address)) return;
    await this.#learnForms(header);
    const { winc: amount } = await pricing.quoteBytes(size, address);
    const spend = { id, reason: 'upload', signer: address, signerType, amount, paidBy } as const;
    if ((await credits.preview(spend)) === undefined) throw await this.#insufficient(address, amount);
  }

  /** Credits may have been sent to another form of the signer's address: the key tells that it is the signer's. */
  async #learnForms({ signatureType, owner }: ItemHeader): Promise<void> {
    const { forms } = itemOwner(signatureType, owner);
    if (forms !== undefined) await this.#deps.credits.unite(forms);
  }

  async #insufficient(address: string, price: Winc): Promise<InsufficientBalance> {
    const { credits, topUpPage } = this.#deps;
    return uploadErrors.insufficientBalance(await lackOf(credits, address, price, topUpPage));
  }

  /** Makes a payload durable; if nothing comes of it, the sweeper deletes it. */
  commit(sink: PayloadSink): Promise<StoredPayload> {
    const { sql, now } = this.#deps;
    return sink.commit((segments) => noteBlobs(sql, segments, now()));
  }

  /** Stores and has paid an item that is verified and whose payload is durable. */
  async accept(payers: Payers, admitted: Admitted, size: number, payload: StoredPayload): Promise<Accepted> {
    const { sql, receipts } = this.#deps;
    try {
      const item = this.#newItem(admitted, size, payload);
      const { item: priced, stored } = await this.#store(payers, admitted, item);
      if (stored !== undefined) {
        this.#deps.announce?.();
        this.#deps.metrics.accepted(item.signatureType, size);
        return { receipt: await receipts.of({ ...priced, ...stored }), duplicate: false };
      }
    } catch (error) {
      // Anything but a refusal leaves open whether the item is stored: the sweeper finds out.
      if (error instanceof HttpError) await this.#forget(payload);
      throw error;
    }
    await this.#forget(payload);
    const first = await findItem(sql, admitted.id);
    if (first === undefined) throw new Error(`${admitted.id} is stored and is not there`);
    return this.repeat(first);
  }

  /** Tries to delete a payload that was made durable for nothing; where it fails, the sweeper deletes it later. */
  async #forget({ segments, isNoted }: StoredPayload): Promise<void> {
    const { sql, blobs, now, log } = this.#deps;
    if (!isNoted) return;
    await forgetNotes(sql, blobs, segments, now()).catch((error: unknown) =>
      log.warn({ err: error }, 'bytes of a refused item are deleted later'),
    );
  }

  /**
   * Prices and stores. A discount that others have used up in between is quoted again, without it; what is free no
   * more is charged, where that can be.
   */
  async #store(
    payers: Payers,
    admitted: Admitted,
    unpaid: NewItem,
    quotes = 3,
    usedUp?: FreeAllowanceUsedUp,
  ): Promise<{ item: NewItem; stored: Stored | undefined }> {
    let price: Winc | undefined;
    try {
      const free = usedUp === undefined;
      const { payment, answer } = await paymentFor(this.#deps, payers, admitted, unpaid.size, free);
      if (payment.kind === 'credits') price = payment.spend.amount;
      if (payment.kind === 'credits' || admitted.order !== undefined) await this.#learnForms(admitted.header);
      const item = { ...unpaid, answer };
      return { item, stored: await storeItem(this.#deps, item, payment, admitted.order, payers.guard) };
    } catch (error) {
      if (error instanceof AdjustmentUsedUp && quotes > 1)
        return this.#store(payers, admitted, unpaid, quotes - 1, usedUp);
      if (error instanceof FreeAllowanceUsedUp) return this.#store(payers, admitted, unpaid, quotes, error);
      const cannotPay = error instanceof HttpError && (error.status === 402 || error.status === 400);
      if (usedUp !== undefined && cannotPay) throw usedUp;
      if (!(error instanceof InsufficientBalance) || price === undefined) throw error;
      throw await this.#insufficient(admitted.signer.address, price);
    }
  }

  async #read(
    request: IntakeRequest,
    parser: ItemParser,
    hash: PayloadHash,
    sink: PayloadSink,
  ): Promise<Admitted | StoredItem> {
    const { maxItemBytes } = this.#deps;
    const { contentLength } = request;
    const isSmall = contentLength !== undefined && contentLength <= inlineBytes;
    let admitted: Admitted | undefined;
    for await (const piece of request.body) {
      if (parser.bytesRead + piece.length > maxItemBytes) throw uploadErrors.tooLarge(maxItemBytes);
      const payload = parser.push(piece);
      if (typeof payload === 'string') throw uploadErrors.unreadableItem(itemProblems[payload]);
      if (admitted === undefined && parser.header !== undefined) {
        // For a small item a look-up costs as much as storing it: the transaction says whether it was there. One with
        // a payment is looked up first, because the payment is taken before the transaction.
        const asksFirst = !isSmall || request.prepaid !== undefined;
        const stored = asksFirst ? await findKept(this.#deps.sql, parser.header.id) : undefined;
        if (stored !== undefined) return stored;
        admitted = this.admit(parser.header, request.token);
        if ((contentLength ?? 0) >= askFirstBytes)
          await this.checkFunds(request, admitted, contentLength ?? 0);
      }
      if (payload.length > 0) await writeHashed(sink, hash, payload);
    }
    if (admitted === undefined) throw uploadErrors.unreadableItem(itemProblems.truncated);
    return admitted;
  }

  #newItem(admitted: Admitted, size: number, payload: StoredPayload): NewItem {
    const { header, id, signer } = admitted;
    const { height } = this.#deps.head;
    if (height === undefined) throw uploadErrors.chainUnknown(id);
    const now = this.#deps.now();
    return {
      id,
      owner: header.ownerAddress,
      signer: signer.address,
      signatureType: header.signatureType,
      size,
      payloadStart: header.length,
      contentType: contentTypeOf(header.tags),
      winc: winc(0n),
      receivedAt: now,
      deadlineHeight: height + deadlineBlocks,
      answer: {},
      segments: payload.segments,
      isNoted: payload.isNoted,
      head: payload.inline.length === 0 ? header.bytes : Buffer.concat([header.bytes, payload.inline]),
      announceAt: this.#deps.announce === undefined ? undefined : now,
    };
  }
}

/** The end of an item that was read whole; throws the answer otherwise. */
export function readWhole(parser: ItemParser): ItemEnd {
  const end = parser.finish();
  if (typeof end === 'string') throw uploadErrors.unreadableItem(itemProblems[end]);
  return end;
}

/** Throws the answer for an item that is not signed by its owner. */
export async function verify(header: ItemHeader, hash: PayloadHash): Promise<void> {
  if (!verifyStreamed({ header, dataHash: await hash.digest() })) throw uploadErrors.invalidItem();
}

const defaultContentType = 'application/octet-stream';

/**
 * The content type an item's tags give it: the first `content-type` in whatever case, cut to 255 characters.
 * One that cannot be sent in a header is ignored.
 */
function contentTypeOf(tags: readonly Tag[]): string {
  const value = tags.find(({ name }) => name.toLowerCase() === 'content-type')?.value.slice(0, 255) ?? '';
  return /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) ? value : defaultContentType;
}
