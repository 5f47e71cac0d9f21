/**
 * Who is told that a name was changed here, and who is asked what they show: gateway and router of this process, else
 * those that the settings name.
 */
import { join } from 'node:path';
import type { Config } from '../../config/config.ts';
import type { GatewaySurface } from '../../gateway/surface.ts';
import { readKey } from '../../kernel/keys.ts';
import type { NameChange, NameListener } from '../../names/changes.ts';
import type { KnownGateway } from '../../names/where.ts';
import { HttpClient } from '../../outside/http.ts';
import type { RouterSurface } from '../../router/surface.ts';
import type { ServiceKeys } from './service-keys.ts';

export interface NameReaders {
  /** Of this process; undefined where it is not started here. */
  readonly gateway: () => GatewaySurface | undefined;
  readonly router: () => RouterSurface | undefined;
  /** Where the gateway is that readers use. */
  readonly gatewayUrl: () => string;
}

const timeoutMs = 5_000;

export class NameListeners {
  readonly #http = new HttpClient({ timeoutMs, maxBytes: 64 * 1024, connections: 4 });
  readonly #config: Config;
  readonly #keys: ServiceKeys;
  readonly #readers: NameReaders;

  constructor(config: Config, keys: ServiceKeys, readers: NameReaders) {
    this.#config = config;
    this.#keys = keys;
    this.#readers = readers;
  }

  get listeners(): readonly NameListener[] {
    return [
      { name: 'gateway', tell: (changes) => this.#tellGateway(changes) },
      { name: 'router', tell: (changes) => this.#tellRouter(changes) },
      ...this.#config.ANNOUNCE_GATEWAYS.map((gateway) => ({
        name: gateway.url,
        tell: (changes: readonly NameChange[]) =>
          this.#post(changesAt(gateway.url), this.#keys.gatewayKey(gateway), changes),
      })),
    ];
  }

  /** The own one, those that are named, and those that the router has found. */
  gateways(): readonly KnownGateway[] {
    const { NAME_GATEWAYS, TRUSTED_GATEWAYS_URLS, ROUTING_STATIC_GATEWAYS } = this.#config;
    const told = this.#config.ANNOUNCE_GATEWAYS.map(({ url }) => url);
    const named = [this.#readers.gatewayUrl(), ...told, ...NAME_GATEWAYS];
    const trusted = [...TRUSTED_GATEWAYS_URLS, ...ROUTING_STATIC_GATEWAYS];
    return [
      ...[...named, ...trusted].map((origin) => ({ origin, foreign: false })),
      ...(this.#readers.router()?.gateways() ?? []),
    ];
  }

  close(): Promise<void> {
    return this.#http.close();
  }

  async #tellGateway(changes: readonly NameChange[]): Promise<void> {
    const own = this.#readers.gateway();
    if (own !== undefined) return own.namesChanged(changes);
    await this.#post(changesAt(this.#readers.gatewayUrl()), await this.#keys.adminKey(), changes);
  }

  /** One elsewhere only where the settings say where. */
  async #tellRouter(changes: readonly NameChange[]): Promise<void> {
    const own = this.#readers.router();
    if (own !== undefined) return own.namesChanged(changes);
    const { ROUTER_URL, MODERATION_ADMIN_TOKEN, DATA_DIR } = this.#config;
    const token = MODERATION_ADMIN_TOKEN ?? (await readKey(join(DATA_DIR, 'keys', 'moderation-admin-token')));
    if (ROUTER_URL === undefined || token === undefined) return;
    await this.#post(`${ROUTER_URL.replace(/\/+$/, '')}/router/names/changed`, token, changes);
  }

  async #post(url: string, key: string, changes: readonly NameChange[]): Promise<void> {
    const headers = { authorization: `Bearer ${key}` };
    const { status } = await this.#http.postJson(url, changes, { headers });
    // A gateway of another kind has no such route; it asks again when its time is over.
    if (status !== 404 && (status < 200 || status > 299)) throw new Error(`answered ${status}`);
  }
}

const changesAt = (gateway: string): string => `${gateway.replace(/\/+$/, '')}/ar-io/admin/name-changes`;
