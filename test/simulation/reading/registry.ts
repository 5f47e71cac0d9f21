/** Names and what they point at, ever. Gateways ask it as they ask the name chain. */
import type { NameSource } from '../../../src/gateway/content/names/resolver.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import { short } from '../arweave.ts';
import { currentLife } from '../process.ts';
import type { World } from '../world.ts';

export interface Target {
  readonly id: string;
  readonly ttlSeconds: number;
  /** Milliseconds since the beginning of the world. */
  readonly at: number;
}

/** An undername stands before its name. */
const labels = ['alpha', 'beta', 'gamma', 'one_alpha', 'two_beta'];
const ttls = [60, 300, 900];
export const longestTtlMs = 900_000;

export class Registry {
  /** Nobody can ask it. */
  isDown = false;
  readonly #targets = new Map<string, Target[]>();
  readonly #world: World;
  readonly #random: SeededRandom;

  constructor(world: World) {
    this.#world = world;
    this.#random = world.random('registry');
  }

  get labels(): readonly string[] {
    return labels;
  }

  /** Some name points there from now on. */
  point(id: string): void {
    const label = this.#random.pick(labels);
    const ttlSeconds = this.#random.pick(ttls);
    const before = this.#targets.get(label) ?? [];
    this.#targets.set(label, [...before, { id, ttlSeconds, at: this.#world.time }]);
    this.#world.tell('registry', `${label} points at ${short(id)} for ${ttlSeconds} s`);
  }

  now(label: string): Target | undefined {
    return this.#targets.get(label)?.at(-1);
  }

  /** What it pointed at at that time or later, the earliest first. */
  since(label: string, time: number): readonly Target[] {
    const targets = this.#targets.get(label) ?? [];
    return targets.filter((_, index) => (targets[index + 1]?.at ?? Number.POSITIVE_INFINITY) >= time);
  }

  /** Whether it pointed anywhere at that time. */
  stood(label: string, time: number): boolean {
    const [first] = this.#targets.get(label) ?? [];
    return first !== undefined && first.at <= time;
  }

  /** As the code of the running process asks it. */
  source(): NameSource {
    const life = currentLife();
    return {
      name: 'registry',
      resolve: async (name, undername) => {
        await life.wait(5 + 60 * this.#random.fraction() ** 3);
        if (this.isDown) throw new Error('the registry is away');
        const target = this.now(undername === '@' ? name : `${undername}_${name}`);
        return target && { id: target.id, ttlSeconds: target.ttlSeconds, antId: 'ant' };
      },
    };
  }
}
