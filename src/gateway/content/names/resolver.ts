/**
 * Where a name points. Answers are kept for as long as the record says; a stale one is served at once while a
 * fresh one is fetched, and when none can be had. One question at a time for each name, whoever asks.
 */
import { LRUCache } from 'lru-cache';
import type { NameChange } from '../../../delivery/name-changes.ts';
import { atMost } from '../../../kernel/at-most.ts';
import { Together } from '../../../kernel/background/together.ts';
import { within } from '../../../kernel/background/within.ts';
import type { Logger } from '../../../kernel/log.ts';
import { NameAbsent, Unavailable, upstreamUnavailable } from '../../errors.ts';
import { isOwn, type Journey, ownJourney } from '../sources/source.ts';

/** What a name or undername resolves to. */
export interface NameTarget {
  readonly id: string;
  readonly ttlSeconds: number;
  /** The token that governs the name. */
  readonly antId: string;
  readonly antProgramId?: string;
  readonly undernameLimit?: number;
  /** `@` is 0. */
  readonly recordIndex?: number;
  /** Where the network is that it was read from, if that is another one. */
  readonly fork?: string;
}

/** Somebody who knows names: the registry on the chain, or another gateway. */
export interface NameSource {
  readonly name: string;
  /** Whether it is asked for a request that came this way; always, where it does not say. */
  asks?(journey: Journey): boolean;
  /** Counts what may have changed names, where the source knows it: older answers are asked for again. */
  changes?(): number;
  /** undefined: the name is known to point nowhere. Throws `Unavailable` where not all were asked, or what failed. */
  resolve(name: string, undername: string, journey: Journey): Promise<NameTarget | undefined>;
}

export interface ResolvedTarget extends NameTarget {
  /** Unix milliseconds. */
  readonly resolvedAt: number;
}

export interface NameResolverOptions {
  readonly sources: readonly NameSource[];
  readonly log: Logger;
  /** In place of what records say; 0 = as they say. */
  readonly overrideTtlSeconds: number;
  /** How long a stale answer waits for a fresh one before it is served. */
  readonly staleWaitMs: number;
  onHit?(): void;
  onMiss?(): void;
  /** For tests: unix milliseconds, and milliseconds of a clock that is never set. */
  readonly now?: () => number;
  readonly steadyNow?: () => number;
}

/** How long "there is no such name" is believed. */
const absentMs = 30_000;
/** After a change somebody may still tell what was before it: answers are believed briefly. */
const settlingMs = 60_000;
const unsettledMs = 2_000;
/** Answers are kept this long beyond their time, to be served when nobody can be asked. */
const keepMs = 24 * 3_600_000;

interface Entry {
  readonly target: ResolvedTarget | undefined;
  /** By the clock that is never set. */
  readonly learntAt: number;
  readonly freshMs: number;
  /** Of the sources, when they were asked. */
  readonly changes: number;
}

export class NameResolver {
  readonly #options: NameResolverOptions;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #entries = new LRUCache<string, Entry>({ ...atMost(20_000), ttl: keepMs });
  readonly #asking = new Together<string, Entry>();
  /** Names that were changed a moment ago. */
  readonly #changed = new LRUCache<string, true>({ ...atMost(20_000), ttl: settlingMs });

  constructor(options: NameResolverOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#steadyNow = options.steadyNow ?? (() => performance.now());
  }

  /** Throws `NameAbsent` where it points nowhere for certain. */
  async resolve(name: string, undername: string, journey: Journey = ownJourney): Promise<ResolvedTarget> {
    const { target } = await this.#resolve(name, undername, journey);
    if (target === undefined) throw new NameAbsent();
    return target;
  }

  async #resolve(name: string, undername: string, journey: Journey): Promise<Entry> {
    const key = `${undername}_${name}`;
    const kept = this.#entries.get(key);
    const entry = kept?.changes === this.#changes() ? kept : undefined;
    if (entry !== undefined && this.#steadyNow() - entry.learntAt < entry.freshMs) {
      this.#options.onHit?.();
      return entry;
    }
    this.#options.onMiss?.();
    // A request that came through another gateway asks alone: two that ask each other would wait for each other.
    const isAlone = !isOwn(journey);
    const asking = isAlone ? this.#askSources(name, undername, journey) : this.#ask(key, name, undername);
    if (entry?.target === undefined) return await asking;
    return (
      (await within(
        this.#options.staleWaitMs,
        asking.catch(() => undefined),
      )) ?? entry
    );
  }

  /** The next question asks the sources again; what they were asked before is not kept. */
  forget({ name, undername }: NameChange): void {
    this.#changed.set(name, true);
    const isOf =
      undername === undefined
        ? (key: string) => key.endsWith(`_${name}`)
        : (key: string) => key === `${undername}_${name}`;
    for (const key of [...this.#entries.keys()].filter(isOf)) this.#entries.delete(key);
    this.#asking.forget(isOf);
  }

  #changes(): number {
    return this.#options.sources.reduce((sum, source) => sum + (source.changes?.() ?? 0), 0);
  }

  #ask(key: string, name: string, undername: string): Promise<Entry> {
    return this.#asking.run(key, async (isForgotten) => {
      const entry = await this.#askSources(name, undername, ownJourney);
      if (!isForgotten()) this.#entries.set(key, entry);
      return entry;
    });
  }

  async #askSources(name: string, undername: string, journey: Journey): Promise<Entry> {
    const { sources, overrideTtlSeconds, log } = this.#options;
    const changes = this.#changes();
    let failed: unknown;
    let askedAll = true;
    for (const source of sources) {
      if (source.asks?.(journey) === false) {
        askedAll = false;
        continue;
      }
      try {
        const target = await source.resolve(name, undername, journey);
        if (target === undefined) continue;
        const ttlSeconds = overrideTtlSeconds || target.ttlSeconds;
        const freshMs = this.#changed.has(name) ? unsettledMs : ttlSeconds * 1000;
        return {
          target: { ...target, ttlSeconds, resolvedAt: this.#now() },
          learntAt: this.#steadyNow(),
          freshMs,
          changes,
        };
      } catch (error) {
        if (error instanceof Unavailable) {
          askedAll = false;
          continue;
        }
        log.debug({ name, undername, source: source.name, err: error }, 'a name source failed');
        failed = error;
      }
    }
    if (failed !== undefined || sources.length === 0) throw upstreamUnavailable(failed);
    if (!askedAll) throw new Unavailable('not-asked');
    const freshMs = this.#changed.has(name) ? unsettledMs : absentMs;
    return { target: undefined, learntAt: this.#steadyNow(), freshMs, changes };
  }
}
