/**
 * Paying for bytes with x402. What was paid is credited to the service, and tokens go to the client whose request
 * carried the payment. A settlement whose answer was lost is finished when the same payment comes again, and counts
 * once.
 */
import type { AddressType } from '../../credits/credits.ts';
import { noPayment, type PaymentProblem, paymentAnswer } from '../../formats/x402/answers.ts';
import { settlementHeaders } from '../../formats/x402/facilitator.ts';
import { HttpError } from '../../kernel/errors.ts';
import { originOf, type Request } from '../../kernel/http/app.ts';
import { X402NotTaken, X402SettlementFailed } from '../../payments/x402/errors.ts';
import type { X402Payments, X402Quote } from '../../payments/x402/x402.ts';
import type { Pricing } from '../../pricing/pricing.ts';
import type { Asking } from '../meter.ts';
import type { PaidTokens } from './paid.ts';
import { type EgressPrices, priceOf, tokensFor } from './prices.ts';

export interface EgressPaymentsOptions {
  readonly x402: X402Payments;
  readonly pricing: Pick<Pricing, 'wincForUsdc'>;
  readonly prices: EgressPrices;
  readonly paid: PaidTokens;
  /** Who is credited: the service itself. */
  readonly wallet: { readonly address: string; readonly addressType: AddressType };
  onPayment?(result: 'taken' | 'refused' | 'failed'): void;
}

/** What is paid for. */
export interface EgressBody {
  readonly bytes: number;
  readonly contentType: string;
}

export class EgressPayments {
  readonly #options: EgressPaymentsOptions;

  constructor(options: EgressPaymentsOptions) {
    this.#options = options;
  }

  hasPayment(request: Asking): boolean {
    const { headers } = request;
    return headers['x-payment'] !== undefined || headers['payment-signature'] !== undefined;
  }

  /** The 402 that asks for it. */
  async required(request: Request, body: EgressBody): Promise<HttpError> {
    const quote = await this.#quote(request, body);
    return this.#refusal(quote, { ...noPayment, fields: { price: quote.winc.toString() } });
  }

  /** Settles the payment that came along; answers what the payer is told. */
  async take(request: Request, client: string, asked: EgressBody): Promise<Record<string, string>> {
    const { x402, prices, paid, wallet, onPayment } = this.#options;
    const quote = await this.#quote(request, asked);
    try {
      const payment = await x402.read(request.headers, quote);
      if (payment === undefined) throw this.#refusal(quote, noPayment);
      await x402.verify(payment);
      const receipt = await x402.settle(payment, {
        purpose: 'top-up',
        reference: `egress:${client}`,
        wallet,
      });
      // One that was sent for something smaller buys what was paid for it, not what is asked for now.
      const wanted = receipt.value >= quote.amount ? asked.bytes : 0;
      await paid.credit(receipt.id, client, tokensFor(receipt.value, wanted, prices));
      onPayment?.('taken');
      return settlementHeaders(receipt.settlement);
    } catch (error) {
      onPayment?.(error instanceof X402SettlementFailed ? 'failed' : 'refused');
      throw error instanceof X402NotTaken ? this.#refusal(quote, error.problem, error) : error;
    }
  }

  /** Content is asked for without a signature, so that a payment that cannot be read is asked for once more. */
  #refusal(quote: X402Quote, problem: PaymentProblem, cause?: unknown): HttpError {
    const { status, body, ...options } = paymentAnswer(
      problem.kind === 'unreadable' ? { kind: 'refused', reason: 'invalid_payload' } : problem,
      (reason) => this.#options.x402.challenge(quote, reason),
    );
    return new HttpError(status, body, { ...options, cause });
  }

  async #quote(request: Request, { bytes, contentType }: EgressBody): Promise<X402Quote> {
    const { x402, pricing, prices } = this.#options;
    const amount = priceOf(bytes, prices);
    const offer = await x402.offer({
      product: `egress ${bytes}`,
      winc: await pricing.wincForUsdc(amount),
      resource: `${originOf(request)}${request.url}`,
      description: `${bytes} bytes of content`,
      mimeType: contentType,
    });
    // Rounding on the way through winc must not move the price.
    return { ...offer, amount };
  }
}
