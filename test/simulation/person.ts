/** Somebody who pays, buys and asks: a wallet, and a way to services that is tried until they answer. */
import { type HttpAnswer, HttpClient } from '../../src/outside/http.ts';
import { type RequestSigner, solanaPayer } from '../support/request-signers.ts';
import type { SeededRandom } from '../support/seeded-random.ts';
import { skewed } from './faults.ts';
import { currentLife, type Life, type SimulatedProcess } from './process.ts';
import type { World } from './world.ts';

export const second = 1_000;
export const minute = 60 * second;
export const hour = 60 * minute;

export interface PersonOptions {
  readonly world: World;
  readonly name: string;
  readonly isDay: () => boolean;
}

export interface Asked {
  readonly path: string;
  readonly method?: 'GET' | 'POST' | 'PUT';
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Buffer;
}

export class Person {
  readonly world: World;
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly wallet: RequestSigner;
  readonly #isDay: () => boolean;

  constructor({ world, name, isDay }: PersonOptions) {
    this.world = world;
    this.process = world.process(name);
    this.random = world.random(name);
    this.wallet = solanaPayer(name);
    this.#isDay = isDay;
  }

  tell(what: string): void {
    this.process.tell(what);
  }

  /** Begins something every now and then while there is day. */
  async live(life: Life, pauseMs: number, begin: () => Promise<void>): Promise<void> {
    for (;;) {
      await life.idle(this.random, pauseMs);
      if (this.#isDay()) await begin();
    }
  }

  ask(url: string, asked: Asked): Promise<Heard | undefined> {
    return ask(url, asked);
  }

  insist(
    life: Life,
    address: () => string,
    asked: Asked,
    options: InsistOptions = {},
  ): Promise<Heard | undefined> {
    return insist({ life, random: this.random, address }, asked, options);
  }
}

export interface Heard extends HttpAnswer {
  /** When what it answers was asked; milliseconds since the beginning of the world. */
  readonly askedAt: number;
}

/** No answer is undefined. */
export async function ask(url: string, { path, ...call }: Asked): Promise<Heard | undefined> {
  const http = new HttpClient({ timeoutMs: 90 * second, maxBytes: 1024 * 1024 });
  const askedAt = currentLife().world.time;
  const answer = await http.call(`${url}${path}`, call).catch(() => undefined);
  return answer && { ...answer, askedAt };
}

export interface Insisting {
  readonly life: Life;
  readonly random: SeededRandom;
  /** Of whoever is asked next. */
  readonly address: () => string;
}

interface InsistOptions {
  readonly tries?: number;
  readonly isOver?: (answer: HttpAnswer) => boolean;
}

/**
 * The same again and again, to whichever address, until there is an answer that another try would not change; undefined
 * where it is given up.
 */
export async function insist(
  { life, random, address }: Insisting,
  asked: Asked,
  { tries = 10, isOver = ({ status }) => status < 500 && status !== 429 }: InsistOptions = {},
): Promise<Heard | undefined> {
  for (let tried = 0; tried < tries; tried += 1) {
    const answer = await ask(address(), asked);
    if (answer !== undefined && isOver(answer)) return answer;
    await life.wait(skewed(random, second, 4 * minute));
  }
  return undefined;
}
