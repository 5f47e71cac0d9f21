/** Runs commands one after the other in a process of their own, for `startCommands`: what loading the program takes is paid once. */
import type * as cli from '../../src/cli/main.ts';
import { importOfProgram } from './program.ts';

interface Order {
  readonly args: string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly cwd?: string;
}

const { main } = (await importOfProgram('main')) as typeof cli;
const before = { ...process.env };
const folder = process.cwd();

process.on('message', async ({ args, environment, cwd = folder }: Order) => {
  process.chdir(cwd);
  process.env = { ...before, ...environment };
  process.exitCode = 0;
  const written = { out: '', error: '' };
  const [out, error] = [process.stdout.write, process.stderr.write];
  process.stdout.write = keep('out');
  process.stderr.write = keep('error');
  try {
    await main(args);
  } finally {
    Object.assign(process.stdout, { write: out });
    Object.assign(process.stderr, { write: error });
  }
  process.send?.({ code: process.exitCode, ...written });

  function keep(stream: 'out' | 'error'): typeof process.stdout.write {
    return (piece: string | Uint8Array) => {
      written[stream] += typeof piece === 'string' ? piece : Buffer.from(piece).toString();
      return true;
    };
  }
});
