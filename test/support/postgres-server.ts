/** A PostgreSQL of the tests' own, on a free port in a temporary folder, gone when they end. */
import { spawnSync } from 'node:child_process';
import { chownSync, globSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from './free-port.ts';

export interface PostgresServer {
  readonly url: string;
  stop(): Promise<void>;
}

const installed = (): string | undefined => globSync('/usr/lib/postgresql/*/bin').sort().at(-1);

/**
 * Uses TEST_DATABASE_URL when it is set; else starts the installed PostgreSQL. Tests need no commit to outlive the
 * machine; a measurement of commits does (`durable`).
 */
export async function preparePostgres({ durable = false } = {}): Promise<PostgresServer> {
  const given = process.env.TEST_DATABASE_URL;
  if (given !== undefined) return { url: given, stop: async () => {} };

  const bin = installed();
  if (bin === undefined) {
    throw new Error(
      'these tests need PostgreSQL: install it (Debian: apt-get install postgresql) or set TEST_DATABASE_URL',
    );
  }
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-postgres-'));
  const asPostgres = process.getuid?.() === 0;
  if (asPostgres) {
    // The server refuses to run as root, so the folder belongs to the user that Debian's package made.
    const [uid, gid] = ['-u', '-g'].map((flag) => Number(output('id', [flag, 'postgres'])));
    chownSync(folder, uid!, gid!);
  }
  const run = (command: string, args: string[]) =>
    asPostgres
      ? output('runuser', ['-u', 'postgres', '--', join(bin, command), ...args])
      : output(join(bin, command), args);

  const data = join(folder, 'data');
  run('initdb', ['-D', data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C']);
  const port = await start((port) => {
    const fsync = durable ? 'on' : 'off';
    const options = `-p ${port} -k ${folder} -c listen_addresses=127.0.0.1 -c fsync=${fsync}`;
    run('pg_ctl', ['-D', data, '-w', '-l', join(folder, 'log'), '-o', options, 'start']);
  });
  return {
    url: `postgres://postgres@127.0.0.1:${port}/postgres`,
    async stop() {
      run('pg_ctl', ['-D', data, '-m', 'immediate', 'stop']);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** On a port that was free a moment ago; on another where somebody was quicker. */
async function start(on: (port: number) => void): Promise<number> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await freePort();
    try {
      on(port);
      return port;
    } catch (error) {
      if (attempt === 5) throw error;
    }
  }
}

function output(command: string, args: string[]): string {
  const result = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });
  if (result.status !== 0)
    throw new Error(`${command} ${args.join(' ')}: ${result.stderr}${result.error ?? ''}`);
  return result.stdout.trim();
}
