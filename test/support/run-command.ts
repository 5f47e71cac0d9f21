/** A command run to its end, as a person or a script runs it. */
import { type SpawnOptions, spawn } from 'node:child_process';
import { resolve } from 'node:path';

export interface CommandResult {
  readonly code: number | null;
  readonly out: string;
  readonly error: string;
}

export function runCommand(
  command: string,
  args: readonly string[],
  options: Pick<SpawnOptions, 'cwd' | 'env'>,
): Promise<CommandResult> {
  return new Promise((done, failed) => {
    const child = spawn(command, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
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
  return runCommand(process.execPath, ['bin/turnpike.js', ...args], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...process.env, ...environment },
  });
}
