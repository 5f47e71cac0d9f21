/**
 * Gateways whose bytes for an id were not what they had to be, as long as it is not certain who was wrong. Anybody
 * can publish what no gateway can serve rightly: an item whose signature is bad, a root over chunks that are cut
 * otherwise. So a gateway is only held to such bytes once others for the same id are proven; until then, others are
 * asked first.
 */
import { LRUCache } from 'lru-cache';
import type { TxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import type { Gateway } from '../gateways/gateway.ts';

/** What a gateway sent, or would have sent. */
export interface Sent {
  /** SHA-256, hex; undefined where it was not sent to its end. */
  readonly digest: string | undefined;
  readonly size: number | undefined;
  /** Whether it said beforehand how much it sends: else what is too short may be cut off, and no lie. */
  readonly promised: boolean;
}

const maxIds = 10_000;
const rememberedMs = 600_000;

export class Suspects {
  readonly #suspects = new LRUCache<TxId, Map<Gateway, Sent>>({ ...atMost(maxIds), ttl: rememberedMs });

  add(id: TxId, gateway: Gateway, sent: Sent): void {
    const suspected = this.#suspects.get(id) ?? new Map<Gateway, Sent>();
    this.#suspects.set(id, suspected.set(gateway, sent));
  }

  /** Those to be asked last. */
  about(id: TxId): Gateway[] {
    return [...(this.#suspects.get(id)?.keys() ?? [])];
  }

  /** The right bytes are known: answers those who sent others. */
  settle(id: TxId, right: { readonly digest: string; readonly size: number }): Gateway[] {
    const suspected = this.#suspects.get(id);
    if (suspected === undefined) return [];
    this.#suspects.delete(id);
    return [...suspected].flatMap(([gateway, { digest, size, promised }]) => {
      if (!promised && size !== undefined && size < right.size) return [];
      const differs =
        digest === undefined ? size !== undefined && size !== right.size : digest !== right.digest;
      return differs ? gateway : [];
    });
  }
}
