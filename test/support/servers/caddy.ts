/** Caddy with the file of deploy/caddy. */
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { freePort } from '../free-port.ts';
import { acceptsConnections } from './accepts-connections.ts';
import { type FrontPlaces, withPlaces } from './front-ports.ts';
import { findProgram, runProgram, ServerProcess, serverFolder } from './programs.ts';

const caddyfile = resolve(import.meta.dirname, '../../../deploy/caddy/Caddyfile');

/** For `skipWithout`. */
export const caddyProgram = { caddy: findProgram('caddy') };

export interface Caddy {
  /** `caddy validate` of what is installed. */
  test(): Promise<string>;
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

export async function startCaddy(options: FrontPlaces): Promise<Caddy> {
  const file = caddyProgram.caddy;
  if (file === undefined) throw new Error('this needs caddy (Debian: apt-get install caddy)');
  const folder = serverFolder('caddy', {});
  const global = [
    '{',
    '\tadmin off',
    '\tauto_https disable_redirects',
    `\thttp_port ${await freePort()}`,
    `\thttps_port ${options.port}`,
    `\tstorage file_system ${folder}/storage`,
    '\tdefault_bind 127.0.0.1',
    '}',
    '',
  ].join('\n');
  const installed = join(folder, 'Caddyfile');
  writeFileSync(installed, global + withPlaces(readFileSync(caddyfile, 'utf8'), options));
  // Its folders are below these.
  const home = { HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder };
  const args = ['--config', installed, '--adapter', 'caddyfile'];
  const settings = Object.entries(home).map(([name, value]) => `${name}=${value}`);
  const server = new ServerProcess('/usr/bin/env', [...settings, file, 'run', ...args], folder, {});
  const start = () => server.start('Caddy', () => acceptsConnections(options.port));
  await start();
  return {
    test: () => runProgram('/usr/bin/env', [...settings, file, 'validate', ...args], folder, {}),
    kill: () => server.end('SIGKILL'),
    start,
    async stop() {
      await server.end('SIGKILL');
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
