/** The facilitator over HTTP. What it says is read strictly; silence and nonsense are told apart from a refusal. */
import { Agent, request } from 'undici';
import type { FacilitatorRequest, SettleAnswer, VerifyAnswer } from '../../formats/x402/facilitator.ts';

const maxAnswerBytes = 256 * 1024;
const maxReasonLength = 200;

/** It did not answer, or not in its own protocol: whether a transfer was made is not known. */
export class FacilitatorUnavailable extends Error {
  override readonly name = 'FacilitatorUnavailable';
}

export interface FacilitatorOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`, where the facilitator wants one. */
  readonly token: string | undefined;
  readonly verifyTimeoutMs: number;
  readonly settleTimeoutMs: number;
}

export class FacilitatorClient {
  readonly #options: FacilitatorOptions;
  readonly #agent = new Agent({ connections: 32, connect: { timeout: 5_000 } });

  constructor(options: FacilitatorOptions) {
    this.#options = options;
  }

  async verify(body: FacilitatorRequest): Promise<VerifyAnswer> {
    const answer = await this.#post('verify', body, this.#options.verifyTimeoutMs);
    if (typeof answer.isValid !== 'boolean')
      throw new FacilitatorUnavailable('verify answered without isValid');
    const invalidReason = shortText(answer.invalidReason);
    return { isValid: answer.isValid, ...(invalidReason === undefined ? {} : { invalidReason }) };
  }

  async settle(body: FacilitatorRequest): Promise<SettleAnswer> {
    const answer = await this.#post('settle', body, this.#options.settleTimeoutMs);
    const { success, transaction } = answer;
    if (typeof success !== 'boolean') throw new FacilitatorUnavailable('settle answered without success');
    if (success && (typeof transaction !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(transaction))) {
      throw new FacilitatorUnavailable('settle answered without a transaction');
    }
    const errorReason = shortText(answer.errorReason);
    const payer = shortText(answer.payer);
    return {
      success,
      transaction: shortText(transaction) ?? '',
      network: body.paymentRequirements.network,
      ...(errorReason === undefined ? {} : { errorReason }),
      ...(payer === undefined ? {} : { payer }),
    };
  }

  close(): Promise<void> {
    return this.#agent.destroy();
  }

  async #post(path: string, body: object, timeoutMs: number): Promise<Record<string, unknown>> {
    const { url, token } = this.#options;
    try {
      const answer = await request(`${url}/${path}`, {
        method: 'POST',
        dispatcher: this.#agent,
        headersTimeout: timeoutMs,
        bodyTimeout: timeoutMs,
        signal: AbortSignal.timeout(timeoutMs),
        headers: {
          'content-type': 'application/json',
          accept: 'application/json',
          ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
        },
        body: JSON.stringify(body),
      });
      const parsed: unknown = JSON.parse(await limitedText(answer.body));
      // Some facilitators answer a refusal with 400 and the ordinary body.
      if (typeof parsed !== 'object' || parsed === null || Array.isArray(parsed)) {
        throw new Error(`status ${answer.statusCode} without an object`);
      }
      if (answer.statusCode >= 500) throw new Error(`status ${answer.statusCode}`);
      return { ...parsed };
    } catch (cause) {
      throw new FacilitatorUnavailable(`${path} failed`, { cause });
    }
  }
}

async function limitedText(body: AsyncIterable<Buffer>): Promise<string> {
  const parts: Buffer[] = [];
  let size = 0;
  for await (const part of body) {
    size += part.length;
    if (size > maxAnswerBytes) throw new Error('answer too large');
    parts.push(part);
  }
  return Buffer.concat(parts).toString();
}

/** A text member, cut to what is worth keeping. */
function shortText(value: unknown): string | undefined {
  return typeof value === 'string' ? value.slice(0, maxReasonLength) : undefined;
}
