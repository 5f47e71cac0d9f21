/**
 * Names by agreement of the verification gateways, and what is remembered of it: a target is believed for its
 * time to live, used a while longer while it is asked for again, and long after when nobody can be asked. That a
 * name points nowhere is remembered briefly.
 */
import { LRUCache } from 'lru-cache';
import type { NameChange } from '../../delivery/name-changes.ts';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import { Together } from '../../kernel/background/together.ts';
import type { Logger } from '../../kernel/log.ts';
import { contentRefused, nameConflict, nameNotFound, nameUnavailable, nameUnsupported } from '../errors.ts';
import type { Gateway } from '../gateways/gateway.ts';
import { askName } from './ask-name.ts';
import { type Ballot, type ConsensusRules, decide, type Verdict } from './consensus.ts';

export interface ResolvedName extends KeptName {
  readonly label: string;
  readonly id: TxId;
  /** Seconds for which a reader may keep the answer. */
  readonly freshSeconds: number;
  /** Older than it should be: nobody could be asked, or they are being asked. */
  readonly stale: boolean;
}

export interface NameResolverOptions {
  readonly verifiers: () => readonly Gateway[];
  readonly rules: ConsensusRules;
  /** Whether a gateway is this operator's own. */
  readonly isOwn?: (origin: string) => boolean;
  readonly maxTtlMs: number;
  readonly log: Logger;
  readonly onBallot: (gateway: string, agreed: boolean) => void;
  readonly onResolution: (outcome: Verdict['kind'] | 'stale') => void;
  readonly timeoutMs?: number;
  /** For tests: unix milliseconds, and milliseconds of a clock that is never set. */
  readonly now?: () => number;
  readonly steadyNow?: () => number;
  /** Keeps names between restarts. */
  readonly keep?: NameKeeper;
}

export interface NameKeeper {
  load(label: string): Promise<KeptName | undefined>;
  save(label: string, kept: KeptName): void;
  /** The name points nowhere, or what it points at is to be asked for again. */
  remove(label: string): void;
}

export interface KeptName {
  readonly id: string;
  readonly antId: string | undefined;
  /** As the record says. */
  readonly ttlSeconds: number;
  /** Unix milliseconds. */
  readonly resolvedAt: number;
  readonly by: readonly string[];
}

const maxNames = 50_000;
const defaultTtlSeconds = 300;
const leastTtlMs = 10_000;
const negativeMs = 30_000;
const revalidateMs = 5 * 60_000;
/** After a change somebody may still tell what was before it: answers are believed briefly. */
const settlingMs = 60_000;
const unsettledMs = 2_000;
/** As long as any record may be kept: so long others may show what was before a change. */
const othersBehindMs = 24 * 3_600_000;
const errorMs = 24 * 3_600_000;

export class NameResolver {
  readonly #options: NameResolverOptions;
  readonly #now: () => number;
  readonly #steadyNow: () => number;
  readonly #names = new LRUCache<string, KeptName>(atMost(maxNames));
  /** Since when this process has each, by the clock that is never set: the other one may show the same time twice. */
  readonly #keptAt = new WeakMap<KeptName, number>();
  readonly #absent = new LRUCache<string, number>(atMost(maxNames));
  /** Names whose kept target is not to be used: its removal may still be on its way to the disk. */
  readonly #dropped = new LRUCache<string, true>(atMost(maxNames));
  readonly #asking = new Together<string, Verdict>();
  /** Names that were changed, with the time: what was learnt before is not used, whoever kept it. */
  readonly #changed = new LRUCache<string, number>(atMost(maxNames));
  /** Names of which the last that was heard is that nobody can tell: their readers do not wait to hear it again. */
  readonly #untold = new LRUCache<string, true>(atMost(maxNames));

  constructor(options: NameResolverOptions) {
    this.#options = options;
    this.#now = options.now ?? Date.now;
    this.#steadyNow = options.steadyNow ?? (() => performance.now());
  }

  get size(): number {
    return this.#names.size;
  }

  /** What the label points at; throws 404, 502 or 503 as the gateways' answers demand. */
  async resolve(label: string): Promise<ResolvedName> {
    const now = this.#now();
    const absentFor = (this.#absent.get(label) ?? 0) - now;
    // What is remembered for longer than anything is was learnt by a clock that was ahead.
    if (absentFor > 0 && absentFor <= negativeMs) throw nameNotFound(label);
    const known = this.#names.get(label) ?? (await this.#load(label));
    if (known !== undefined) {
      const age = this.#ageOf(known);
      const life = this.#lifeMs(label, known);
      if (age < life) return this.#answer(label, known, false);
      if (
        (!this.#isUnsettled(label, known.resolvedAt) && age < life + revalidateMs) ||
        (age < errorMs && this.#untold.has(label))
      ) {
        void this.#ask(label).catch(() => {});
        return this.#answer(label, known, true);
      }
    }
    const verdict = await this.#ask(label);
    if (verdict.kind === 'agreed') {
      return this.#answer(label, this.#names.get(label) ?? keptOf(verdict, now), false);
    }
    if (verdict.kind === 'absent') throw nameNotFound(label);
    if (verdict.kind === 'unavailable' && verdict.refused === true) throw contentRefused();
    const usable =
      known !== undefined &&
      this.#ageOf(known) < errorMs &&
      (verdict.kind === 'unavailable' || verdict.ids.includes(known.id));
    if (usable) {
      this.#options.onResolution('stale');
      return this.#answer(label, known, true);
    }
    throw verdict.kind === 'conflict' ? nameConflict(label) : nameUnavailable(label);
  }

  /** What each verification gateway says right now, for the operator. */
  async poll(label: string): Promise<readonly Ballot[]> {
    return await Promise.all(
      this.#options.verifiers().map(async (gateway) => ({
        gateway: gateway.origin,
        vote: await askName(gateway, label, this.#options.timeoutMs ?? 5_000),
      })),
    );
  }

  forget(label: string): void {
    this.#absent.delete(label);
    this.#drop(label);
  }

  /** Where a name, or one of its undernames, points was changed on the chain: the gateways are asked again. */
  changed({ name, undername }: NameChange): void {
    const now = this.#now();
    this.#changed.set(name, now);
    const isOf =
      undername === undefined
        ? (label: string) => nameOf(label) === name
        : (label: string) => label === (undername === '@' ? name : `${undername}_${name}`);
    for (const label of [...this.#absent.keys()].filter(isOf)) this.#absent.delete(label);
    for (const label of [...this.#names.keys()].filter(isOf)) this.#drop(label);
    // Who waits is told what comes; it is not remembered.
    this.#asking.forget(isOf);
  }

  /** Whether what was learnt then may be what stood before a change. */
  #isUnsettled(label: string, learntAt: number): boolean {
    return learntAt - (this.#changed.get(nameOf(label)) ?? Number.NEGATIVE_INFINITY) < settlingMs;
  }

  #drop(label: string): void {
    this.#names.delete(label);
    this.#dropped.set(label, true);
    this.#options.keep?.remove(label);
  }

  #answer(label: string, known: KeptName, stale: boolean): ResolvedName {
    const { id } = known;
    if (!isTxId(id)) throw nameUnsupported(label);
    const left = this.#lifeMs(label, known) - this.#ageOf(known);
    return { ...known, id, label, freshSeconds: Math.max(0, Math.floor(left / 1_000)), stale };
  }

  #keep(label: string, kept: KeptName): void {
    this.#keptAt.set(kept, this.#steadyNow());
    this.#names.set(label, kept);
  }

  /** A clock that is set makes nothing younger, neither back nor when the time comes that it showed. */
  #ageOf(kept: KeptName): number {
    const steadyNow = this.#steadyNow();
    const keptMs = steadyNow - (this.#keptAt.get(kept) ?? steadyNow);
    return Math.max(keptMs, Math.abs(this.#now() - kept.resolvedAt));
  }

  #lifeMs(label: string, { ttlSeconds, resolvedAt }: KeptName): number {
    if (this.#isUnsettled(label, resolvedAt)) return unsettledMs;
    return Math.max(Math.min(ttlSeconds * 1_000, this.#options.maxTtlMs), leastTtlMs);
  }

  async #load(label: string): Promise<KeptName | undefined> {
    if (this.#dropped.has(label)) return undefined;
    const kept = await this.#options.keep?.load(label).catch(() => undefined);
    if (kept === undefined || kept.resolvedAt < (this.#changed.get(nameOf(label)) ?? 0)) return undefined;
    if (this.#names.get(label) === undefined) this.#keep(label, kept);
    return kept;
  }

  /** One question for everybody who asks for the same name. */
  #ask(label: string): Promise<Verdict> {
    return this.#asking.run(label, async (isForgotten) => {
      const verdict = await this.#vote(label);
      if (!isForgotten()) this.#learn(label, verdict);
      return verdict;
    });
  }

  #learn(label: string, verdict: Verdict): void {
    const { onResolution, keep, log } = this.#options;
    onResolution(verdict.kind);
    const isRefused = verdict.kind === 'unavailable' && verdict.refused === true;
    if (verdict.kind === 'unavailable' && !isRefused) this.#untold.set(label, true);
    else this.#untold.delete(label);
    if (verdict.kind === 'agreed') {
      const kept = keptOf(verdict, this.#now());
      this.#keep(label, kept);
      this.#absent.delete(label);
      this.#dropped.delete(label);
      keep?.save(label, kept);
    } else if (verdict.kind === 'absent') {
      this.#absent.set(
        label,
        this.#now() + (this.#isUnsettled(label, this.#now()) ? unsettledMs : negativeMs),
      );
      this.#drop(label);
    } else {
      // What was known of it is what they refuse now.
      if (isRefused) this.#drop(label);
      log.warn({ name: label, verdict }, 'a name could not be resolved');
    }
  }

  /** Asks all at once; who answers after it is decided is not waited for. */
  #vote(label: string): Promise<Verdict> {
    const { timeoutMs = 5_000 } = this.#options;
    const { gateways, rules } = this.#voters(label);
    if (gateways.length === 0) return Promise.resolve({ kind: 'unavailable' });
    const { promise, resolve } = Promise.withResolvers<Verdict>();
    const ballots: Ballot[] = [];
    let decided = false;
    for (const gateway of gateways) {
      void askName(gateway, label, timeoutMs).then((vote) => {
        if (decided) return;
        ballots.push({ gateway: gateway.origin, vote });
        const verdict = decide(ballots, gateways.length - ballots.length, rules);
        if (verdict === undefined) return;
        decided = true;
        this.#count(label, ballots, verdict);
        resolve(verdict);
      });
    }
    return promise;
  }

  /** All; of a name that this operator's service changed, the operator's own gateways: others may be behind. */
  #voters(label: string): { readonly gateways: readonly Gateway[]; readonly rules: ConsensusRules } {
    const { verifiers, rules, isOwn } = this.#options;
    const gateways = verifiers().filter(({ health }) => health.state !== 'quarantined');
    const since = this.#now() - (this.#changed.get(nameOf(label)) ?? Number.NEGATIVE_INFINITY);
    if (isOwn === undefined || since >= othersBehindMs) return { gateways, rules };
    const own = gateways.filter(({ origin }) => isOwn(origin));
    if (own.length === 0) return { gateways, rules };
    return { gateways: own, rules: { ...rules, threshold: Math.min(rules.threshold, own.length) } };
  }

  #count(label: string, ballots: readonly Ballot[], verdict: Verdict): void {
    if (verdict.kind !== 'agreed' && verdict.kind !== 'absent') return;
    for (const { gateway, vote } of ballots) {
      if (vote.kind === 'silent') continue;
      const agreed = verdict.by.includes(gateway);
      this.#options.onBallot(gateway, agreed);
      if (!agreed) {
        this.#options.log.warn({ name: label, gateway, vote, verdict }, 'a gateway disagrees about a name');
      }
    }
  }
}

/** Undernames stand before their name, which has no underscore. */
const nameOf = (label: string): string => label.slice(label.lastIndexOf('_') + 1);

function keptOf(verdict: Verdict & { kind: 'agreed' }, now: number): KeptName {
  const { id, antId, ttlSeconds = defaultTtlSeconds, by } = verdict;
  return { id, antId, ttlSeconds, resolvedAt: now, by };
}
