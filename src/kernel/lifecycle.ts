/**
 * The program's life: surfaces start in order, a signal drains them and stops them in the opposite order, and
 * nothing can hold the process for ever. A start that fails half-way stops what was started.
 */
import { messageOf, StartupError } from './errors.ts';
import type { Logger } from './log.ts';
import type { Surface } from './part.ts';

export interface LifecycleOptions {
  readonly log: Logger;
  /** SHUTDOWN_DRAIN_TIMEOUT_MS: how long in-flight requests may finish. */
  readonly drainTimeoutMs: number;
  /** SHUTDOWN_TIMEOUT_MS: after this the process exits by force. */
  readonly timeoutMs: number;
  /** The process, unless a test stands in for it. */
  readonly host?: Host;
}

/** What of the process the lifecycle touches. */
export interface Host {
  on(signal: Signal, listener: () => void): unknown;
  off(signal: Signal, listener: () => void): unknown;
  exit(code: number): void;
}
type Signal = 'SIGINT' | 'SIGTERM';
const signals: readonly Signal[] = ['SIGINT', 'SIGTERM'];

export interface Running {
  /** Drains and stops; the same promise however often it is called. */
  stop(): Promise<void>;
  /** Resolves when everything is stopped, for whatever reason. */
  readonly stopped: Promise<void>;
}

/**
 * Starts the surfaces one after the other. From the start on SIGTERM and SIGINT are handled: the first drains
 * and exits with 0, or with 1 where requests had to be cut; the second exits at once with 1.
 */
export async function startSurfaces(
  surfaces: readonly Surface[],
  options: LifecycleOptions,
): Promise<Running> {
  const { log, drainTimeoutMs, timeoutMs, host = process } = options;
  const group = new SurfaceGroup(log);
  let stopping: Promise<void> | undefined;
  let finished = true;
  const stopped = Promise.withResolvers<void>();

  function stop(): Promise<void> {
    stopping ??= (async () => {
      finished = await group.drain(drainTimeoutMs);
      await group.stop();
      for (const signal of signals) host.off(signal, onSignal);
      stopped.resolve();
    })();
    return stopping;
  }

  function onSignal(): void {
    if (stopping !== undefined) {
      log.warn('second signal: leaving at once');
      host.exit(1);
      return;
    }
    log.info({ drainTimeoutMs }, 'stopping: no new connections, waiting for requests in flight');
    const force = setTimeout(() => {
      log.error({ timeoutMs }, 'not stopped in time: leaving by force');
      host.exit(1);
    }, timeoutMs).unref();
    void stop().then(() => {
      clearTimeout(force);
      if (finished) log.info('stopped');
      else log.warn({ drainTimeoutMs }, 'stopped; requests that were not done in time were cut');
      host.exit(finished ? 0 : 1);
    });
  }

  for (const signal of signals) host.on(signal, onSignal);
  try {
    await group.start(surfaces, () => stopping === undefined);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop, stopped: stopped.promise };
}

/** What a surface that failed is told by, unless the failure itself is for a person to read. */
class FailedStart extends Error {
  override readonly name = 'FailedStart';
}

/** Surfaces that start one after the other and stop in the opposite order. */
export class SurfaceGroup {
  readonly #log: Logger;
  readonly #started: Surface[] = [];

  constructor(log: Logger) {
    this.#log = log;
  }

  /** Starts them as long as it `mayGoOn`. What was started when one fails is stopped by the caller. */
  async start(surfaces: readonly Surface[], mayGoOn: () => boolean): Promise<void> {
    for (const surface of surfaces) {
      if (!mayGoOn()) return;
      this.#started.push(surface);
      try {
        await surface.start();
      } catch (error) {
        if (error instanceof StartupError || error instanceof FailedStart) throw error;
        throw new FailedStart(`${surface.name} did not start: ${messageOf(error)}`, { cause: error });
      }
      this.#log.debug({ surface: surface.name, url: surface.url }, 'started');
    }
  }

  /**
   * In the opposite order of starting: a request in flight on a later surface may still need an earlier one, which
   * therefore takes connections until the later ones are done. The time is one for all; after half of it nobody
   * waits for others any longer. True when every request was done.
   */
  async drain(timeoutMs: number): Promise<boolean> {
    const deadline = performance.now() + timeoutMs;
    const halfTime = new Promise<void>((resolve) => {
      setTimeout(resolve, timeoutMs / 2).unref();
    });
    let later: Promise<boolean> = Promise.resolve(true);
    for (const surface of this.#started.toReversed()) {
      const drained = Promise.race([later, halfTime])
        .then(() => surface.drain(Math.max(0, Math.ceil(deadline - performance.now()))))
        .catch((error: unknown) => {
          this.#log.error({ err: error, surface: surface.name }, 'drain failed');
          return false;
        });
      later = Promise.all([later, drained]).then((ends) => ends.every((finished) => finished));
    }
    return await later;
  }

  /** In the opposite order of starting, since later ones stand on earlier ones. */
  async stop(): Promise<void> {
    for (const surface of this.#started.splice(0).reverse()) {
      await surface.stop().catch((error: unknown) => {
        this.#log.error({ err: error, surface: surface.name }, 'stop failed');
      });
    }
  }
}
