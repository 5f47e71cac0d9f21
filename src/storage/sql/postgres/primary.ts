/**
 * Connections to the primary, which may be any of several hosts, and another one tomorrow. A host that is a standby is
 * never written to; nor is one that was the primary before a failover and came back, once the newer one was seen.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Pool, PoolClient } from 'pg';
import { DatabaseUnavailable } from '../sql.ts';
import { type Checked, type ConnectionOptions, createPool } from './connection.ts';
import { isNotPrimary, translated } from './errors.ts';
import { hostName } from './host-name.ts';

interface Host {
  /** Name and port, for messages. */
  readonly name: string;
  readonly pool: Pool;
  /** Of its newest connection. */
  timeline: number | undefined;
}

/** Once one host turned out to be a primary, the others have so long to say that they are a newer one. */
const newerWithinMs = 500;
const answersWithinMs = 2_000;

export class Primary {
  readonly #hosts: readonly Host[];
  #current: Host | undefined;
  #finding: Promise<Host> | undefined;
  /** The newest that was seen. */
  #timeline = 0;
  /** Of the newest connection to a primary. */
  system: string | undefined;

  constructor(urls: readonly string[], options: ConnectionOptions) {
    this.#hosts = urls.map((url) => {
      const name = hostName(url);
      const host: Host = {
        name,
        pool: createPool(url, options, (checked) => this.#accept(host, checked)),
        timeline: undefined,
      };
      return host;
    });
    if (this.#hosts.length === 1) this.#current = this.#hosts[0];
  }

  async connect(): Promise<PoolClient> {
    const host = this.#current ?? (await this.#find());
    try {
      return await host.pool.connect();
    } catch (error) {
      const told = translated(error);
      this.#doubt(host);
      throw told;
    }
  }

  /** Told of every failure of a connection's use: where the server is gone or is no primary, it is looked for again. */
  failed(error: unknown): void {
    if (this.#current !== undefined && isNotPrimary(error)) this.#doubt(this.#current);
  }

  async end(): Promise<void> {
    await Promise.all(this.#hosts.map(({ pool }) => pool.end()));
  }

  #doubt(host: Host): void {
    if (this.#hosts.length > 1 && this.#current === host) this.#current = undefined;
  }

  #accept(host: Host, { isStandby, timeline, system }: Checked): void {
    if (isStandby) throw new DatabaseUnavailable(`${host.name} is a standby, which takes no writes`);
    if (timeline !== undefined && timeline < this.#timeline) {
      throw new DatabaseUnavailable(
        `${host.name} was the primary before a failover: make it a standby, or take it out of the address`,
      );
    }
    host.timeline = timeline;
    this.#timeline = Math.max(this.#timeline, timeline ?? 0);
    this.system = system;
  }

  #find(): Promise<Host> {
    this.#finding ??= this.#ask().finally(() => {
      this.#finding = undefined;
    });
    return this.#finding;
  }

  /** Asks all hosts at once; of several primaries the one of the newest timeline counts. */
  async #ask(): Promise<Host> {
    const failures: string[] = [];
    const found: Host[] = [];
    const first = Promise.withResolvers<void>();
    const asked = this.#hosts.map(async (host) => {
      try {
        await askNow(host.pool);
        found.push(host);
        first.resolve();
      } catch (error) {
        failures.push(`${host.name}: ${error instanceof Error ? error.message : String(error)}`);
      }
    });
    const all = Promise.all(asked);
    await Promise.race([first.promise, all]);
    if (found.length > 0) await Promise.race([all, sleep(newerWithinMs)]);
    // A connection from before the failover still leads to what was the primary then.
    const [newest] = found
      .filter(({ name, timeline = this.#timeline }) => {
        if (timeline < this.#timeline) failures.push(`${name}: it was the primary before a failover`);
        return timeline >= this.#timeline;
      })
      .sort((a, b) => (b.timeline ?? 0) - (a.timeline ?? 0));
    if (newest === undefined) {
      throw new DatabaseUnavailable(`none of the hosts is a primary that answers (${failures.join('; ')})`);
    }
    this.#current = newest;
    return newest;
  }
}

/** A connection that is there already may lead to a server that does not answer any more. */
async function askNow(pool: Pool): Promise<void> {
  const client = await pool.connect();
  let answers = false;
  try {
    const tooLate = sleep(answersWithinMs).then(() => {
      throw new DatabaseUnavailable('it does not answer');
    });
    await Promise.race([client.query('SELECT pg_is_in_recovery()'), tooLate]);
    answers = true;
  } finally {
    client.release(!answers);
  }
}
