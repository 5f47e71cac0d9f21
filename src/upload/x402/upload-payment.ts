/**
 * A payment that came with an upload. It is checked before the body is read and taken when the item is known to be
 * good: the payer is credited and the price is reserved out of that credit, in one transaction; the transaction that
 * stores the item spends what is reserved. Whatever goes wrong in between, the same payment again buys the same item,
 * and what nobody comes back for is given to the payer as credits.
 */
import type { IncomingHttpHeaders } from 'node:http';
import { winc } from '../../credits/credits.ts';
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

  async #quote(request: Request, bytes: number): Promise<X402Quote> {
    const price = await this.#pricing.quoteBytes(bytes);
    return this.#x402.offer({
      product: `upload ${bytes}`,
      // Nothing can be bought for nothing.
      winc: price.winc > 0n ? price.winc : winc(1n),
      resource: `${originOf(request)}${request.url}`,
      description: `Upload of ${bytes} bytes`,
      mimeType: 'application/json',
      timeoutSeconds: timeouts.find(([size]) => bytes >= size)?.[1] ?? 300,
    });
  }

  /** The payment of a request for so many bytes, checked by the facilitator; throws the 402 when there is none. */
  async read(request: Request, bytes: number): Promise<UploadPayment> {
    const x402 = this.#x402;
    const quote = await this.#quote(request, bytes);
    try {
      const payment = await x402.read(request.headers, quote);
      if (payment === undefined) throw refusal(x402, quote, noPayment);
      await x402.verify(payment);
      return new UploadPayment(x402, quote, payment, bytes);
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
  readonly #quote: X402Quote;
  readonly #payment: SignedPayment;
  readonly bytes: number;
  /** Known once the payment was taken. */
  receipt: X402Receipt | undefined;

  constructor(x402: X402Payments, quote: X402Quote, payment: SignedPayment, bytes: number) {
    this.#x402 = x402;
    this.#quote = quote;
    this.#payment = payment;
    this.bytes = bytes;
  }

  get payer(): string {
    return this.#payment.payer;
  }

  /** Whether it was sent before. */
  isKnown(): Promise<boolean> {
    return this.#x402.isKnown(this.#payment);
  }

  /** Takes the payment for an item; one that bought something else, or nothing that is left, is refused. */
  settle(itemId: string): Promise<ReservedPayment> {
    return this.#settle({ purpose: 'upload', reference: itemId }, ({ purchase }) => {
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
      const receipt = await this.#x402.settle(this.#payment, { ...request, reserve: this.#quote.winc });
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
