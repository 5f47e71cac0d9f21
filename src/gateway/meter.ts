/**
 * The meter as the byte routes call it: before the bytes of an answer leave, once its size is known.
 *
 *     const charged = meter.charge(request, bytes, resource, contentType);
 *     if (charged !== undefined) reply.headers(await charged);
 *
 * Where the client has tokens, the answer is undefined at once, without a promise: the hot path is two look-ups.
 * Otherwise paid tokens and a payment that came along are tried, and the refusal is 402 or 429.
 */
import type { Request } from '../kernel/http/server.ts';

/** Of a request what tells who asks, known before the framework has seen it. */
export type Asking = Pick<Request, 'headers' | 'socket'>;

export interface Meter {
  /** False where nothing is metered: answers may then be cached by everyone. */
  readonly enabled: boolean;
  /**
   * Takes the tokens of an answer of so many body bytes (0 for HEAD; an answer 304 is not charged). `resource` names
   * what is read, whatever way it is read; undefined where the client alone is charged. `contentType` is what a payer is
   * told that the bytes are. Throws 402 or 429; the promise, where there is one, is of headers to send.
   */
  charge(
    request: Request,
    bytes: number,
    resource: string | undefined,
    contentType: string,
  ): Promise<Readonly<Record<string, string>>> | undefined;
  /** The same where the tokens are at hand, and says whether they were; else nothing is taken and `charge` is to be called. */
  chargeNow(request: Asking, bytes: number, resource: string | undefined): boolean;
}

export const freeMeter: Meter = { enabled: false, charge: () => undefined, chargeNow: () => true };
