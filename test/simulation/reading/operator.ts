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
      if ((await complaintOf(life, this.#options.network, server)) !== undefined) continue;
      if (trouble(server)?.since === before.since)
        life.world.broken(`${before.what}, and ${server.process.name} says that all is well`);
    }
  };
}

/** What a server complains of; undefined where it says that all is well. What does not answer is not well. */
export async function complaintOf(
  life: Life,
  network: Network,
  { kind, url, host }: ReadingServer,
): Promise<string | undefined> {
  const path = kind === 'gateway' ? '/gw/healthcheck?strict=true' : '/router/health';
  const answer = await askOnce(life, network, url, { path, headers: { host } });
  const text = `${answer?.status} ${answer?.body.toString().slice(0, 300)}`;
  const isWell =
    answer?.status === 200 &&
    (kind === 'gateway' || memberOf(tryParseJson(answer.body.toString()), 'degraded') !== true);
  return isWell ? undefined : text;
}
