/** Somebody who reads: content and names, whole and in parts, at gateways and routers, much at once and again. */

import { toTxId } from '../../../src/formats/base64url.ts';
import { sandboxLabel } from '../../../src/formats/sandbox-label.ts';
import { strongETag } from '../../../src/kernel/http/conditional.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { skewed } from '../faults.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import { askOnce, type Told } from './asking.ts';
import type { ReadingServer } from './installation.ts';
import type { Judge, Question } from './judge.ts';
import type { Entry, Library } from './library.ts';
import type { Registry } from './registry.ts';

export interface ReaderOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly library: Library;
  readonly registry: Registry;
  readonly judge: Judge;
  readonly servers: readonly ReadingServer[];
  readonly isDay: () => boolean;
}

const second = 1_000;
const minute = 60 * second;
/** Between two visits, on average. */
const pauseMs = 3 * minute;

export class Reader {
  readonly process: SimulatedProcess;
  readonly #options: ReaderOptions;

  constructor(options: ReaderOptions) {
    this.#options = options;
    this.process = options.process;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, isDay } = this.#options;
    for (;;) {
      await life.idle(random, pauseMs);
      if (!isDay()) continue;
      const question = this.#question();
      if (question === undefined) continue;
      // Much that is popular is asked for at once, and again.
      const readers = random.below(4) === 0 ? random.between(2, 6) : 1;
      const again = random.below(3);
      await Promise.all(
        Array.from({ length: readers }, async () => {
          for (let count = 0; count <= again; count += 1) {
            await read(life, this.#options, { ...question, ...this.#way(question) });
            await life.wait(skewed(random, 0, 20 * second));
          }
        }),
      );
    }
  };

  #question(): Question | undefined {
    const { random, library, registry, servers } = this.#options;
    const server = random.pick(servers);
    const kind = random.below(8);
    const method = 'GET' as const;
    if (kind === 0) {
      const id = toTxId(random.bytes(32));
      return { server, method, host: server.host, path: `/raw/${id}`, of: { id }, below: undefined };
    }
    if (kind === 1) {
      const label = random.pick(registry.labels);
      const target = registry.now(label);
      const below = this.#below(target && library.entries.get(target.id));
      return { server, method, host: `${label}.${server.host}`, path: `/${below}`, of: { label }, below };
    }
    const entries = [...library.entries.values()];
    if (entries.length === 0) return undefined;
    const entry = random.pick(entries);
    const { id } = entry;
    if (kind < 6) return rawQuestion(server, id);
    const below = this.#below(entry);
    const host =
      random.below(2) === 0
        ? server.host
        : `${sandboxLabel(toTxId(Buffer.from(id, 'base64url')))}.${server.host}`;
    return { server, method, host, path: `/${id}/${below}`, of: { id }, below };
  }

  /** A path below a manifest: one of its own, or one that it does not have. */
  #below(entry: Entry | undefined): string {
    const { random } = this.#options;
    const paths = [...(entry?.manifest?.paths.keys() ?? [])];
    return paths.length === 0 || random.below(3) === 0 ? '' : random.pick([...paths, 'nowhere']);
  }

  /** Whole or in parts, the head alone, or only what is new. */
  #way({ of, below = '' }: Question): Partial<Question> {
    const { random, library } = this.#options;
    const entry = 'id' in of ? library.resolve(of.id, below).entry : undefined;
    const size = entry?.bytes.length ?? 1_000;
    const kind = random.below(10);
    if (kind === 0) return { method: 'HEAD' };
    if (kind === 1)
      return {
        ifNoneMatch: entry === undefined ? '"x"' : strongETag(random.below(4) === 0 ? 'x' : entry.digest),
      };
    if (kind > 4) return {};
    const start = random.below(size);
    const end = random.between(start, size - 1);
    if (kind === 2) return { range: `bytes=${start}-${end}` };
    if (kind === 3)
      return { range: random.pick([`bytes=-${1 + start}`, `bytes=${start}-`, `bytes=${size + 5}-`]) };
    // Parts that overlap are refused.
    return start < 20 ? {} : { range: `bytes=0-9,${start}-${end}` };
  }
}

export const rawQuestion = (server: ReadingServer, id: string): Question => ({
  ...{ server, method: 'GET', host: server.host, path: `/raw/${id}`, of: { id }, below: undefined },
});

/** Asks, and says at once what is wrong with the answer. */
export async function read(
  life: Life,
  { network, judge }: Pick<ReaderOptions, 'network' | 'judge'>,
  question: Question,
): Promise<Told | undefined> {
  const { server, method, host, path, range, ifNoneMatch } = question;
  const askedAt = life.world.time;
  const headers = {
    host,
    ...(range !== undefined && { range }),
    ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }),
  };
  const answer = await askOnce(life, network, server.url, { method, path, headers });
  const wrong = answer && judge.judge(question, answer, askedAt);
  if (wrong !== undefined) life.world.broken(wrong);
  return answer;
}
