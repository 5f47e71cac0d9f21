/**
 * Whoever asks the services how they are, as a monitor does. While something is wrong, and nothing else, for longer than it
 * takes to notice, the health of each process concerned says so; otherwise it says that all is well.
 */
import type { Calm } from './calm.ts';
import { minute, Person, type PersonOptions } from './person.ts';
import type { Life, SimulatedProcess } from './process.ts';

export interface Probed {
  readonly process: SimulatedProcess;
  readonly url: string;
}

export interface Ailment {
  /** The fault, or several that come to the same. */
  readonly kinds: readonly string[];
  /** Until it is noticed. */
  readonly withinMs: number;
  readonly says: RegExp;
  concerns(probed: Probed): boolean;
}

interface ProberOptions extends PersonOptions {
  readonly calm: Calm;
  readonly probed: readonly Probed[];
  readonly ailments: readonly Ailment[];
}

const everyMs = 2 * minute;

export class Prober extends Person {
  readonly #options: ProberOptions;
  /** The life that each process has, and since when. */
  readonly #lives = new Map<SimulatedProcess, { readonly life: Life | undefined; readonly since: number }>();

  constructor(options: ProberOptions) {
    super(options);
    this.#options = options;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { probed } = this.#options;
    for (;;) {
      await life.wait(everyMs);
      for (const one of probed) {
        const { process } = one;
        if (this.#lives.get(process)?.life !== process.life)
          this.#lives.set(process, { life: process.life, since: life.world.time });
        await this.#probe(life, one);
      }
    }
  };

  async #probe(life: Life, probed: Probed): Promise<void> {
    const expected = this.#expected(life, probed);
    if (expected === undefined) return;
    const answer = await this.ask(probed.url, { path: '/health?strict=true' });
    // Something may have changed while it was asked.
    if (this.#expected(life, probed) !== expected || !probed.process.isRunning) return;
    const text = `${answer?.status} ${answer?.body}`;
    if (answer?.status !== 503 || !expected.says.test(text))
      life.world.broken(
        `${expected.kinds.join(' or ')} for minutes, and ${probed.process.name} (${probed.url}) says "${text}"`,
      );
    else this.tell(`${probed.process.name} says that ${answer.body}`);
  }

  #expected(life: Life, probed: Probed): Ailment | undefined {
    const { calm, ailments } = this.#options;
    const { process } = probed;
    const known = this.#lives.get(process);
    if (known?.life === undefined || process.life !== known.life) return undefined;
    const awakeMs = life.world.time - Math.max(known.since, process.heldUntil);
    return ailments.find(
      ({ kinds, withinMs, concerns }) =>
        calm.kinds.length > 0 &&
        calm.kinds.every((kind) => kinds.includes(kind)) &&
        Math.min(calm.unchangedMs, awakeMs) > withinMs &&
        concerns(probed),
    );
  }
}
