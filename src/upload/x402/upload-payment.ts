/**
 * A payment that came with an upload. It is checked before the body is read and taken when the item is known to be
 * good: the payer is credited and the price is reserved out of that credit, in one transaction; the transaction that
 * stores the item spends what is reserved. Whatever goes wrong in between, the same payment again buys the same item,
 * and what nobody comes back for is given to the payer as credits.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { type Winc, winc } from '../../credits/credits.ts';
import { lackFields } from '../../credits/lack.ts';
import { noPayment, type PaymentProblem, paymentAnswer } from '../../formats/x402/answers.ts';
import { x402Reasons } from '../../formats/x402/facilitator.ts';
import { HttpError } from '../../kernel/errors.ts';
import { originOf, type Request } from '../../kernel/http/app.ts';
import type { PaymentClaim } from '../../payments/x402/claims.ts';
import { X402NotTaken, X402Refused } from '../../payments/x402/errors.ts';
import type {
  SettleRequest,
  SignedPayment,
  X402OfferRequest,
  X402Payments,
  X402Quote,
  X402Receipt,
} from '../../payments/x402/x402.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { WalletAddress } from '../../wallets/address.ts';
import { type InsufficientBalance, insufficient } from '../errors.ts';
import type { Prepaid, ReservedPayment } from '../intake/payment.ts';

/** Long uploads need longer between the signature of a payment and its settlement. */
const timeouts: readonly (readonly [bytes: number, seconds: number])[] = [
  [100 * 1024 * 1024, 3_600],
  [10 * 1024 * 1024, 1_800],
  [0, 300],
];

export class UploadPayments {
  readonly #x402: X402Payments;
  readonly #pricing: Pick<Pricing, 'quoteBytes'>;

  constructor(x402: X402Payments, pricing: Pick<Pricing, 'quoteBytes'>) {
    this.#x402 = x402;
    this.#pricing = pricing;
  }

  /** Whether a request carries a payment, in either version of the protocol. */
  carriedBy(headers: IncomingHttpHeaders): boolean {
    return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined;
  }

  async #priceOf(bytes: number): Promise<Winc> {
    const price = await this.#pricing.quoteBytes(bytes);
    // Nothing can be bought for nothing.
    return price.winc > 0n ? price.winc : winc(1n);
  }

  async #quote(request: Request, bytes: number): Promise<X402Quote> {
    return this.#x402.offer(await this.#asked(request, bytes, `upload ${bytes}`, `Upload of ${bytes} bytes`));
  }

  async #asked(
    request: Request,
    bytes: number,
    product: string,
    description: string,
  ): Promise<X402OfferRequest> {
    return {
      product,
      winc: await this.#priceOf(bytes),
      resource: `${originOf(request)}${request.url}`,
      description,
      mimeType: 'application/json',
      timeoutSeconds: timeouts.find(([size]) => bytes >= size)?.[1] ?? 300,
    };
  }

  /** The payment of a request for so many bytes, checked by the facilitator; throws the 402 when there is none. */
  async read(request: Request, bytes: number): Promise<UploadPayment> {
    return this.#read(request, await this.#quote(request, bytes), bytes);
  }

  /**
   * The same for no more than so many bytes, of which the price is taken when they have come. Undefined where no such
   * payment can be made here.
   */
  async readUpTo(request: Request, bytes: number): Promise<UploadPayment | undefined> {
    const asked = await this.#asked(
      request,
      bytes,
      `upload up to ${bytes}`,
      `Upload of up to ${bytes} bytes; the price of those that come is taken`,
    );
    const quote = await this.#x402.offerUpTo(asked);
    return quote && this.#read(request, quote, bytes);
  }

  async #read(request: Request, quote: X402Quote, bytes: number): Promise<UploadPayment> {
    const x402 = this.#x402;
    try {
      const payment = await x402.read(request.headers, quote);
      if (payment === undefined) throw refusal(x402, quote, noPayment);
      await x402.verify(payment);
      return new UploadPayment(x402, payment, bytes, (size) => this.#priceOf(size));
    } catch (error) {
      throw failure(x402, quote, error);
    }
  }

  /** The 402 that says how an upload of so many bytes can be paid with the request, and what its wallet lacks. */
  async challenge(request: Request, bytes: number, { lack, headers }: InsufficientBalance): Promise<Error> {
    const fields = lack === undefined ? {} : lackFields(lack);
    const problem = { kind: 'refused', reason: insufficient, fields } as const;
    const asked = refusal(this.#x402, await this.#quote(request, bytes), problem);
    return new HttpError(asked.status, asked.body, { headers: { ...headers, ...asked.headers } });
  }
}

export class UploadPayment implements Prepaid {
  readonly #x402: X402Payments;
  readonly #payment: SignedPayment;
  readonly #priceOf: (bytes: number) => Promise<Winc>;
  readonly bytes: number;
  /** Known once the payment was taken. */
  receipt: X402Receipt | undefined;

  constructor(
    x402: X402Payments,
    payment: SignedPayment,
    bytes: number,
    priceOf: (bytes: number) => Promise<Winc>,
  ) {
    this.#x402 = x402;
    this.#payment = payment;
    this.#priceOf = priceOf;
    this.bytes = bytes;
  }

  get #quote(): X402Quote {
    return this.#payment.quote;
  }

  covers(size: number): boolean {
    return this.#quote.upTo === undefined ? size === this.bytes : size <= this.bytes;
  }

  get payer(): string {
    return this.#payment.payer;
  }

  /** Whether it was sent before. */
  isKnown(): Promise<boolean> {
    return this.#x402.isKnown(this.#payment);
  }

  /** Takes the payment for an item; one that bought something else, or nothing that is left, is refused. */
  async settle(itemId: string, size: number): Promise<ReservedPayment> {
    const reserve = this.#quote.upTo === undefined ? this.#quote.winc : await this.#priceOf(size);
    return this.#settle({ purpose: 'upload', reference: itemId, reserve }, ({ purchase }) => {
      if (purchase?.state !== 'reserved' && purchase?.item !== itemId) {
        throw new X402Refused(x402Reasons.nonceUsed);
      }
    });
  }

  /** Takes the payment for an upload in parts. What it does not cost goes to `wallet`, else to the payer. */
  settleSession(wallet: WalletAddress | undefined, claim: PaymentClaim): Promise<ReservedPayment> {
    return this.#settle({
      purpose: 'upload',
      reference: `multipart ${this.bytes}`,
      reserve: this.#quote.winc,
      claim,
      ...(wallet && { wallet: { address: wallet.address, addressType: wallet.kind } }),
    });
  }

  /** How it was settled, when it was, for this item. */
  recall(itemId: string): Promise<X402Receipt | undefined> {
    return this.#x402.recall(this.#payment, { purpose: 'upload', reference: itemId });
  }

  async #settle(request: SettleRequest, check?: (receipt: X402Receipt) => void): Promise<ReservedPayment> {
    try {
      const receipt = await this.#x402.settle(this.#payment, request);
      check?.(receipt);
      this.receipt = receipt;
      const { id, purchase } = receipt;
      return { payment: id, winc: purchase?.reserved ?? winc(0n), answer: describe(receipt) };
    } catch (error) {
      throw failure(this.#x402, this.#quote, error);
    }
  }
}

/** What the payer is told of a payment that was not taken; anything else is passed on. */
const failure = (x402: X402Payments, quote: X402Quote, error: unknown): unknown =>
  error instanceof X402NotTaken ? refusal(x402, quote, error.problem, error) : error;

function refusal(x402: X402Payments, quote: X402Quote, problem: PaymentProblem, cause?: unknown): HttpError {
  const { status, body, ...options } = paymentAnswer(problem, (reason) => x402.challenge(quote, reason));
  return new HttpError(status, body, { ...options, cause });
}

function describe(receipt: X402Receipt): Record<string, unknown> {
  const { transaction, network } = receipt.settlement;
  return {
    payer: receipt.payer,
    x402Payment: {
      paymentId: receipt.id,
      txHash: transaction,
      transactionHash: transaction,
      network,
      mode: 'payg',
    },
  };
}
