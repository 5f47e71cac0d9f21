/** `Cache-Control` by what could still change: bytes never do, but blocks, names and manifests' gaps may. */
import type { Config } from '../../../config/config.ts';

export type CacheReason = 'content' | 'name' | 'fallback' | 'apex';

export interface Cacheable {
  readonly reason: CacheReason;
  /** It may never be mined. */
  readonly pending: boolean;
  readonly stable: boolean;
  readonly trusted: boolean;
  readonly size: number;
  readonly contentType: string;
  /** Of the name's record. */
  readonly ttlSeconds?: number;
}

export class CacheControl {
  readonly #privateSize: number;
  readonly #privateTypes: readonly RegExp[];

  constructor(config: Pick<Config, 'CACHE_PRIVATE_SIZE_THRESHOLD' | 'CACHE_PRIVATE_CONTENT_TYPES'>) {
    this.#privateSize = config.CACHE_PRIVATE_SIZE_THRESHOLD;
    this.#privateTypes = config.CACHE_PRIVATE_CONTENT_TYPES.map(
      (type) => new RegExp(`^${type.split('*').map(literal).join('[^/]*')}$`, 'i'),
    );
  }

  of(what: Cacheable): string {
    if (what.pending) return 'no-store';
    const type = what.contentType.split(';', 1)[0] ?? '';
    // Bytes that are metered must not be served on by somebody else's cache.
    const isPrivate = what.size > this.#privateSize || this.#privateTypes.some((one) => one.test(type));
    return `${isPrivate ? 'private' : 'public'}, ${lifetime(what)}`;
  }
}

function lifetime({ reason, stable, trusted, ttlSeconds }: Cacheable): string {
  if (reason === 'fallback') return 'max-age=60, must-revalidate';
  if (reason === 'name') return `max-age=${ttlSeconds ?? 900}`;
  if (reason === 'apex') return 'max-age=3600, must-revalidate';
  if (stable) return 'max-age=2592000, immutable';
  return trusted ? 'max-age=43200' : 'max-age=7200';
}

function literal(text: string): string {
  return text.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
}
