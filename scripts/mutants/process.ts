/** A process that tries mutants, as `mutate.ts` sees it: `worker.ts` is what runs there. */
import { type ChildProcess, fork } from 'node:child_process';
import { join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Answer, Ask } from './worker.ts';

/** Loaded modules and what mutants left behind fill a process. */
const mutantsOfProcess = 150;
/** So long a test waits for what a mutant may never do. A kill counts only where the same wait is enough without it. */
const eventuallyMs = 5_000;

export interface ProcessOptions {
  /** The code with mutants in it. */
  readonly folder: string;
  /** Where tests put their files. */
  readonly temporary: string;
  readonly environment?: NodeJS.ProcessEnv;
  /** Whether what fails is told. */
  readonly isShown: boolean;
}

export class MutantProcess {
  readonly #child: ChildProcess;
  #asked = 0;
  isEnded = false;

  constructor({ folder, temporary, environment, isShown }: ProcessOptions) {
    this.#child = fork(join(import.meta.dirname, 'worker.ts'), [], {
      cwd: resolve(import.meta.dirname, '../..'),
      execArgv: [
        '--disable-warning=ExperimentalWarning',
        '--import',
        pathToFileURL(join(import.meta.dirname, 'hooks.ts')).href,
      ],
      env: {
        ...process.env,
        MUTANTS_FOLDER: folder,
        MUTANTS_COLLECT: '1',
        EVENTUALLY_MS: String(eventuallyMs),
        TMPDIR: temporary,
        ...(isShown ? { MUTANTS_SHOW: '1' } : {}),
        ...environment,
      },
      stdio: ['ignore', 'ignore', isShown ? 'inherit' : 'ignore', 'ipc'],
    });
  }

  get isWorn(): boolean {
    return this.isEnded || this.#asked >= mutantsOfProcess;
  }

  async ready(): Promise<void> {
    if ((await this.#answer(60_000)) === undefined)
      throw new Error('a process that tries mutants did not start');
  }

  /** Undefined when no answer came in time; then the process is ended. */
  async ask(ask: Ask, ms: number): Promise<Answer | undefined> {
    this.#asked += 1;
    this.#child.send(ask);
    const answer = await this.#answer(ms);
    if (answer === undefined) this.end();
    return answer;
  }

  end(): void {
    this.isEnded = true;
    this.#child.kill('SIGKILL');
  }

  #answer(ms: number): Promise<Answer | undefined> {
    const { promise, resolve: told } = Promise.withResolvers<Answer | undefined>();
    const child = this.#child;
    const timer = setTimeout(() => told(undefined), ms);
    const onExit = () => told({ answer: 'killed', by: 'the process ended', isSpent: true });
    child.once('message', (answer: Answer) => told(answer));
    child.once('exit', onExit);
    return promise.finally(() => {
      clearTimeout(timer);
      child.removeAllListeners('message');
      child.off('exit', onExit);
    });
  }
}
