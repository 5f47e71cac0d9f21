/**
 * One gateway that is told of new items. While it keeps up it takes them as they come; once it failed, or was slow, what
 * it did not take waits in rows of its own, and a task of its own brings them. So one that is away costs the others
 * nothing.
 */
import { redactUrl } from '../../config/redact.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { HttpClient, OutsideUnavailable } from '../../outside/http.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { UploadMetrics } from '../metrics.ts';
import { type Announcement, announcementOf } from './announcement.ts';
import { countWaiting, dropOldest, markTold, waitingFor } from './waiting-announcements.ts';

const timeoutMs = 10_000;
/** To ask whether it is there; short, because a gateway that returns should hear of new items within seconds. */
const probeTimeoutMs = 2_000;
const backoff = { firstMs: 500, longestMs: 3_000 };
/** What a gateway may ask us to wait at most. */
const longestWaitMs = 60_000;
/** A gateway that was not spoken to for so long is asked whether it is there. */
const probeAfterMs = 15_000;
/** The gateway answers a sentence. */
const maxAnswerBytes = 1024 * 1024;
const batch = 200;
/** A gateway that is away for days is not logged at every try. */
const logEveryMs = 600_000;
/** Answers about what was sent, which will be the same next time. */
const refusals = new Set([400, 413, 422]);
/** Nobody's bundle: what is asked for to hear whether the gateway is there and takes the key. */
const nobody = 'A'.repeat(43);

/** A gateway, and what readers and operators are told of it. */
export interface GatewayPlace {
  readonly url: string;
  /** Of its admin routes. */
  readonly key: string;
  /** As receipts name it. */
  readonly host: string;
  /** Whether it serves the bytes of what it was told of before they are mined. */
  readonly hasData: boolean;
}

interface ToldGatewayOptions extends GatewayPlace {
  readonly sql: Sql;
  readonly log: Logger;
  readonly metrics: Pick<UploadMetrics, 'announced' | 'gateway'>;
  readonly number: number;
  /** It listens until it is known not to. */
  readonly assumed: boolean;
  readonly maxWaiting: number;
  /** How long others wait for it. */
  readonly offerTimeoutMs: number;
  readonly sweepMs: number;
}

/** What became of an offer: `later` it is brought by the gateway's own task. */
export type Offered = 'later' | { readonly refused: ReadonlySet<string> };

/** The gateway is there and cannot take it now. */
class GatewayBusy extends Error {
  readonly waitMs: number;

  constructor(message: string, waitMs: number) {
    super(message);
    this.waitMs = waitMs;
  }
}

export class ToldGateway {
  readonly #options: ToldGatewayOptions;
  readonly #http = new HttpClient({ timeoutMs, maxBytes: maxAnswerBytes, connections: 4 });
  readonly #stopping = new AbortController();
  #listens: boolean;
  /** What is new goes into rows: the gateway has not taken everything yet, or takes longer than others should wait. */
  #isBehind = false;
  #waiting = 0;
  #refused = 0;
  #failures = 0;
  #lastError: { readonly message: string; readonly at: number } | undefined;
  #heardAt = Number.NEGATIVE_INFINITY;
  #loggedAt = Number.NEGATIVE_INFINITY;
  readonly #task: WakeableTask;

  constructor(options: ToldGatewayOptions) {
    this.#options = options;
    this.#listens = options.assumed;
    if (options.assumed) this.#heardAt = performance.now();
    this.#task = new WakeableTask({
      name: `tell ${options.host} of new items`,
      run: () => this.#bring(),
      failed: (error, failures) => {
        this.#failed(error);
        const asked = error instanceof GatewayBusy ? error.waitMs : 0;
        return Math.max(asked, backoffMs(backoff, failures));
      },
    });
  }

  get number(): number {
    return this.#options.number;
  }

  get host(): string {
    return this.#options.host;
  }

  get hasData(): boolean {
    return this.#options.hasData;
  }

  /** Whether it answered when it was last spoken to. */
  get isListening(): boolean {
    return this.#listens;
  }

  /** How it goes with it. */
  get status() {
    const [report] = this.#task.reports();
    return {
      url: redactUrl(this.#options.url),
      host: this.host,
      listening: this.#listens,
      failures: this.#failures,
      lastError: this.#lastError?.message ?? null,
      lastErrorAt: this.#lastError?.at ?? null,
      nextTryAt: report?.nextAt ?? null,
      refused: this.#refused,
    };
  }

  async open(): Promise<void> {
    await this.#count();
    this.#isBehind = this.#waiting > 0;
  }

  start(): void {
    this.#options.metrics.gateway(this.host, this.#listens, this.#waiting);
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#task.stop();
    await this.#http.close();
  }

  /** Tells it of new items at once, where it keeps up. Never throws. */
  async offer(announcements: readonly Announcement[]): Promise<Offered> {
    if (this.#isBehind) return 'later';
    const { offerTimeoutMs } = this.#options;
    try {
      return { refused: await this.#tell(announcements, offerTimeoutMs) };
    } catch (error) {
      this.#isBehind = true;
      // One that takes its time may listen all the same: its own task finds out.
      if (!(error instanceof OutsideUnavailable && error.isTimeout)) this.#failed(error);
      return 'later';
    }
  }

  /** Items were stored for it. */
  async wakeFor(count: number): Promise<void> {
    const { sql, number, maxWaiting, metrics, log } = this.#options;
    this.#waiting += count;
    this.#isBehind = true;
    this.#task.wake();
    // Not for each: the oldest are found by counting.
    if (this.#waiting > maxWaiting + Math.floor(maxWaiting / 20)) {
      const dropped = await dropOldest(sql, number, maxWaiting);
      await this.#count();
      if (dropped > 0) {
        metrics.announced(this.host, 'dropped', dropped);
        log.warn({ gateway: this.host, dropped }, 'a gateway is not told of items that waited too long');
      }
    }
    metrics.gateway(this.host, this.#listens, this.#waiting);
  }

  async #bring(): Promise<number> {
    const { sql, number, sweepMs } = this.#options;
    if (!this.#listens || performance.now() - this.#heardAt > probeAfterMs) await this.#probe();
    let tookMs = 0;
    while (!this.#task.isStopped) {
      const rows = await waitingFor(sql, number, batch);
      if (rows.length === 0) break;
      const announcements = rows.flatMap((row) => announcementOf(row) ?? []);
      const startedAt = performance.now();
      const refused =
        announcements.length === 0 ? new Set<string>() : await this.#tell(announcements, timeoutMs);
      tookMs = performance.now() - startedAt;
      const told = new Set(announcements.map(({ id }) => id));
      await markTold(
        sql,
        number,
        rows.map(({ id }) => ({ id, isTold: told.has(id) && !refused.has(id) })),
      );
    }
    if (this.#waiting > 0 || this.#isBehind) await this.#count();
    // What was stored for it since then wakes this again.
    this.#isBehind = this.#waiting > 0 || tookMs > this.#options.offerTimeoutMs;
    return sweepMs;
  }

  /** Whether it is there and takes our key, without telling it anything. */
  async #probe(): Promise<void> {
    const { url } = this.#options;
    const answer = await this.#http.call(`${url}/ar-io/admin/bundle-status/${nobody}`, {
      headers: this.#headers,
      timeoutMs: probeTimeoutMs,
      signal: this.#stopping.signal,
    });
    if (answer.status === 401 || answer.status === 403) throw new Error('the gateway does not take our key');
    if (answer.status >= 500 || answer.status === 429)
      throw new Error(`the gateway answered ${answer.status}`);
    this.#heard();
  }

  /** Answers which of them it will never take: found by halves and left out, so that the others need not wait. */
  async #tell(announcements: readonly Announcement[], limitMs: number): Promise<ReadonlySet<string>> {
    const refused = new Set<string>();
    const tell = async (some: readonly Announcement[]): Promise<void> => {
      const status = await this.#post(some, limitMs);
      if (status >= 200 && status <= 299) return;
      const [first] = some;
      if (some.length === 1 && first !== undefined) {
        refused.add(first.id);
        this.#options.log.error(
          { id: first.id, status, gateway: this.host },
          'a gateway does not take an item',
        );
        return;
      }
      const half = Math.ceil(some.length / 2);
      await tell(some.slice(0, half));
      await tell(some.slice(half));
    };
    await tell(announcements);
    this.#heard();
    this.#refused += refused.size;
    this.#options.metrics.announced(this.host, 'told', announcements.length - refused.size);
    return refused;
  }

  /** Its answer, which is about what was sent; throws where it could not be told. */
  async #post(announcements: readonly Announcement[], limitMs: number): Promise<number> {
    const { status, headers } = await this.#http.postJson(
      `${this.#options.url}/ar-io/admin/queue-data-item`,
      announcements,
      { headers: this.#headers, timeoutMs: limitMs, signal: this.#stopping.signal },
    );
    if ((status >= 200 && status <= 299) || refusals.has(status)) return status;
    if (status === 401 || status === 403) throw new Error('the gateway does not take our key');
    const waitMs = Number(headers['retry-after']) * 1_000;
    throw new GatewayBusy(
      `the gateway answered ${status}`,
      Number.isFinite(waitMs) ? Math.min(longestWaitMs, Math.max(0, waitMs)) : 0,
    );
  }

  get #headers(): Record<string, string> {
    return { authorization: `Bearer ${this.#options.key}` };
  }

  #heard(): void {
    this.#heardAt = performance.now();
    if (this.#failures > 0) {
      this.#options.log.info({ gateway: this.host }, 'a gateway hears of new items again');
      this.#loggedAt = Number.NEGATIVE_INFINITY;
    }
    this.#failures = 0;
    this.#listens = true;
    this.#options.metrics.gateway(this.host, true, this.#waiting);
  }

  #failed(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#failures += 1;
    this.#listens = false;
    this.#lastError = { message: messageOf(error), at: Date.now() };
    this.#options.metrics.gateway(this.host, false, this.#waiting);
    if (performance.now() - this.#loggedAt < logEveryMs) return;
    this.#loggedAt = performance.now();
    this.#options.log.warn({ err: error, gateway: this.host }, 'a gateway was not told of new items');
  }

  async #count(): Promise<void> {
    const { sql, number, metrics } = this.#options;
    this.#waiting = await countWaiting(sql, number);
    metrics.gateway(this.host, this.#listens, this.#waiting);
  }
}
