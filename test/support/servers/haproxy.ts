/**
 * HAProxy in front of other servers: one address each for the primary and the standbys of a PostgreSQL cluster, and for
 * any servers that answer HTTP.
 */
import { chownSync, rmSync, writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../free-port.ts';
import { findProgram, runAs, ServerProcess, serverFolder } from './programs.ts';

/** For `skipWithout`. */
export const haproxyProgram = { haproxy: findProgram('haproxy') };

/** One address and the servers behind it. */
export interface Balanced {
  readonly name: string;
  /** `primary` and `standbys` of PostgreSQL are told apart by asking them; `http` ones by a path that answers 200. */
  readonly kind: 'primary' | 'standbys' | { readonly httpPath: string };
  readonly ports: readonly number[];
  /** How long a server may take to answer that it is well; 2 unless said. Machines may be busy. */
  readonly checkSeconds?: number;
}

export interface Haproxy {
  /** The port of each address, by its name. */
  readonly ports: Readonly<Record<string, number>>;
  kill(): Promise<void>;
  start(): Promise<void>;
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

export async function startHaproxy(addresses: readonly Balanced[]): Promise<Haproxy> {
  const file = findProgram('haproxy');
  if (file === undefined) throw new Error('this needs haproxy (Debian: apt-get install haproxy)');
  const as = runAs('nobody');
  const folder = serverFolder('haproxy', as);
  const ports: Record<string, number> = {};
  for (const { name } of addresses) ports[name] = await freePort();
  const configuration = join(folder, 'haproxy.cfg');
  writeFileSync(
    configuration,
    [defaults, ...addresses.map((one) => listen(one, ports[one.name]!))].join('\n'),
  );
  if (as.uid !== undefined && as.gid !== undefined) chownSync(configuration, as.uid, as.gid);
  const server = new ServerProcess(file, ['-f', configuration, '-db'], folder, as);
  const start = () =>
    server.start('HAProxy', async () => {
      const ready = await Promise.all(addresses.map((one) => leadsRight(one, ports[one.name]!)));
      return ready.every(Boolean);
    });
  try {
    await start();
  } catch (error) {
    await server.end();
    throw error;
  }
  return {
    ports,
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

const defaults = `
global
  maxconn 4000
defaults
  timeout connect 2s
  timeout client 10m
  timeout server 10m
  default-server inter 200ms fall 1 rise 1 on-marked-down shutdown-sessions
`;

function listen({ name, kind, ports, checkSeconds = 2 }: Balanced, port: number): string {
  const lines = [`listen ${name}`, `  bind 127.0.0.1:${port}`, `  timeout check ${checkSeconds}s`];
  if (typeof kind === 'string') lines.push('  mode tcp', ...recoveryCheck(kind === 'standbys'));
  else {
    lines.push('  mode http', '  balance roundrobin', '  option redispatch', '  retries 2');
    lines.push(`  option httpchk GET ${kind.httpPath}`, '  http-check expect status 200');
  }
  for (const [index, one] of ports.entries()) lines.push(`  server s${index} 127.0.0.1:${one} check`);
  return `${lines.join('\n')}\n`;
}

/** Logs in and asks whether the server is in recovery, in PostgreSQL's own protocol. */
function recoveryCheck(inRecovery: boolean): string[] {
  const parameters = Buffer.from('user\0postgres\0database\0postgres\0\0');
  const startup = Buffer.concat([uint32(parameters.length + 8), uint32(0x00030000), parameters]);
  const text = Buffer.from('SELECT pg_is_in_recovery()\0');
  const question = Buffer.concat([Buffer.from('Q'), uint32(text.length + 4), text]);
  const ready = Buffer.from('Z\0\0\0\x05I');
  const row = Buffer.concat([
    Buffer.from('D'),
    uint32(11),
    Buffer.from([0, 1]),
    uint32(1),
    Buffer.from(inRecovery ? 't' : 'f'),
  ]);
  return [
    '  option tcp-check',
    '  tcp-check connect',
    `  tcp-check send-binary ${startup.toString('hex')}`,
    `  tcp-check expect binary ${ready.toString('hex')}`,
    `  tcp-check send-binary ${question.toString('hex')}`,
    `  tcp-check expect binary ${row.toString('hex')}`,
  ];
}

function uint32(value: number): Buffer {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
}

/** Before the first check every server is taken for a good one: so long another may answer than should. */
async function leadsRight({ kind, ports: servers }: Balanced, port: number): Promise<boolean> {
  if (typeof kind !== 'string') return accepts(port);
  for (let asked = 0; asked < servers.length; asked += 1) {
    const client = new pg.Client({ connectionString: `postgres://postgres@127.0.0.1:${port}/postgres` });
    client.on('error', () => {});
    await client.connect();
    const { rows } = await client.query<{ standby: boolean }>('SELECT pg_is_in_recovery() AS standby');
    await client.end();
    if (rows[0]?.standby !== (kind === 'standbys')) return false;
  }
  return true;
}

function accepts(port: number): Promise<true> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.once('error', reject);
  });
}
