/** Signs a request for the payment service: bound to it where it knows such signatures, so that they are good nowhere else. */
import { type PaymentInfo, paymentInfo } from '../services/payment.ts';
import type { SignRequestOptions, Wallet } from './wallet.ts';

export interface RequestToSign {
  readonly method: string;
  /** Path and query, from `/v1` on. */
  readonly path: string;
  readonly body?: string;
  /** A UUID to act with; left out to read. */
  readonly nonce?: string;
}

export async function signForPayment(
  signer: Pick<Wallet, 'signRequest'>,
  request: RequestToSign,
  info?: PaymentInfo,
): Promise<Readonly<Record<string, string>>> {
  return signer.signRequest(optionsFor(request, info ?? (await paymentInfo())));
}

/** A service that says nothing of bound signatures would not understand one. */
function optionsFor({ nonce, ...request }: RequestToSign, info: PaymentInfo): SignRequestOptions {
  const service = info.boundSignatures === undefined ? undefined : info.addresses.arweave;
  return {
    ...(nonce !== undefined && { nonce }),
    ...(service !== undefined && { boundTo: { service, ...request } }),
  };
}
