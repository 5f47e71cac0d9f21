/** What operators have blocked, where, and since when that holds; and the operator who does it. */

import { testAdminKey } from '../../../src/upload/testing.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { short } from '../arweave.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import { type Asking, askOnce } from './asking.ts';
import { moderationToken, type ReadingServer } from './installation.ts';
import type { Entry, Library } from './library.ts';
import type { Registry } from './registry.ts';

export type BlockKind = 'id' | 'hash' | 'name';

interface Block {
  readonly server: ReadingServer;
  readonly kind: BlockKind;
  readonly value: string;
  /** When the server said that it is blocked. */
  heldSince: number | undefined;
  /** When somebody began to take it back. */
  liftedAt: number | undefined;
  /** When the server said that it is served again. */
  freeSince: number | undefined;
}

/** What a request leads to, and by which way. */
export interface Way {
  readonly label: string | undefined;
  readonly entries: readonly Entry[];
}

const second = 1_000;
const minute = 60 * second;
/** Within which a change holds in all processes that share it, where nothing is wrong, and where something is. */
const bounds = { quietMs: 40 * second, followedMs: 90 * second, troubledMs: 60 * minute };

export interface BlocksOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly library: Library;
  readonly registry: Registry;
  readonly gateways: readonly ReadingServer[];
  readonly routers: readonly ReadingServer[];
  readonly isFollowed: boolean;
  readonly isDay: () => boolean;
  /** Since when nothing is wrong; undefined while something is. */
  readonly quietSince: () => number | undefined;
}

export class Blocks {
  readonly process: SimulatedProcess;
  readonly #options: BlocksOptions;
  readonly #blocks: Block[] = [];

  constructor(options: BlocksOptions) {
    this.#options = options;
    this.process = options.process;
  }

  /** Whether something that is being changed has not been answered. */
  get isUndecided(): boolean {
    return this.#blocks.some(
      ({ heldSince, liftedAt, freeSince }) =>
        heldSince === undefined || (liftedAt !== undefined && freeSince === undefined),
    );
  }

  /** Whether a server that is asked at that time may not answer with the content, and why. */
  mustRefuse(server: ReadingServer, way: Way, askedAt: number): string | undefined {
    const block = this.#blocks.find(
      (one) =>
        one.heldSince !== undefined &&
        one.liftedAt === undefined &&
        isOf(one, way) &&
        askedAt >= one.heldSince + this.#bound(one, server),
    );
    return block && `${block.kind} ${short(block.value)} is blocked at ${block.server.process.name}`;
  }

  /** Whether anybody has a reason to refuse it, or had one a while ago. */
  mayRefuse(way: Way, askedAt: number): boolean {
    const quietSince = this.#options.quietSince();
    const isQuiet = quietSince !== undefined && askedAt - quietSince > bounds.followedMs;
    const lingers = isQuiet ? bounds.followedMs : bounds.troubledMs;
    const within = way.entries.flatMap((entry) =>
      entry.within.map((id) => this.#options.library.entries.get(id)),
    );
    const all = { ...way, entries: [...way.entries, ...within.filter((entry) => entry !== undefined)] };
    return this.#blocks.some(
      (one) => isOf(one, all) && (one.freeSince === undefined || askedAt < one.freeSince + lingers),
    );
  }

  /** Milliseconds after which a block counts at a server; infinite where it does not. */
  #bound({ server: at }: Block, server: ReadingServer): number {
    const { isFollowed, gateways, quietSince } = this.#options;
    if (at === server) return 0;
    const since = quietSince();
    const isFellow = at.kind === 'router' && server.kind === 'router';
    const isObeyed = isFollowed && at === gateways[0] && server.kind === 'router';
    if (!isFellow && !isObeyed) return Number.POSITIVE_INFINITY;
    const ms = isFellow ? bounds.quietMs : bounds.followedMs;
    const { time } = this.process.world;
    return since !== undefined && time - since > ms ? ms : bounds.troubledMs;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay } = this.#options;
    for (;;) {
      await life.idle(random, 8 * minute);
      if (!isDay()) continue;
      const held = this.#blocks.filter((one) => one.heldSince !== undefined && one.liftedAt === undefined);
      if (held.length > 0 && random.below(2) === 0) void this.#lift(life, random.pick(held));
      else void this.#block(life);
    }
  };

  async #block(life: Life): Promise<void> {
    const { random, library, registry, gateways, routers } = this.#options;
    const server = random.pick([...gateways, ...routers]);
    const entries = library.published();
    if (entries.length === 0) return;
    const entry = random.pick(entries);
    const drawn = random.below(6);
    const kind = drawn === 0 ? 'name' : drawn === 1 && server.kind === 'gateway' ? 'hash' : 'id';
    const value = kind === 'name' ? random.pick(registry.labels) : kind === 'hash' ? entry.digest : entry.id;
    // A name takes what it points at with it, which is not taken back with it everywhere: names are blocked at gateways only.
    if (kind === 'name' && server.kind === 'router') return;
    if (this.#blocks.some((one) => one.kind === kind && one.value === value && one.freeSince === undefined))
      return;
    const block: Block = {
      server,
      kind,
      value,
      heldSince: undefined,
      liftedAt: undefined,
      freeSince: undefined,
    };
    this.#blocks.push(block);
    await this.#until(life, server, () => questionOf(block, true));
    block.heldSince = life.world.time;
    this.process.tell(`blocked ${kind} ${short(value)} at ${server.process.name}`);
  }

  async #lift(life: Life, block: Block): Promise<void> {
    block.liftedAt = life.world.time;
    await this.#until(life, block.server, () => questionOf(block, false));
    block.freeSince = life.world.time;
    this.process.tell(`unblocked ${block.kind} ${short(block.value)} at ${block.server.process.name}`);
  }

  async #until(life: Life, { url, process }: ReadingServer, asking: () => Asking): Promise<void> {
    const { network, random } = this.#options;
    for (;;) {
      const answer = await askOnce(life, network, url, asking());
      // What is no longer blocked was unblocked by a question whose answer was lost.
      if (answer !== undefined && (answer.status < 300 || answer.status === 404)) return;
      if (answer !== undefined && answer.status < 500) {
        life.world.broken(`${process.name} answers ${answer.status} to its operator: ${answer.body}`);
        return;
      }
      await life.wait(random.between(5, 120) * second);
    }
  }
}

function isOf({ kind, value }: Block, { label, entries }: Way): boolean {
  if (kind === 'id') return entries.some(({ id }) => id === value);
  if (kind === 'hash') return entries.some(({ digest }) => digest === value);
  return label !== undefined && (label === value || label.endsWith(`_${value}`));
}

function questionOf({ server, kind, value }: Block, isBlock: boolean): Asking {
  const headers = { 'content-type': 'application/json' };
  if (server.kind === 'gateway') {
    const what = kind === 'name' ? 'name' : 'data';
    return {
      method: 'PUT',
      path: `/gw/admin/${isBlock ? 'block' : 'unblock'}-${what}`,
      headers: { ...headers, authorization: `Bearer ${testAdminKey}` },
      body: JSON.stringify({ [kind]: value }),
    };
  }
  const authorization = `Bearer ${moderationToken}`;
  const own = { host: server.host, authorization };
  return isBlock
    ? {
        method: 'POST',
        path: '/router/moderation/block',
        headers: { ...headers, ...own },
        body: JSON.stringify({ type: 'txid', value, reason: 'it is wrong' }),
      }
    : { method: 'DELETE', path: `/router/moderation/block/txid/${value}`, headers: own };
}
