/**
 * PostgreSQL as people run it: a primary and standbys that stream from it, on loopback, in a temporary folder. A node can
 * be killed, frozen, promoted and made a standby again, while whoever uses the cluster goes on.
 */
import { appendFileSync, globSync, readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import pg from 'pg';
import { eventually } from '../eventually.ts';
import { freePort } from '../free-port.ts';
import { processTree, type RunAs, runAs, runProgram, serverFolder, signalAll } from './programs.ts';

const programs = (): string | undefined => globSync('/usr/lib/postgresql/*/bin').sort().at(-1);

/** For `skipWithout`. */
export const postgresPrograms = { postgresql: programs() };

export interface ClusterOptions {
  readonly standbys?: number;
  /** A commit is acknowledged when a standby has it too: a failover then loses nothing. */
  readonly synchronous?: boolean;
  /** Further lines of postgresql.conf, by name. */
  readonly settings?: Readonly<Record<string, string>>;
}

export async function startPostgresCluster(options: ClusterOptions = {}): Promise<PostgresCluster> {
  const bin = programs();
  if (bin === undefined) throw new Error('this needs PostgreSQL (Debian: apt-get install postgresql)');
  const as = runAs('postgres');
  const folder = serverFolder('cluster', as);
  const nodes: PostgresNode[] = [];
  const cluster = new PostgresCluster(folder, nodes);
  try {
    for (let index = 0; index <= (options.standbys ?? 0); index += 1) {
      nodes.push(new PostgresNode({ bin, as, folder, index, port: await freePort() }));
    }
    const [primary, ...standbys] = nodes;
    if (primary === undefined) throw new Error('a cluster has a primary');
    const settings: Record<string, string> = {
      // What a killed process wrote is in the page cache: only a machine that dies would lose it.
      fsync: 'off',
      listen_addresses: "'127.0.0.1'",
      unix_socket_directories: "''",
      max_connections: '200',
      wal_keep_size: '256MB',
      hot_standby_feedback: 'on',
      wal_receiver_status_interval: '1s',
      wal_retrieve_retry_interval: '200ms',
      ...(options.synchronous === true &&
        standbys.length > 0 && {
          // Whoever is not the primary after a failover: the first primary comes back as a standby.
          synchronous_standby_names: `'FIRST 1 (${nodes.map(({ name }) => name).join(', ')})'`,
        }),
      ...options.settings,
    };
    await primary.initialise(settings);
    await primary.start();
    await Promise.all(
      standbys.map(async (standby) => {
        await standby.copy(primary);
        await standby.start();
      }),
    );
    await cluster.streaming(primary, standbys.length);
    return cluster;
  } catch (error) {
    await cluster.stop();
    throw error;
  }
}

export class PostgresCluster {
  readonly #folder: string;
  /** The first began as the primary. */
  readonly nodes: readonly PostgresNode[];
  #primary = 0;

  constructor(folder: string, nodes: readonly PostgresNode[]) {
    this.#folder = folder;
    this.nodes = nodes;
  }

  /** Whoever is the primary now. */
  get primary(): PostgresNode {
    return this.nodes[this.#primary]!;
  }

  get standbys(): readonly PostgresNode[] {
    return this.nodes.filter((_, index) => index !== this.#primary);
  }

  /** All nodes in one address, for a client that finds the primary among them. */
  get url(): string {
    return `postgres://postgres@${this.nodes.map(({ port }) => `127.0.0.1:${port}`).join(',')}/postgres`;
  }

  /**
   * Makes a standby the primary, by default the one that received most, and lets the others follow it. The old primary
   * is left as it is: kill it first, as whoever watches a cluster does.
   */
  async promote(index?: number): Promise<PostgresNode> {
    const running = this.standbys.filter(({ isRunning }) => isRunning);
    const chosen = index === undefined ? await mostReceived(running) : this.nodes[index];
    if (chosen === undefined) throw new Error('no standby is running');
    await chosen.promote();
    this.#primary = this.nodes.indexOf(chosen);
    for (const other of running) if (other !== chosen) await other.follow(chosen);
    return chosen;
  }

  /** A node that is not running becomes a standby of the present primary, from a new copy. */
  async rejoin(node: PostgresNode): Promise<void> {
    await node.copy(this.primary);
    await node.start();
  }

  /** Waits until so many standbys stream. */
  async streaming(primary: PostgresNode, count: number): Promise<void> {
    await eventually(`${count} standbys stream`, async () => {
      const rows = await primary.query("SELECT 1 FROM pg_stat_replication WHERE state = 'streaming'");
      return rows.length >= count;
    });
  }

  async stop(): Promise<void> {
    for (const node of this.nodes) await node.kill();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

interface NodeOptions {
  readonly bin: string;
  readonly as: RunAs;
  readonly folder: string;
  readonly index: number;
  readonly port: number;
}

export class PostgresNode {
  readonly #options: NodeOptions;
  readonly #data: string;
  /** As standbys call themselves to the primary. */
  readonly name: string;
  readonly port: number;

  constructor(options: NodeOptions) {
    this.#options = options;
    this.name = `node${options.index}`;
    this.port = options.port;
    this.#data = join(options.folder, this.name);
  }

  get url(): string {
    return `postgres://postgres@127.0.0.1:${this.port}/postgres`;
  }

  async initialise(settings: Readonly<Record<string, string>>): Promise<void> {
    await this.#run('initdb', '-D', this.#data, '-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C');
    const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}\n`);
    appendFileSync(join(this.#data, 'postgresql.conf'), lines.join(''));
  }

  /** Becomes a standby of another node, from a copy of it. */
  async copy(primary: PostgresNode): Promise<void> {
    rmSync(this.#data, { recursive: true, force: true });
    await this.#run(
      ...['pg_basebackup', '-D', this.#data, '-d', this.#connectionTo(primary)],
      ...['-R', '-X', 'stream', '-c', 'fast'],
    );
  }

  async start(): Promise<void> {
    const log = join(this.#options.folder, `${this.name}.log`);
    await this.#run('pg_ctl', '-D', this.#data, '-w', '-l', log, '-o', `-p ${this.port}`, 'start');
  }

  /** Kills it as a machine that dies would end it. */
  async kill(): Promise<void> {
    const pids = this.#pids();
    signalAll(pids, 'SIGKILL');
    await eventually(`${this.name} is gone`, async () => pids.every((pid) => processTree(pid).length === 0));
  }

  /** It answers nobody until `resume`, and its connections stay open. */
  pause(): void {
    signalAll(this.#pids(), 'SIGSTOP');
  }

  resume(): void {
    signalAll(this.#pids(), 'SIGCONT');
  }

  get isRunning(): boolean {
    return this.#pids().length > 0;
  }

  async promote(): Promise<void> {
    await this.#run('pg_ctl', '-D', this.#data, '-w', 'promote');
  }

  /** As a running standby: streams from another primary from now on. */
  async follow(primary: PostgresNode): Promise<void> {
    const connection = this.#connectionTo(primary);
    await this.query(`ALTER SYSTEM SET primary_conninfo = '${connection}'`);
    await this.query('SELECT pg_reload_conf()');
  }

  /** As a standby: what it receives is not shown to anybody until `resumeReplay`. */
  async pauseReplay(): Promise<void> {
    await this.query('SELECT pg_wal_replay_pause()');
    await eventually(`${this.name} has paused its replay`, async () => {
      const [row] = await this.query('SELECT pg_get_wal_replay_pause_state() AS state');
      return row?.state === 'paused';
    });
  }

  async resumeReplay(): Promise<void> {
    await this.query('SELECT pg_wal_replay_resume()');
  }

  /** Over a connection of its own. */
  async query(text: string, values: readonly unknown[] = []): Promise<Record<string, unknown>[]> {
    const client = new pg.Client({ connectionString: this.url, connectionTimeoutMillis: 10_000 });
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(text, [...values])).rows;
    } finally {
      await client.end();
    }
  }

  #connectionTo(primary: PostgresNode): string {
    return `host=127.0.0.1 port=${primary.port} user=postgres application_name=${this.name}`;
  }

  #pids(): number[] {
    try {
      return processTree(Number(readFileSync(join(this.#data, 'postmaster.pid'), 'utf8').split('\n')[0]));
    } catch {
      return [];
    }
  }

  #run(program: string, ...args: string[]): Promise<string> {
    const { bin, folder, as } = this.#options;
    return runProgram(join(bin, program), args, folder, as);
  }
}

async function mostReceived(standbys: readonly PostgresNode[]): Promise<PostgresNode | undefined> {
  const received = await Promise.all(
    standbys.map(async (standby) => {
      const [row] = await standby.query(
        "SELECT CAST(greatest(pg_last_wal_receive_lsn(), pg_last_wal_replay_lsn()) - '0/0' AS text) AS bytes",
      );
      return { standby, bytes: BigInt(String(row?.bytes ?? 0)) };
    }),
  );
  return received.sort((a, b) => Number(b.bytes - a.bytes))[0]?.standby;
}
