/**
 * Where items lie in their bundles, as gateways tell it: clients ask for it by `HEAD`, to read an item's signature
 * or its chunks for themselves. Nobody has proven it; what it leads to, they check.
 */
import { LRUCache } from 'lru-cache';
import { isTxId, type TxId } from '../../formats/base64url.ts';
import { atMost } from '../../kernel/at-most.ts';
import { within } from '../../kernel/background/within.ts';
import { headerOf } from '../../outside/answer-head.ts';
import { discard, type GatewayAnswer } from '../gateways/gateway.ts';
import type { Headers } from './headers.ts';

const rootHeader = 'x-ar-io-root-transaction-id';
const offsetHeaders = [
  'x-ar-io-data-item-offset',
  'x-ar-io-data-item-data-offset',
  'x-ar-io-data-item-root-parent-offset',
  'x-ar-io-data-item-size',
  'x-ar-io-root-data-item-offset',
  'x-ar-io-root-data-offset',
  'x-ar-io-root-item-offset',
  'x-ar-io-root-item-size',
] as const;

const maxPlacements = 20_000;
/** Items are placed later than they are first read, and in rare cases anew. */
const believedMs = 3_600_000;
const absentMs = 60_000;
/** `HEAD` is how clients measure: it does not wait for long. */
const timeoutMs = 500;

export class Placements {
  readonly #ask: (id: TxId) => Promise<GatewayAnswer>;
  readonly #known = new LRUCache<TxId, Headers>({ ...atMost(maxPlacements), ttl: believedMs });
  readonly #asked = new LRUCache<TxId, Promise<void>>({ ...atMost(maxPlacements), ttl: absentMs });

  /** `ask` puts a `HEAD` to some gateway. */
  constructor(ask: (id: TxId) => Promise<GatewayAnswer>) {
    this.#ask = ask;
  }

  /** What is known, without asking. */
  at(id: TxId): Headers | undefined {
    return this.#known.get(id);
  }

  note(id: TxId, answer: GatewayAnswer): void {
    const placement = placementOf(answer);
    if (placement !== undefined) this.#known.set(id, placement);
  }

  /** What is known, or can be learnt at once. */
  async find(id: TxId): Promise<Headers | undefined> {
    const known = this.#known.get(id);
    if (known !== undefined) return known;
    let asking = this.#asked.get(id);
    if (asking === undefined) {
      asking = this.#learn(id).catch(() => {});
      this.#asked.set(id, asking);
    }
    await within(timeoutMs, asking);
    return this.#known.get(id);
  }

  async #learn(id: TxId): Promise<void> {
    const answer = await this.#ask(id);
    discard(answer);
    if (answer.status === 200) this.note(id, answer);
  }
}

/** The headers as they may be passed on; undefined where the answer tells of no place. */
export function placementOf({ headers }: Pick<GatewayAnswer, 'headers'>): Headers | undefined {
  const root = headerOf(headers, rootHeader);
  if (root === undefined || !isTxId(root)) return undefined;
  const placement: Headers = { [rootHeader]: root };
  for (const name of offsetHeaders) {
    const value = headerOf(headers, name);
    if (value !== undefined && /^[0-9]{1,15}$/.test(value)) placement[name] = value;
  }
  return placement;
}
