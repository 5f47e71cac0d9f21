/** A ClickHouse of the tests' own, on free ports in a temporary folder, gone when they end. */
import { type ChildProcess, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';
import { freePort } from '../free-port.ts';

export interface ClickHouseServer {
  /** Of its HTTP interface. */
  readonly url: string;
  /** For other servers of a cluster. */
  readonly tcpPort: number;
  /** Of its process. */
  readonly pid: number;
  readonly folder: string;
  /** Runs a statement and answers what it printed. */
  ask(statement: string): Promise<string>;
  /** Ends it at once, as a loss of power would. */
  kill(): Promise<void>;
  /** Starts it again on the same ports and folder. */
  start(): Promise<void>;
  /** Stops it from answering, without closing anything. */
  pause(): void;
  resume(): void;
  stop(): Promise<void>;
}

interface ClickHouseOptions {
  /** Ports of the shards of the cluster `shards`, this server's own among them. */
  readonly ports?: { readonly http: number; readonly tcp: number };
  readonly shards?: readonly number[];
}

/** Why tests that need it cannot run; undefined where it is installed. */
export function clickHouseMissing(): string | undefined {
  if (spawnSync('clickhouse-server', ['--version'], { stdio: 'ignore' }).error === undefined)
    return undefined;
  if (process.env.CI !== undefined) throw new Error('these tests need clickhouse-server');
  return 'needs clickhouse-server (Debian: apt-get install clickhouse-server)';
}

const startMs = 30_000;

export async function startClickHouse(options: ClickHouseOptions = {}): Promise<ClickHouseServer> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-clickhouse-'));
  const http = options.ports?.http ?? (await freePort());
  const tcp = options.ports?.tcp ?? (await freePort());
  for (const name of ['data', 'tmp', 'files', 'schemas']) mkdirSync(join(folder, name));
  writeFileSync(join(folder, 'config.xml'), configuration(folder, http, tcp, options.shards ?? []));
  writeFileSync(join(folder, 'users.xml'), users);
  const url = `http://127.0.0.1:${http}`;
  let child: ChildProcess | undefined;

  async function start(): Promise<void> {
    const started = spawn('clickhouse-server', [`--config-file=${join(folder, 'config.xml')}`], {
      cwd: folder,
      stdio: 'ignore',
    });
    child = started;
    const until = performance.now() + startMs;
    for (;;) {
      const answer = await fetch(url, { signal: AbortSignal.timeout(1_000) }).catch(() => undefined);
      if (answer?.ok === true) return;
      if (started.exitCode !== null || performance.now() > until) {
        started.kill('SIGKILL');
        throw new Error(`clickhouse-server did not start:\n${lastLines(join(folder, 'log'))}`);
      }
      await pause(50);
    }
  }

  async function kill(): Promise<void> {
    const running = child;
    child = undefined;
    if (running === undefined || running.exitCode !== null || running.signalCode !== null) return;
    const gone = once(running, 'exit');
    running.kill('SIGKILL');
    await gone;
  }

  await start();
  return {
    url,
    tcpPort: tcp,
    get pid() {
      return child?.pid ?? 0;
    },
    folder,
    async ask(statement) {
      const answer = await fetch(url, { method: 'POST', body: statement });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
      return text.trim();
    },
    kill,
    start,
    pause: () => void child?.kill('SIGSTOP'),
    resume: () => void child?.kill('SIGCONT'),
    async stop() {
      await kill();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function lastLines(file: string): string {
  try {
    return readFileSync(file, 'utf8').split('\n').slice(-20).join('\n');
  } catch {
    return 'it wrote no log';
  }
}

const configuration = (
  folder: string,
  http: number,
  tcp: number,
  shards: readonly number[],
): string => `<yandex>
  <logger><level>warning</level><log>${folder}/log</log><errorlog>${folder}/errors</errorlog></logger>
  <http_port>${http}</http_port>
  <tcp_port>${tcp}</tcp_port>
  <listen_host>127.0.0.1</listen_host>
  <path>${folder}/data/</path>
  <tmp_path>${folder}/tmp/</tmp_path>
  <user_files_path>${folder}/files/</user_files_path>
  <format_schema_path>${folder}/schemas/</format_schema_path>
  <users_config>${folder}/users.xml</users_config>
  <default_profile>default</default_profile>
  <default_database>default</default_database>
  <mark_cache_size>268435456</mark_cache_size>
  <compression>
    <case><min_part_size>0</min_part_size><min_part_size_ratio>0</min_part_size_ratio><method>zstd</method></case>
  </compression>
  <remote_servers><shards>${shards
    .map((port) => `<shard><replica><host>127.0.0.1</host><port>${port}</port></replica></shard>`)
    .join('')}</shards></remote_servers>
</yandex>
`;

const users = `<yandex>
  <profiles><default></default></profiles>
  <users>
    <default>
      <password></password>
      <networks><ip>127.0.0.1</ip></networks>
      <profile>default</profile>
      <quota>default</quota>
    </default>
  </users>
  <quotas><default></default></quotas>
</yandex>
`;
