/** The routes of a payment service that a wallet signs for. */
import { memberOf, tryParseJson } from '../formats/json.ts';
import { StartupError } from '../kernel/errors.ts';
import type { PersonKey } from './person-key.ts';
import { ServiceClient } from './service-client.ts';
import { serviceAddress, signedHeaders } from './signed-request.ts';

export class WalletClient {
  readonly #service: ServiceClient;
  readonly #key: PersonKey;
  #address: string | undefined;

  constructor(url: string, key: PersonKey) {
    this.#service = new ServiceClient('payment service', url, 60_000);
    this.#key = key;
  }

  /** `path` with its query, as it is sent. */
  async headers(
    method: 'GET' | 'POST' | 'DELETE',
    path: string,
    body?: object,
  ): Promise<Record<string, string>> {
    this.#address ??= await this.#serviceAddress();
    return signedHeaders(this.#key, {
      ...{ service: this.#address, method, path },
      ...(body !== undefined && { body }),
    });
  }

  /** Throws what the service refused, in its own words. */
  async call(method: 'GET' | 'POST' | 'DELETE', path: string, body?: object): Promise<unknown> {
    const headers = await this.headers(method, path, body);
    const { status, text } = await this.#service.call(path, { method, headers }, body);
    const parsed = tryParseJson(text) ?? text.slice(0, 500);
    if (status >= 400) throw new StartupError(`${status}: ${String(memberOf(parsed, 'error') ?? parsed)}`);
    return parsed;
  }

  async #serviceAddress(): Promise<string> {
    const { text } = await this.#service.call('/v1/info');
    return serviceAddress(tryParseJson(text), this.#service.url);
  }
}
