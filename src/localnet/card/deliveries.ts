/**
 * Webhooks: every event is posted, signed, to the merchant's endpoint until it answers 2xx, at growing
 * intervals for three days. What is waiting survives a restart, so an event arrives at least once; faults
 * for tests (`faults.ts`) make it arrive late, twice, out of order or never.
 */
import { createHmac } from 'node:crypto';
import { type Backoff, backoffMs } from '../../kernel/background/backoff.ts';
import type { Job } from '../../kernel/background/job.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { HttpClient } from '../../outside/http.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Faults } from './faults.ts';

const batchSize = 32;
const answerTimeoutMs = 10_000;
const maxAnswerBytes = 64 * 1024;
const stopTimeoutMs = 2_000;
const pauseAfterFailureMs = 5_000;
const threeDays = 3 * 24 * 3600 * 1000;
const eventLifeSeconds = 30 * 24 * 3600;

/** Seconds-long at first so that a restarting merchant is soon served, an hour at most. */
export const retries: Backoff = { firstMs: 1_000, longestMs: 3600 * 1000 };

/** `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "t.body">` (https://docs.stripe.com/webhooks#verify-manually). */
export function signatureHeader(body: string, secret: string, unixSeconds: number): string {
  const signature = createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex');
  return `t=${unixSeconds},v1=${signature}`;
}

interface Delivery {
  readonly seq: number;
  /** One that was added through the API; null is the merchant's own. */
  readonly endpoint: string | null;
  readonly attempts: number;
  readonly created: number;
  readonly body: string;
}

export interface DeliveriesOptions {
  readonly sql: Sql;
  readonly secret: string;
  readonly faults: Faults;
  readonly log: Logger;
  readonly now: () => number;
}

export class Deliveries implements Job {
  readonly #options: DeliveriesOptions;
  readonly #http = new HttpClient({
    timeoutMs: answerTimeoutMs,
    maxBytes: maxAnswerBytes,
    connections: 8,
  });
  readonly #task: WakeableTask;
  #url: string | undefined;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
    this.#task = new WakeableTask({
      name: 'webhook deliveries',
      run: () => this.#deliverDue(),
      failed(error) {
        options.log.error({ err: error }, 'webhook deliveries failed');
        return pauseAfterFailureMs;
      },
    });
  }

  start(): void {
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  /** Where events go from now on; those still waiting too. */
  async deliverTo(url: string): Promise<void> {
    await this.#options.sql.run(
      `INSERT INTO settings (name, value) VALUES ('webhook_url', ?)
       ON CONFLICT (name) DO UPDATE SET value = excluded.value`,
      url,
    );
    await this.#options.sql.run("UPDATE deliveries SET due_at = 0 WHERE state = 'waiting'");
    this.#url = url;
    this.wake();
  }

  get url(): string | undefined {
    return this.#url;
  }

  /** Something may be due. */
  wake(): void {
    this.#task.wake();
  }

  async stop(): Promise<void> {
    const ended = this.#task.stop();
    this.#options.faults.release();
    // What is on its way may arrive; what takes longer is cut off and sent again after the next start.
    const cutOff = setTimeout(() => void this.#http.close(), stopTimeoutMs);
    await ended;
    clearTimeout(cutOff);
    await this.#http.close();
  }

  /** Events are kept for a month, as Stripe keeps them; deliveries that wait, as long as they are tried. */
  async forgetOld(): Promise<void> {
    const before = Math.floor(this.#options.now() / 1000) - eventLifeSeconds;
    await this.#options.sql.transaction(async (tx) => {
      await tx.run(
        `DELETE FROM deliveries WHERE state <> 'waiting'
         AND event_id IN (SELECT id FROM events WHERE created < ?)`,
        before,
      );
      await tx.run(
        'DELETE FROM events WHERE created < ? AND id NOT IN (SELECT event_id FROM deliveries)',
        before,
      );
    });
  }

  /** Answers how long nothing more is due. */
  async #deliverDue(): Promise<number | undefined> {
    const { sql, faults, now } = this.#options;
    this.#url ??= await this.#keptUrl();
    if (faults.settings.hold) return undefined;
    const known = this.#url === undefined ? 'AND d.endpoint IS NOT NULL' : '';
    for (;;) {
      const due = await sql.all<Delivery>(
        `SELECT d.seq, d.endpoint, d.attempts, e.created, e.body
         FROM deliveries d JOIN events e ON e.id = d.event_id
         WHERE d.state = 'waiting' AND d.due_at <= ? ${known} ORDER BY d.seq LIMIT ?`,
        now(),
        batchSize,
      );
      if (this.#task.isStopped || faults.settings.hold) return undefined;
      if (due.length === 0) break;
      for (const group of faults.arrange(due)) {
        await Promise.all(group.map((delivery) => this.#deliver(delivery)));
        if (this.#task.isStopped) return undefined;
      }
    }
    const next = await sql.get<{ due_at: number | null }>(
      `SELECT MIN(due_at) AS due_at FROM deliveries d WHERE state = 'waiting' ${known}`,
    );
    if (next?.due_at == null) return undefined;
    return Math.min(Math.max(next.due_at - now(), 1), retries.longestMs);
  }

  /** Of an earlier start. */
  async #keptUrl(): Promise<string | undefined> {
    const row = await this.#options.sql.get<{ value: string }>(
      "SELECT value FROM settings WHERE name = 'webhook_url'",
    );
    return row?.value;
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { faults, sql, now, log } = this.#options;
    const copies = faults.copies();
    if (copies === 0) {
      await sql.run("UPDATE deliveries SET state = 'dropped' WHERE seq = ?", delivery.seq);
      return;
    }
    await faults.pause();
    if (this.#task.isStopped) return;
    const target = await this.#targetOf(delivery.endpoint);
    if (target === undefined) {
      await sql.run("UPDATE deliveries SET state = 'dropped' WHERE seq = ?", delivery.seq);
      return;
    }
    let answer: Answer = { isAccepted: false, says: 'not sent' };
    for (let copy = 0; copy < copies; copy += 1) {
      const next = await this.#post(target, delivery.body);
      if (!answer.isAccepted) answer = next;
    }
    if (answer.isAccepted) {
      await sql.run(
        "UPDATE deliveries SET state = 'delivered', answer = ? WHERE seq = ?",
        answer.says,
        delivery.seq,
      );
      return;
    }
    const attempts = delivery.attempts + 1;
    const givenUp = now() - delivery.created * 1000 > threeDays;
    if (givenUp) log.warn({ delivery: delivery.seq, attempts }, 'webhook given up');
    await sql.run(
      'UPDATE deliveries SET attempts = ?, answer = ?, due_at = ?, state = ? WHERE seq = ?',
      attempts,
      answer.says,
      now() + backoffMs(retries, attempts),
      givenUp ? 'failed' : 'waiting',
      delivery.seq,
    );
  }

  /** undefined where the endpoint is gone or turned off. */
  async #targetOf(endpoint: string | null): Promise<Target | undefined> {
    const { sql, secret } = this.#options;
    if (endpoint === null) return this.#url === undefined ? undefined : { url: this.#url, secret };
    const row = await sql.get<{ url: string; status: string; secret: string }>(
      `SELECT json_extract(o.body, '$.url') AS url, json_extract(o.body, '$.status') AS status, s.secret
       FROM objects o JOIN endpoint_secrets s ON s.id = o.id WHERE o.id = ?`,
      endpoint,
    );
    return row?.status === 'enabled' ? row : undefined;
  }

  async #post({ url, secret }: Target, body: string): Promise<Answer> {
    const unixSeconds = Math.floor(this.#options.now() / 1000);
    try {
      const { status } = await this.#http.call(url, {
        body,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'Turnpike-local-card-provider/1',
          'stripe-signature': signatureHeader(body, secret, unixSeconds),
        },
      });
      return { isAccepted: status >= 200 && status < 300, says: String(status) };
    } catch (error) {
      this.#options.log.debug({ err: error, url }, 'webhook not delivered');
      return { isAccepted: false, says: messageOf(error).slice(0, 200) };
    }
  }
}

interface Target {
  readonly url: string;
  readonly secret: string;
}

interface Answer {
  readonly isAccepted: boolean;
  /** A status, or why there was none. */
  readonly says: string;
}
