/**
 * A stack of the world `local` that can be started again and again in one process over one folder: how its state is
 * changed as a whole. The ports are held meanwhile, and nothing in memory outlives a change.
 */
import type { Config } from '../../config/config.ts';
import { ConsoleState } from '../../console/state.ts';
import { travel } from '../../kernel/clock.ts';
import { messageOf } from '../../kernel/errors.ts';
import { type HeldPorts, holdPorts } from '../../kernel/http/held-ports.ts';
import { SurfaceGroup } from '../../kernel/lifecycle.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Surface } from '../../kernel/part.ts';
import { createStack, type Stack } from '../stack.ts';
import { readOffset } from './clock-file.ts';
import { ChangeRefused } from './errors.ts';
import { StateFolder } from './state-folder.ts';

/** How long requests in flight may finish before a change of the state. */
const drainMs = 2_000;

export interface LocalStackOptions {
  readonly config: Config;
  readonly log: Logger;
  readonly only: readonly string[];
}

export class LocalStack implements Surface {
  readonly name = 'local';
  readonly url = '';
  readonly folder: StateFolder;
  readonly ports: HeldPorts = holdPorts();
  readonly #options: LocalStackOptions;
  /** Operators stay signed in through a change. */
  readonly #consoleState = new ConsoleState();
  #running: { readonly stack: Stack; readonly group: SurfaceGroup } | undefined;
  #lastTurn: Promise<unknown> = Promise.resolve();
  #isEnding = false;
  #isStartingAnew = false;

  constructor(options: LocalStackOptions) {
    this.#options = options;
    this.folder = new StateFolder(options.config.DATA_DIR);
  }

  /** The stack that runs now: another one after every change. */
  get stack(): Stack {
    if (this.#running === undefined) throw new ChangeRefused('the local network is not running');
    return this.#running.stack;
  }

  async start(): Promise<void> {
    this.folder.recover();
    await this.#startStack();
  }

  async drain(timeoutMs: number): Promise<boolean> {
    this.#isEnding = true;
    this.ports.ending = true;
    const deadline = performance.now() + timeoutMs;
    await this.#lastTurn.catch(() => {});
    return (await this.#running?.group.drain(Math.max(0, deadline - performance.now()))) ?? true;
  }

  async stop(): Promise<void> {
    this.#isEnding = true;
    await this.#lastTurn.catch(() => {});
    await this.#running?.group.stop();
    this.#running = undefined;
    await this.ports.close();
  }

  /** Changes come one after the other; what only reads waits for the change before it. */
  inTurn<T>(work: () => Promise<T>): Promise<T> {
    const turn = this.#lastTurn
      .catch(() => {})
      .then(() => {
        if (this.#isEnding) throw new ChangeRefused('the local network is stopping');
        return work();
      });
    this.#lastTurn = turn;
    return turn;
  }

  /**
   * Stops the stack, changes the folder and starts the stack again. What does not start is undone, and the stack starts
   * as it was. Within a turn.
   */
  async whileStopped<T>(change: () => Promise<T>, undo: (changed: T) => void = () => {}): Promise<T> {
    await this.#stopStack();
    const changed = await change().catch(async (error: unknown) => {
      await this.#startStack();
      throw error;
    });
    try {
      await this.#startStack();
    } catch (error) {
      this.#options.log.error(`the new state does not start, the old one is put back: ${messageOf(error)}`);
      undo(changed);
      await this.#startStack();
      throw new ChangeRefused(`the new state does not start: ${messageOf(error)}`);
    }
    return changed;
  }

  /** Another state takes the place of this one, and of what `also` is named; a failure leaves this one. Within a turn. */
  async replaceState(fill: (folder: string) => Promise<void>, also: readonly string[] = []): Promise<void> {
    const { keep } = await this.whileStopped(
      () => this.folder.replace(fill, also),
      ({ undo }) => undo(),
    );
    await keep();
  }

  async #startStack(): Promise<void> {
    const { config, log, only } = this.#options;
    travel(readOffset(this.folder.path));
    const consoleState = this.#consoleState;
    const stack = createStack(config, log, { only, consoleState, onOtherChain: () => this.#startAnew() });
    const group = new SurfaceGroup(log);
    this.#running = { stack, group };
    try {
      await group.start(stack.surfaces, () => !this.#isEnding);
    } catch (error) {
      await group.stop();
      this.#running = undefined;
      throw error;
    }
  }

  /** The state stays; what is remembered of another chain goes. */
  #startAnew(): void {
    if (this.#isStartingAnew || this.#isEnding) return;
    this.#isStartingAnew = true;
    this.inTurn(() => this.whileStopped(async () => {}))
      .catch((error: unknown) => this.#options.log.error({ err: error }, 'the stack did not start again'))
      .finally(() => {
        this.#isStartingAnew = false;
      });
  }

  async #stopStack(): Promise<void> {
    await this.#running?.group.end(drainMs);
    this.#running = undefined;
  }
}
