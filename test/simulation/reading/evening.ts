/**
 * Somebody who looks in the evening whether everything that was published and named can be read at every server. By day
 * too it is noted what could be.
 */
import type { SeededRandom } from '../../support/seeded-random.ts';
import { type ArweaveNetwork, short } from '../arweave.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import type { Blocks } from './blocks.ts';
import type { ReadingServer } from './installation.ts';
import type { Judge, Question } from './judge.ts';
import type { Entry, Library, Publication } from './library.ts';
import { rawQuestion, read } from './reader.ts';
import type { Registry } from './registry.ts';

export interface EveningOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly arweave: ArweaveNetwork;
  readonly library: Library;
  readonly registry: Registry;
  readonly blocks: Blocks;
  readonly judge: Judge;
  readonly servers: readonly ReadingServer[];
  /** What could be read everywhere is noted here, and since when. */
  readonly settled: Map<string, number>;
  readonly isDay: () => boolean;
  /** Whether gateways that routers believe can agree on a name. */
  readonly canAgree: (at: number, isRefused: boolean) => boolean;
}

interface Check {
  readonly what: string;
  readonly server: ReadingServer;
  readonly publication?: Publication;
  readonly entry?: Entry;
  /** Whether it is as it must be. */
  isRight(life: Life): Promise<boolean>;
}

const roundMs = 30_000;
/** Between two looks by day. */
const dayRoundMs = 5 * 60_000;
/** By day, what no fork reaches. */
const deepBlocks = 18;
const dayLooks = 3;
/** Of what was published before that day. */
const olderLooks = 8;
const atOnce = 6;

export class Evening {
  readonly process: SimulatedProcess;
  readonly #options: EveningOptions;
  readonly #seen = new Set<Publication>();
  #checks: Check[] | undefined;

  constructor(options: EveningOptions) {
    this.#options = options;
    this.process = options.process;
  }

  /** What cannot be read yet. */
  open(): readonly string[] {
    if (this.#checks === undefined) return ['nobody has looked'];
    return this.#checks.map(({ what, server }) => `${what} at ${server.process.name}`);
  }

  readonly program = async (life: Life): Promise<void> => {
    const { isDay, servers } = this.#options;
    for (;;) {
      await life.wait(roundMs);
      if (isDay() || !servers.some(({ process }) => process.isRunning)) {
        this.#checks = undefined;
        await life.wait(dayRoundMs);
        if (isDay()) await this.#round(life, this.#deep());
        continue;
      }
      this.#checks ??= this.#all();
      await this.#round(life, this.#checks);
    }
  };

  #deep(): Check[] {
    const { library, arweave, random, servers, settled } = this.#options;
    const deep = library
      .published()
      .filter(
        (entry) =>
          !settled.has(entry.id) && arweave.best.height - (library.heightOf(entry) ?? 0) >= deepBlocks,
      );
    const looks = deep.length === 0 ? [] : Array.from({ length: dayLooks }, () => random.pick(deep));
    return [...new Set(looks)].flatMap((entry) => servers.map((server) => this.#content(server, { entry })));
  }

  #all(): Check[] {
    const { library, random, registry, servers, settled } = this.#options;
    const fresh = library.publications.filter((one) => !this.#seen.has(one));
    for (const one of fresh) this.#seen.add(one);
    const older =
      settled.size === 0 ? [] : Array.from({ length: olderLooks }, () => random.pick([...settled.keys()]));
    return [
      ...fresh.flatMap((publication) => publication.entries.map((entry) => ({ entry, publication }))),
      ...older.flatMap((id) => {
        const entry = library.entries.get(id);
        return entry === undefined ? [] : { entry };
      }),
    ]
      .flatMap((of) => servers.map((server) => this.#content(server, of)))
      .concat(registry.labels.flatMap((label) => servers.map((server) => this.#name(server, label))));
  }

  #content(server: ReadingServer, of: Pick<Check, 'publication'> & { readonly entry: Entry }): Check {
    const { library, blocks } = this.#options;
    const { entry } = of;
    return {
      ...of,
      server,
      what: short(entry.id),
      isRight: async (life) => {
        if (of.publication?.isGivenUp === true) return true;
        if (!library.isOnChain(entry)) return false;
        const answer = await read(life, this.#options, rawQuestion(server, entry.id));
        if (answer?.status === 200) return true;
        const isRefused = answer?.status === 403 || answer?.status === 451;
        return isRefused && blocks.mayRefuse({ label: undefined, entries: [entry] }, life.world.time);
      },
    };
  }

  #name(server: ReadingServer, label: string): Check {
    const { registry, blocks, library, canAgree } = this.#options;
    const host = `${label}.${server.host}`;
    const question: Question = { server, method: 'GET', host, path: '/', of: { label }, below: '' };
    return {
      server,
      what: label,
      isRight: async (life) => {
        const answer = await read(life, this.#options, question);
        const target = registry.now(label);
        if (target === undefined && answer?.status === 404) return true;
        if (target !== undefined && answer?.headers['x-arns-resolved-id'] === target.id) return true;
        const isRefused = answer?.status === 403 || answer?.status === 451;
        const way = target === undefined ? [] : library.resolve(target.id, '').way;
        const { time } = life.world;
        const mayRefuse = blocks.mayRefuse({ label, entries: way }, time);
        if (isRefused) return mayRefuse;
        // Whoever lied is believed again after hours.
        const isUnsure = answer !== undefined && answer.status >= 500;
        return server.kind === 'router' && isUnsure && !canAgree(time, mayRefuse);
      },
    };
  }

  async #round(life: Life, checks: Check[]): Promise<void> {
    const { settled } = this.#options;
    const left = [...checks];
    const work = async (): Promise<void> => {
      for (let check = left.shift(); check !== undefined; check = left.shift()) {
        if (!(await check.isRight(life))) continue;
        checks.splice(checks.indexOf(check), 1);
        const { entry, publication } = check;
        const isWhole = entry !== undefined && !checks.some((other) => other.entry === entry);
        if (isWhole && publication?.isGivenUp !== true && !settled.has(entry.id))
          settled.set(entry.id, life.world.time);
      }
    };
    await Promise.all(Array.from({ length: atOnce }, work));
  }
}
