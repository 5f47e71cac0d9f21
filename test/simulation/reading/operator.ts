/** Somebody who looks at what servers say of themselves: what has been wrong for a while is told. */

import { memberOf, tryParseJson } from '../../../src/formats/json.ts';
import type { SeededRandom } from '../../support/seeded-random.ts';
import type { Network } from '../network.ts';
import type { Life, SimulatedProcess } from '../process.ts';
import { askOnce } from './asking.ts';
import type { ReadingServer } from './installation.ts';

export interface OperatorOptions {
  readonly process: SimulatedProcess;
  readonly random: SeededRandom;
  readonly network: Network;
  readonly servers: readonly ReadingServer[];
  /** Since when something is wrong that this server must know of, and what; undefined where nothing is. */
  readonly trouble: (server: ReadingServer) => { readonly what: string; readonly since: number } | undefined;
}

const minute = 60_000;
/** Between two looks. */
const pauseMs = 6 * minute;
/** Within which it is told. */
const toldMs = 6 * minute;

export class Operator {
  readonly process: SimulatedProcess;
  readonly #options: OperatorOptions;

  constructor(options: OperatorOptions) {
    this.#options = options;
    this.process = options.process;
  }

  readonly program = async (life: Life): Promise<void> => {
    const { random, servers, trouble } = this.#options;
    for (;;) {
      await life.wait(pauseMs);
      const server = random.pick(servers);
      const before = trouble(server);
      if (before === undefined || life.world.time - before.since < toldMs) continue;
      if (!(await isWell(life, this.#options.network, server))) continue;
      if (trouble(server)?.since === before.since)
        life.world.broken(`${before.what}, and ${server.process.name} says that all is well`);
    }
  };
}

/** Whether a server says so; what does not answer is not well. */
export async function isWell(
  life: Life,
  network: Network,
  { kind, url, host }: ReadingServer,
): Promise<boolean> {
  const path = kind === 'gateway' ? '/gw/healthcheck?strict=true' : '/router/health';
  const answer = await askOnce(life, network, url, { path, headers: { host } });
  if (answer?.status !== 200) return false;
  return kind === 'gateway' || memberOf(tryParseJson(answer.body.toString()), 'degraded') !== true;
}
