/**
 * Who a request comes from. The socket says it, unless it is a proxy that the operator named: then the last address
 * of `X-Forwarded-For` that is no such proxy (anything to the left of it could have been made up by the client).
 */
import { type BlockList, isIP } from 'node:net';
import { networkOf, networks, plainAddress } from '../../kernel/http/client-network.ts';
import type { Asking } from '../meter.ts';

interface Client {
  readonly key: string;
  readonly isAllowed: boolean;
}

export class Clients {
  readonly #proxies: BlockList | undefined;
  readonly #allowed: BlockList | undefined;
  readonly #ofSocket = new WeakMap<object, Client>();

  constructor(options: { readonly proxies: readonly string[]; readonly allowed: readonly string[] }) {
    this.#proxies = networks('TRUSTED_PROXIES', options.proxies);
    this.#allowed = networks('RATE_LIMITER_IPS_AND_CIDRS_ALLOWLIST', options.allowed);
  }

  /** The name of the client's bucket: its address, of IPv6 the /64 that one customer has. */
  keyOf(request: Asking): string {
    return this.#clientOf(request).key;
  }

  /** Not metered at all: by the address itself, since of a /64 a single one may be listed. */
  isAllowed(request: Asking): boolean {
    return this.#allowed !== undefined && this.#clientOf(request).isAllowed;
  }

  #clientOf(request: Asking): Client {
    const { socket } = request;
    const known = this.#ofSocket.get(socket);
    if (known !== undefined) return known;
    const peer = plainAddress(socket.remoteAddress);
    const isProxy = this.#proxies !== undefined && contains(this.#proxies, peer);
    const address = isProxy ? this.#behind(request, peer) : peer;
    const isAllowed = this.#allowed !== undefined && contains(this.#allowed, address);
    const client = { key: networkOf(address), isAllowed };
    if (!isProxy) this.#ofSocket.set(socket, client);
    return client;
  }

  #behind(request: Asking, peer: string): string {
    const forwarded = [request.headers['x-forwarded-for'] ?? []].flat().join(',').slice(-4_096);
    const hops = forwarded.split(',').map((hop) => plainAddress(hop.trim()));
    let nearest = peer;
    for (const hop of hops.toReversed()) {
      if (isIP(hop) === 0) break;
      nearest = hop;
      if (this.#proxies === undefined || !contains(this.#proxies, hop)) break;
    }
    return nearest;
  }
}

function contains(list: BlockList, address: string): boolean {
  const family = isIP(address);
  return family !== 0 && list.check(address, family === 6 ? 'ipv6' : 'ipv4');
}
