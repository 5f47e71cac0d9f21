/** The facilitator over HTTP. What it says is read strictly; silence and nonsense are told apart from a refusal. */
import { isRecord, memberOf, textOf, tryParseJson } from '../../formats/json.ts';
import type { FacilitatorRequest, SettleAnswer, VerifyAnswer } from '../../formats/x402/facilitator.ts';
import { HttpClient } from '../../outside/http.ts';
import { parseEthereumAddress } from '../../wallets/ethereum/address.ts';
import { FacilitatorUnavailable } from './errors.ts';

const maxBytes = 256 * 1024;
const maxReasonLength = 200;
/** A facilitator names a kind per network and scheme. */
const maxKinds = 1_000;

export interface FacilitatorOptions {
  readonly url: string;
  /** Sent as `Authorization: Bearer`, where the facilitator wants one. */
  readonly token: string | undefined;
  readonly verifyTimeoutMs: number;
  readonly settleTimeoutMs: number;
}

export class FacilitatorClient {
  readonly #options: FacilitatorOptions;
  readonly #http: HttpClient;

  constructor(options: FacilitatorOptions) {
    this.#options = options;
    this.#http = new HttpClient({ timeoutMs: options.settleTimeoutMs, maxBytes });
  }

  async verify(body: FacilitatorRequest): Promise<VerifyAnswer> {
    const answer = await this.#post('verify', body, this.#options.verifyTimeoutMs);
    if (typeof answer.isValid !== 'boolean')
      throw new FacilitatorUnavailable('verify answered without isValid');
    const invalidReason = shortText(answer, 'invalidReason');
    return { isValid: answer.isValid, ...(invalidReason === undefined ? {} : { invalidReason }) };
  }

  async settle(body: FacilitatorRequest): Promise<SettleAnswer> {
    const answer = await this.#post('settle', body, this.#options.settleTimeoutMs);
    const { success, transaction } = answer;
    if (typeof success !== 'boolean') throw new FacilitatorUnavailable('settle answered without success');
    if (success && (typeof transaction !== 'string' || !/^0x[0-9a-fA-F]{64}$/.test(transaction))) {
      throw new FacilitatorUnavailable('settle answered without a transaction');
    }
    const { paymentRequirements: required } = body;
    const amount = required.scheme === 'upto' && 'amount' in required ? required.amount : undefined;
    // What was taken decides what is credited: the chain is asked where it is not what we asked for.
    if (success && amount !== undefined && (shortText(answer, 'amount') ?? amount) !== amount) {
      throw new FacilitatorUnavailable('settle took another amount');
    }
    const errorReason = shortText(answer, 'errorReason');
    const payer = shortText(answer, 'payer');
    return {
      success,
      transaction: shortText(answer, 'transaction') ?? '',
      network: body.paymentRequirements.network,
      ...(errorReason === undefined ? {} : { errorReason }),
      ...(payer === undefined ? {} : { payer }),
      ...(success && amount !== undefined && { amount }),
    };
  }

  /** Where it takes payments by the `upto` scheme, and at which address, by CAIP-2 name. */
  async upToAddresses(): Promise<Map<string, string>> {
    const answer = await this.#ask('supported', { timeoutMs: this.#options.verifyTimeoutMs });
    const kinds = Array.isArray(answer.kinds) ? answer.kinds.slice(0, maxKinds) : [];
    const addresses = new Map<string, string>();
    for (const kind of kinds) {
      const network = shortText(kind, 'network');
      const address = shortText(memberOf(kind, 'extra'), 'facilitatorAddress');
      if (memberOf(kind, 'scheme') !== 'upto' || memberOf(kind, 'x402Version') !== 2) continue;
      if (network !== undefined && parseEthereumAddress(address ?? '') !== undefined) {
        addresses.set(network, address ?? '');
      }
    }
    return addresses;
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  #post(path: string, body: object, timeoutMs: number): Promise<Record<string, unknown>> {
    return this.#ask(path, { body, timeoutMs });
  }

  async #ask(
    path: string,
    { body, timeoutMs }: { readonly body?: object; readonly timeoutMs: number },
  ): Promise<Record<string, unknown>> {
    const { url, token } = this.#options;
    const headers = {
      accept: 'application/json',
      ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    };
    const call = { headers, timeoutMs };
    const asked =
      body === undefined
        ? this.#http.call(`${url}/${path}`, call)
        : this.#http.postJson(`${url}/${path}`, body, call);
    const answer = await asked.catch((cause: unknown) => {
      throw new FacilitatorUnavailable(`${path} failed`, { cause });
    });
    // Some facilitators answer a refusal with 400 and the ordinary body.
    const parsed = tryParseJson(answer.body.toString('utf8'));
    if (answer.status >= 500 || !isRecord(parsed)) {
      throw new FacilitatorUnavailable(`${path} failed with status ${answer.status}`);
    }
    return parsed;
  }
}

const shortText = (answer: unknown, name: string) => textOf(answer, name, maxReasonLength);
