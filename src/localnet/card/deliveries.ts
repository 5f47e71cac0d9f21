/**
 * Webhooks: every event is posted, signed, to the merchant's endpoint until it answers 2xx, at growing
 * intervals for three days. What is waiting survives a restart, so an event arrives at least once; faults
 * for tests (`faults.ts`) make it arrive late, twice, out of order or never.
 */
import { createHmac } from 'node:crypto';
import { Agent, request } from 'undici';
import type { Logger } from '../../kernel/log.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { Faults } from './faults.ts';

const batchSize = 32;
const answerTimeoutMs = 10_000;
const maxAnswerBytes = 64 * 1024;
const patienceMs = 2_000;
const threeDays = 3 * 24 * 3600 * 1000;
const longestWaitMs = 3600 * 1000;
const eventLifeSeconds = 30 * 24 * 3600;

/** Seconds-long at first so that a restarting merchant is soon served, an hour at most. */
export const retryDelay = (attempts: number) => Math.min(500 * 2 ** Math.min(attempts, 20), longestWaitMs);

/** `t=<unix seconds>,v1=<hex of HMAC-SHA256 over "t.body">` (https://docs.stripe.com/webhooks#verify-manually). */
export function signatureHeader(body: string, secret: string, unixSeconds: number): string {
  const signature = createHmac('sha256', secret).update(`${unixSeconds}.${body}`).digest('hex');
  return `t=${unixSeconds},v1=${signature}`;
}

interface Delivery {
  readonly seq: number;
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

export class Deliveries {
  readonly #options: DeliveriesOptions;
  readonly #agent = new Agent({ connections: 8, connect: { timeout: 5_000 } });
  #url: string | undefined;
  #timer: NodeJS.Timeout | undefined;
  #running: Promise<void> | undefined;
  #again = false;
  #stopped = true;

  constructor(options: DeliveriesOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const row = await this.#options.sql.get<{ value: string }>(
      "SELECT value FROM settings WHERE name = 'webhook_url'",
    );
    this.#url = row?.value;
    this.#stopped = false;
    this.wake();
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
    if (this.#stopped || this.#url === undefined || this.#options.faults.settings.hold) return;
    if (this.#running !== undefined) {
      this.#again = true;
      return;
    }
    clearTimeout(this.#timer);
    this.#running = this.#work()
      .catch((error: unknown) => {
        this.#options.log.error({ err: error }, 'webhook deliveries failed');
        this.#wakeIn(5_000);
      })
      .finally(() => {
        this.#running = undefined;
        if (this.#again) {
          this.#again = false;
          this.wake();
        }
      });
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    clearTimeout(this.#timer);
    this.#options.faults.release();
    // What is on its way may arrive; what takes longer is cut off and sent again after the next start.
    const patience = Promise.withResolvers<void>();
    const timer = setTimeout(patience.resolve, patienceMs);
    await Promise.race([this.#running, patience.promise]);
    clearTimeout(timer);
    await this.#agent.destroy();
    await this.#running;
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

  async #work(): Promise<void> {
    for (;;) {
      const now = this.#options.now();
      const due = await this.#options.sql.all<Delivery>(
        `SELECT d.seq, d.attempts, e.created, e.body FROM deliveries d JOIN events e ON e.id = d.event_id
         WHERE d.state = 'waiting' AND d.due_at <= ? ORDER BY d.seq LIMIT ?`,
        now,
        batchSize,
      );
      if (this.#stopped || this.#options.faults.settings.hold) return;
      if (due.length === 0) break;
      for (const group of this.#options.faults.arrange(due)) {
        await Promise.all(group.map((delivery) => this.#deliver(delivery)));
        if (this.#stopped) return;
      }
    }
    const next = await this.#options.sql.get<{ due_at: number | null }>(
      "SELECT MIN(due_at) AS due_at FROM deliveries WHERE state = 'waiting'",
    );
    if (next?.due_at != null) this.#wakeIn(Math.max(next.due_at - this.#options.now(), 1));
  }

  #wakeIn(milliseconds: number): void {
    if (this.#stopped) return;
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.wake(), Math.min(milliseconds, longestWaitMs));
    this.#timer.unref();
  }

  async #deliver(delivery: Delivery): Promise<void> {
    const { faults, sql, now, log } = this.#options;
    const copies = faults.copies();
    if (copies === 0) {
      await sql.run("UPDATE deliveries SET state = 'dropped' WHERE seq = ?", delivery.seq);
      return;
    }
    await faults.pause();
    if (this.#stopped) return;
    let accepted = false;
    for (let copy = 0; copy < copies; copy += 1) accepted = (await this.#post(delivery.body)) || accepted;
    if (accepted) {
      await sql.run("UPDATE deliveries SET state = 'delivered' WHERE seq = ?", delivery.seq);
      return;
    }
    const attempts = delivery.attempts + 1;
    const givenUp = now() - delivery.created * 1000 > threeDays;
    if (givenUp) log.warn({ delivery: delivery.seq, attempts }, 'webhook given up');
    await sql.run(
      'UPDATE deliveries SET attempts = ?, due_at = ?, state = ? WHERE seq = ?',
      attempts,
      now() + retryDelay(attempts),
      givenUp ? 'failed' : 'waiting',
      delivery.seq,
    );
  }

  async #post(body: string): Promise<boolean> {
    const url = this.#url;
    if (url === undefined) return false;
    const unixSeconds = Math.floor(this.#options.now() / 1000);
    try {
      const answer = await request(url, {
        method: 'POST',
        body,
        dispatcher: this.#agent,
        headersTimeout: answerTimeoutMs,
        bodyTimeout: answerTimeoutMs,
        headers: {
          'content-type': 'application/json; charset=utf-8',
          'user-agent': 'Turnpike-local-card-provider/1',
          'stripe-signature': signatureHeader(body, this.#options.secret, unixSeconds),
        },
      });
      await answer.body.dump({ limit: maxAnswerBytes });
      return answer.statusCode >= 200 && answer.statusCode < 300;
    } catch (error) {
      this.#options.log.debug({ err: error, url }, 'webhook not delivered');
      return false;
    }
  }
}
