/** PgBouncer in front of a PostgreSQL: many connections of clients share a few of the server's. */
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { findProgram, runAs, ServerProcess, serverFolder } from './programs.ts';

/** For `skipWithout`. */
export const pgbouncerProgram = { pgbouncer: findProgram('pgbouncer') };

export interface PgbouncerOptions {
  /** The server, or what stands in front of several: every database of it is reached by its own name. */
  readonly target: { readonly port: number };
  readonly poolMode?: 'transaction' | 'session';
  /** Connections to the server of each database and user. */
  readonly poolSize?: number;
  readonly port?: number;
}

export interface Pgbouncer {
  readonly url: string;
  readonly port: number;
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function startPgbouncer(options: PgbouncerOptions): Promise<Pgbouncer> {
  const file = findProgram('pgbouncer');
  if (file === undefined) throw new Error('this needs pgbouncer (Debian: apt-get install pgbouncer)');
  const { poolMode = 'transaction', poolSize = 20, port = await freePort() } = options;
  const as = runAs('postgres');
  const folder = serverFolder('pgbouncer', as);
  const files = { 'users.txt': '"postgres" ""\n', 'pgbouncer.ini': '' };
  files['pgbouncer.ini'] = [
    '[databases]',
    `* = host=127.0.0.1 port=${options.target.port}`,
    '[pgbouncer]',
    'listen_addr = 127.0.0.1',
    `listen_port = ${port}`,
    'unix_socket_dir =',
    'auth_type = trust',
    `auth_file = ${join(folder, 'users.txt')}`,
    'admin_users = postgres',
    `pool_mode = ${poolMode}`,
    `default_pool_size = ${poolSize}`,
    'max_client_conn = 1000',
    'server_login_retry = 0.2',
    'server_connect_timeout = 2',
    '',
  ].join('\n');
  for (const [name, text] of Object.entries(files)) {
    writeFileSync(join(folder, name), text);
    if (as.uid !== undefined && as.gid !== undefined) chownSync(join(folder, name), as.uid, as.gid);
  }
  const server = new ServerProcess(file, [join(folder, 'pgbouncer.ini')], folder, as);
  const url = `postgres://postgres@127.0.0.1:${port}/postgres`;
  const start = () =>
    server.start('PgBouncer', async () => {
      const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/pgbouncer` });
      client.on('error', () => {});
      await client.connect();
      await client.end();
      return true;
    });
  try {
    await start();
  } catch (error) {
    await server.end();
    throw error;
  }
  return {
    url,
    port,
    kill: () => server.end('SIGKILL'),
    start,
    pause: () => server.signal('SIGSTOP'),
    resume: () => server.signal('SIGCONT'),
    async stop() {
      await server.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
