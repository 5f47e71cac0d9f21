/** Where a name works: what the chain says, what each known gateway shows, and who is behind. */
import { LRUCache } from 'lru-cache';
import type { GatewayView, WhereAnswer } from '../formats/name-where.ts';
import { isPublicHost, publicLookup } from '../kernel/http/public-addresses.ts';
import { HttpClient } from '../outside/http.ts';
import { nameAtGateway, type ShownName } from '../outside/name-at-gateway.ts';
import type { NameRegistry } from '../registry/name-registry.ts';

export interface KnownGateway {
  readonly origin: string;
  /** Of a list that others make: it is asked at public addresses only. */
  readonly foreign: boolean;
}

interface WhereOptions {
  readonly registry: NameRegistry;
  /** The operator's own first. */
  readonly gateways: () => readonly KnownGateway[];
  readonly now: () => number;
}

/** One question costs as many as there are gateways. */
const maxGateways = 64;
const atOnce = 16;
const timeoutMs = 4_000;
const keptMs = 5_000;
const maxKept = 500;
const limits = { timeoutMs, maxBytes: 64 * 1024, connections: 4 };

export class NameWhere {
  readonly #options: WhereOptions;
  readonly #http = new HttpClient(limits);
  readonly #publicHttp = new HttpClient({ ...limits, lookup: publicLookup });
  readonly #answers = new LRUCache<string, Promise<WhereAnswer>>({ max: maxKept, ttl: keptMs });

  constructor(options: WhereOptions) {
    this.#options = options;
  }

  /** Whoever asks within a few seconds gets the same answer. Fails where the chain does not say. */
  ask(name: string, undername: string): Promise<WhereAnswer> {
    const label = undername === '@' ? name : `${undername}_${name}`;
    const kept = this.#answers.get(label);
    if (kept !== undefined) return kept;
    const asking = this.#ask(label, name, undername);
    this.#answers.set(label, asking);
    asking.catch(() => this.#answers.delete(label));
    return asking;
  }

  forget(name: string): void {
    for (const label of [...this.#answers.keys()]) {
      if (label === name || label.endsWith(`_${name}`)) this.#answers.delete(label);
    }
  }

  async close(): Promise<void> {
    await Promise.all([this.#http.close(), this.#publicHttp.close()]);
  }

  async #ask(label: string, name: string, undername: string): Promise<WhereAnswer> {
    const { registry, gateways, now } = this.#options;
    const said = await registry.resolve(name, undername);
    const asked = usable(gateways());
    const shown = await mapAtOnce(asked, ({ origin, foreign }) =>
      nameAtGateway(foreign ? this.#publicHttp : this.#http, origin, label, timeoutMs),
    );
    const target = said?.target ?? null;
    const views = asked.map(({ origin }, index) => viewOf(origin, shown[index]!, target, now()));
    return {
      name: label,
      target,
      ...(said !== undefined && { ttlSeconds: said.ttlSeconds, antId: said.antId }),
      readAt: new Date(now()).toISOString(),
      gateways: views,
      stale: views.flatMap(({ gateway, state }) => (state === 'stale' ? [gateway] : [])),
    };
  }
}

/** Each once; strangers' addresses do not lead into our own network. */
function usable(gateways: readonly KnownGateway[]): KnownGateway[] {
  const once = new Map<string, KnownGateway>();
  for (const { origin: url, foreign } of gateways) {
    if (!URL.canParse(url)) continue;
    const { origin, hostname } = new URL(url);
    if (once.has(origin) || (foreign && !isPublicHost(hostname))) continue;
    once.set(origin, { origin, foreign });
  }
  return [...once.values()].slice(0, maxGateways);
}

function viewOf(gateway: string, shown: ShownName, target: string | null, now: number): GatewayView {
  if (shown.state === 'silent') return { gateway, state: 'silent', target: null, problem: shown.problem };
  if (shown.state === 'absent') {
    return { gateway, state: target === null ? 'current' : 'stale', target: null };
  }
  const { id, ttlSeconds, resolvedAt, ageSeconds } = shown;
  const left =
    ttlSeconds === undefined || resolvedAt === undefined
      ? undefined
      : Math.max(0, Math.round(ttlSeconds - (now - resolvedAt) / 1_000));
  return {
    gateway,
    state: id === target ? 'current' : 'stale',
    target: id,
    ...(ttlSeconds !== undefined && { ttlSeconds }),
    ...(resolvedAt !== undefined && isTime(resolvedAt) && { resolvedAt: new Date(resolvedAt).toISOString() }),
    ...(left !== undefined && { secondsLeft: left }),
    ...(ageSeconds !== undefined && { ageSeconds }),
  };
}

/** What a `Date` can say, and what ISO 8601 says with four digits of a year. */
const isTime = (milliseconds: number): boolean => milliseconds < 253_402_300_800_000;

async function mapAtOnce<T, R>(entries: readonly T[], work: (entry: T) => Promise<R>): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < entries.length; index = next++) {
      results[index] = await work(entries[index]!);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return results;
}
