/** What was learnt about ids: how long it is believed depends on how deep in the chain it is. */
import { LRUCache } from 'lru-cache';
import type { Unavailability } from '../../delivery/availability.ts';
import { atMost } from '../../kernel/at-most.ts';
import { type Described, hashOfNothing } from './opened.ts';
import type { SourceBytes } from './sources/source.ts';

/** Attributes may change until a block is deep: they are read again so soon. */
const unstableMs = 2_000;
const stableMs = 600_000;
/** How long it is believed that nodes and other gateways have nothing. */
const absentMs = 5_000;

export class DescriptionCache {
  readonly #described = new LRUCache<string, Described>({
    ...atMost(10_000),
    ttl: unstableMs,
    ttlAutopurge: false,
  });
  readonly #unavailable = new LRUCache<string, Unavailability>({ ...atMost(20_000), ttl: absentMs });
  /** Of content that the index has no record of: what its bytes were when they were last here. */
  readonly #hashes = new LRUCache<string, string>(atMost(20_000));

  get(id: string): Described | undefined {
    return this.#described.get(id);
  }

  /** Something that was asked for and has these bytes; what else was learnt about it may be out of date. */
  idWithHash(hash: string): string | undefined {
    return this.#described.dump().find(([, { value }]) => value.hash === hash)?.[0];
  }

  /** What those who were asked a moment ago came to, where none of them has it. */
  unavailability(id: string): Unavailability | undefined {
    return this.#unavailable.get(id);
  }

  remember(described: Described): Described {
    this.#described.set(described.id, described, { ttl: described.stable ? stableMs : unstableMs });
    return described;
  }

  /** What the index says; of a pruned or moved record it does not say the hash. */
  know(described: Described): Described {
    const hash = described.hash ?? this.#hashes.get(described.id);
    const { isPruned, isMoved } = described.located ?? {};
    return this.remember(isPruned === true || isMoved === true ? { ...described, hash } : described);
  }

  rememberUnavailable(id: string, state: Unavailability): void {
    this.#unavailable.set(id, state);
  }

  rememberHash(id: string, hash: string): void {
    this.#hashes.set(id, hash);
  }

  /** What a source said about something that the index does not know. */
  learn(id: string, bytes: SourceBytes): Described {
    const { fork } = bytes;
    return this.remember({
      id,
      size: bytes.size,
      contentType: bytes.contentType,
      contentEncoding: bytes.contentEncoding,
      hash: bytes.size === 0 ? hashOfNothing : (this.#hashes.get(id) ?? fork?.hash),
      verified: fork?.isVerified ?? false,
      stable: false,
      located: undefined,
      ...(fork !== undefined && { fork: fork.shown }),
    });
  }

  forget(id: string): void {
    this.#described.delete(id);
    this.#unavailable.delete(id);
  }
}
