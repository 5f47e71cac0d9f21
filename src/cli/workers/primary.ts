/**
 * Surfaces in several processes behind the same ports. The first worker makes keys and migrations before the others
 * start; one that dies is replaced; a signal drains all of them. This process passes on what they tell each other and
 * counts what must be counted once for all; the local network and the console, where they are started, run here too.
 */
import cluster, { type Worker } from 'node:cluster';
import { unlessSet } from '../../config/child-environment.ts';
import type { Config } from '../../config/config.ts';
import { isRecord } from '../../formats/json.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import { StartupError } from '../../kernel/errors.ts';
import { canReusePorts } from '../../kernel/http/connections.ts';
import { insistOnFreePort } from '../../kernel/http/server.ts';
import { RateCounters, ratesTopic } from '../../kernel/http/shared-rate.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { Channel } from '../../kernel/workers/channel.ts';
import { hear, heard } from '../../kernel/workers/fellows.ts';
import { servingEnvironment, servingFlags } from '../../kernel/workers/node-flags.ts';
import type { NetworkFacts } from '../stack/local-network.ts';
import type { Address } from '../stack.ts';
import { isListening, isReady, type ToWorker, toAll, toOthers } from './messages.ts';

/** A worker that dies sooner than this after it was ready, or before, counts as failing. */
const soundMs = 10_000;
const restarts = { firstMs: 1_000, longestMs: 30_000 };
/** How long the others are waited for: to hear something, or to tell something of themselves. */
const waitMs = { [toOthers]: 5_000, [toAll]: 2_000 } as const;

/** Where each surface listens, by the name of its address. */
const portVariables = {
  gateway: 'GATEWAY_PORT',
  payment: 'PAYMENT_PORT',
  upload: 'UPLOAD_PORT',
  router: 'PORT',
  admin: 'ADMIN_PORT',
} as const satisfies Record<string, keyof Config>;

const hasPort = (name: string): name is keyof typeof portVariables => Object.hasOwn(portVariables, name);

export interface WorkersOptions {
  readonly surfaces: readonly string[];
  readonly count: number;
  readonly config: Config;
  /** The local network as it runs here; asked when a worker starts. */
  readonly network: () => NetworkFacts;
  readonly consoleUrl: () => string | undefined;
  readonly log: Logger;
}

interface Launched {
  readonly worker: Worker;
  readonly channel: Channel;
  isReady: boolean;
  /** Its exit code; undefined where a signal ended it. */
  readonly ended: Promise<number | undefined>;
}

export class Workers implements Surface {
  readonly name = 'workers';
  readonly url = '';
  /** Of the surfaces, once the first worker has started them. */
  addresses: readonly Address[] = [];
  readonly #options: WorkersOptions;
  readonly #workers = new Map<number, Launched>();
  /** As far as they are known, by variable. */
  readonly #ports = new Map<keyof Config, number>();
  /** Workers that failed one after the other. */
  #failures = 0;
  #stopping = false;

  constructor(options: WorkersOptions) {
    this.#options = options;
    hear(ratesTopic, new RateCounters().answer);
  }

  async start(): Promise<void> {
    const { count } = this.#options;
    // What a question or an answer may hold, such as NaN and bigint, JSON has not.
    cluster.setupPrimary({ serialization: 'advanced', execArgv: [...servingFlags, ...process.execArgv] });
    await this.#findPorts();
    await this.#launch(0);
    await Promise.all(Array.from({ length: count - 1 }, (_, index) => this.#launch(index + 1)));
  }

  /** A port that the system chooses is chosen by the first worker, where the others can listen on it too; else here. */
  async #findPorts(): Promise<void> {
    const { config, surfaces } = this.#options;
    for (const name of [...surfaces, ...(surfaces.includes('router') ? ['admin'] : [])].filter(hasPort)) {
      const portVariable = portVariables[name];
      const port = config[portVariable];
      if (port === 0 && canReusePorts) continue;
      const host = name === 'admin' ? config.ADMIN_HOST : config.HOST;
      const isOpened = name !== 'admin' || config.ADMIN_UI_ENABLED;
      if (isOpened) this.#ports.set(portVariable, await insistOnFreePort({ host, port, portVariable }));
    }
  }

  /** Each worker drains for itself, within the same time. */
  async drain(): Promise<boolean> {
    this.#stopping = true;
    const running = [...this.#workers.values()];
    for (const { worker } of running) tell(worker, { kind: 'stop' });
    const codes = await Promise.all(running.map(({ ended }) => ended));
    return codes.every((code) => code === 0);
  }

  async stop(): Promise<void> {
    await this.drain();
  }

  /** Asks one worker that runs, or all of them; those that do not answer in time are left out. */
  async ask(topic: string, message: unknown, whom: 'one' | 'all', timeoutMs: number): Promise<unknown[]> {
    const running = this.#running();
    return await answersOf(whom === 'one' ? running.slice(0, 1) : running, topic, message, timeoutMs);
  }

  #running(): Launched[] {
    return [...this.#workers.values()].filter((launched) => launched.isReady);
  }

  /** Resolves when the worker answers. */
  #launch(index: number): Promise<void> {
    const worker = cluster.fork(unlessSet(servingEnvironment));
    let readyAt: number | undefined;
    const ready = Promise.withResolvers<void>();
    const channel = new Channel(
      (packet) => tell(worker, packet),
      (topic, message) => this.#answer(launched, topic, message),
    );
    const ended = new Promise<number | undefined>((resolve) => {
      worker.once('exit', (code, signal) => {
        this.#workers.delete(index);
        channel.close();
        ready.reject(new StartupError(`worker ${index} did not start`));
        if (!this.#stopping && readyAt !== undefined) this.#replace(index, readyAt, signal ?? code);
        resolve(code ?? undefined);
      });
    });
    const launched: Launched = { worker, channel, isReady: false, ended };
    this.#workers.set(index, launched);
    worker.on('message', (message: unknown) => {
      if (isListening(message)) return this.#begin(worker, index);
      if (!isReady(message)) return channel.take(message);
      readyAt = Date.now();
      launched.isReady = true;
      if (this.addresses.length === 0) this.addresses = message.addresses;
      ready.resolve();
    });
    return ready.promise;
  }

  #begin(worker: Worker, index: number): void {
    const { count, surfaces, network, consoleUrl } = this.#options;
    const known = { count, surfaces, network: network(), consoleUrl: consoleUrl() };
    tell(worker, { kind: 'begin', index, config: this.#configWithPorts(), ...known });
  }

  #configWithPorts(): Config {
    for (const { name, url } of this.addresses) {
      if (hasPort(name)) this.#ports.set(portVariables[name], Number(new URL(url).port));
    }
    return { ...this.#options.config, ...Object.fromEntries(this.#ports) };
  }

  async #answer(asker: Launched, topic: string, message: unknown): Promise<unknown> {
    if (topic !== toAll && topic !== toOthers) return heard(topic, message);
    if (!isRecord(message)) throw new Error(`"${topic}" without a message`);
    const asked = this.#running().filter((one) => topic === toAll || one !== asker);
    return await answersOf(asked, String(message.topic), message.message, waitMs[topic]);
  }

  #replace(index: number, readyAt: number, reason: string | number): void {
    this.#failures = Date.now() - readyAt < soundMs ? this.#failures + 1 : 0;
    const pauseMs = this.#failures === 0 ? 0 : backoffMs(restarts, this.#failures);
    this.#options.log.error({ worker: index, reason, pauseMs }, 'a worker died and is replaced');
    setTimeout(() => {
      if (this.#stopping) return;
      this.#launch(index).catch((error: unknown) => {
        if (!this.#stopping) this.#replace(index, Date.now(), String(error));
      });
    }, pauseMs).unref();
  }
}

async function answersOf(
  asked: readonly Launched[],
  topic: string,
  message: unknown,
  timeoutMs: number,
): Promise<unknown[]> {
  const answers = await Promise.allSettled(
    asked.map(({ channel }) => channel.ask(topic, message, timeoutMs)),
  );
  return answers.flatMap((answer) => (answer.status === 'fulfilled' ? [answer.value] : []));
}

function tell(worker: Worker, message: ToWorker): void {
  if (worker.isConnected()) worker.send(message);
}
