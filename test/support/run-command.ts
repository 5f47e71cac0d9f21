/** A command run to its end, as a person or a script runs it. */
import { type ChildProcess, fork, type SpawnOptions, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join, resolve } from 'node:path';
import { program } from './program.ts';

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

/** `begun` gets the process, to send it signals. */
export function runCommand(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'>,
  begun: (child: ChildProcess) => unknown = () => {},
): Promise<CommandResult> {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    begun(child);
    let [out, error] = ['', ''];
    child.stdout.setEncoding('utf8').on('data', (piece: string) => {
      out += piece;
    });
    child.stderr.setEncoding('utf8').on('data', (piece: string) => {
      error += piece;
    });
    child.on('error', failed);
    child.on('close', (code) => done({ code, out, error }));
  });
}

/** The program of this checkout. */
export function runTurnpike(
  args: readonly string[],
  environment: Readonly<Record<string, string>>,
): Promise<CommandResult> {
  return runCommand(process.execPath, [program, ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...process.env, ...environment },
  });
}

export interface Commands {
  /** As `runTurnpike`, in the folder of the checkout unless another is named. One at a time: the next waits for the one before. */
  run(
    args: readonly string[],
    environment: Readonly<Record<string, string>>,
    cwd?: string,
  ): Promise<CommandResult>;
  stop(): void;
}

/** For tests of many commands: one process runs them all. Ctrl-C, pipes and starts want a process each. */
export function startCommands(): Commands {
  const worker = fork(join(import.meta.dirname, 'command-worker.ts'), {
    cwd: resolve(import.meta.dirname, '../..'),
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  let last: Promise<unknown> = Promise.resolve();
  return {
    run(args, environment, cwd) {
      const turn = last.then(async (): Promise<CommandResult> => {
        const over = new AbortController();
        const heard = async (event: string) => once(worker, event, { signal: over.signal });
        const gone = heard('exit').then(() => {
          throw new Error(`the process ended that ran "turnpike ${args.join(' ')}"`);
        });
        const answered = heard('message').then(([result]) => result as CommandResult);
        worker.send({ args, environment, cwd });
        try {
          return await Promise.race([answered, gone]);
        } finally {
          over.abort();
          await Promise.allSettled([answered, gone]);
        }
      });
      last = turn.catch(() => {});
      return turn;
    },
    stop: () => worker.kill(),
  };
}
