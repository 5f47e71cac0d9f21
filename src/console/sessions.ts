/**
 * Sessions of operators: the keys that were accepted, kept in this process's memory alone. The browser has a random
 * number instead of a key. Times are the machine's: a local network that travels in time ends no session.
 */
import { hash, randomBytes } from 'node:crypto';
import type { OperatorService } from './api.ts';

/** Without a request it ends after this. */
const idleMs = 30 * 60_000;
/** It ends after this in any case. */
const lifeMs = 12 * 3_600_000;
/** The one that was not used for longest makes room. */
const maxSessions = 100;

/** A key that somebody entered, or the installation's own, which is read when it is needed. */
export type SessionKey = { readonly text: string } | 'own';

export interface Session {
  readonly keys: ReadonlyMap<OperatorService, SessionKey>;
  /** Milliseconds that are left. */
  readonly leftMs: number;
}

interface Kept {
  readonly keys: Map<OperatorService, SessionKey>;
  readonly openedAt: number;
  usedAt: number;
}

export class Sessions {
  /** By the digest of their id, the one used last at the end: whoever reads memory or times look-ups learns no id. */
  readonly #kept = new Map<string, Kept>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /** The id is for the browser alone. */
  open(keys: ReadonlyMap<OperatorService, SessionKey>): string {
    const id = randomBytes(32).toString('base64url');
    const now = this.#now();
    this.#kept.set(digestOf(id), { keys: new Map(keys), openedAt: now, usedAt: now });
    const [oldest] = this.#kept.keys();
    if (this.#kept.size > maxSessions && oldest !== undefined) this.#kept.delete(oldest);
    return id;
  }

  /** A further key for one that is open. */
  add(id: string, keys: ReadonlyMap<OperatorService, SessionKey>): boolean {
    const kept = this.#find(id);
    if (kept === undefined) return false;
    for (const [service, key] of keys) kept.keys.set(service, key);
    return true;
  }

  /** `use`: it is asked for something, which puts its end off. */
  get(id: string | undefined, use = false): Session | undefined {
    const kept = id === undefined ? undefined : this.#find(id);
    if (id === undefined || kept === undefined) return undefined;
    if (use) {
      kept.usedAt = this.#now();
      const digest = digestOf(id);
      this.#kept.delete(digest);
      this.#kept.set(digest, kept);
    }
    return { keys: kept.keys, leftMs: this.#leftMs(kept) };
  }

  end(id: string): void {
    this.#kept.delete(digestOf(id));
  }

  #find(id: string): Kept | undefined {
    const digest = digestOf(id);
    const kept = this.#kept.get(digest);
    if (kept === undefined || this.#leftMs(kept) > 0) return kept;
    this.#kept.delete(digest);
    return undefined;
  }

  #leftMs({ openedAt, usedAt }: Kept): number {
    return Math.min(usedAt + idleMs, openedAt + lifeMs) - this.#now();
  }
}

const digestOf = (id: string): string => hash('sha256', id, 'base64url');
