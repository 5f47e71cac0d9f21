/**
 * Announces to the gateway which items were taken in, so that they can be found before their bundle is mined. What is
 * still to be announced is stored with the item; it is sent in batches, and again until the gateway has taken it. An
 * upload never waits for it.
 */
import { redactUrl } from '../../config/redact.ts';
import { parseItemHeader } from '../../formats/ans104/item-header.ts';
import { chainTagLimits, walkTags } from '../../formats/avro-tags.ts';
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import { HttpClient } from '../../outside/http.ts';
import type { Sql } from '../../storage/sql/sql.ts';

const batch = 50;
const timeoutMs = 10_000;
/** The gateway answers a sentence. */
const maxAnswerBytes = 1024 * 1024;
/** Items that come in one after the other share a call. */
const gatherMs = 20;
/** How often it is checked for what another process or an earlier run left. */
const defaultSweepMs = 5_000;
const backoff = { firstMs: 1_000, longestMs: 60_000 };
/** Answers about what was sent, which will be the same next time. */
const refusals = new Set([400, 413, 422]);

interface AnnouncedRow {
  readonly id: string;
  readonly size: number;
  readonly payload_start: number;
  readonly content_type: string;
  readonly received_at: number;
  /** Header, and what of the payload is kept with it. */
  readonly bytes: Buffer;
}

interface AnnouncerOptions {
  readonly sql: Sql;
  readonly log: Logger;
  readonly now: () => number;
  readonly gateway: { readonly url: string; readonly key: string };
  readonly sweepMs?: number;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  /** Items that the gateway will never take. */
  #refused = 0;
  readonly #http = new HttpClient({ timeoutMs, maxBytes: maxAnswerBytes, connections: 4 });
  readonly #task = new WakeableTask({
    name: 'tell the gateway of new items',
    run: () => this.#send(),
    failed: (error, failures) => {
      const delay = backoffMs(backoff, failures);
      this.#options.log.warn({ err: error, delay }, 'the gateway was not told about new items');
      return delay;
    },
  });

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** False while the gateway does not listen: receipts then do not promise that it knows the item. */
  get isHealthy(): boolean {
    return this.#task.failures === 0;
  }

  start(): void {
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return this.#task.reports();
  }

  /** How it goes with the gateway. */
  get status() {
    const [report] = this.reports();
    return {
      url: redactUrl(this.#options.gateway.url),
      listening: this.isHealthy,
      failures: this.#task.failures,
      lastError: report?.lastError ?? null,
      lastErrorAt: report?.lastErrorAt ?? null,
      nextTryAt: report?.nextAt ?? null,
      refused: this.#refused,
    };
  }

  /** There is something new to announce. */
  wake(): void {
    this.#task.wake(gatherMs);
  }

  async stop(): Promise<void> {
    await this.#task.stop();
    await this.#http.close();
  }

  async #send(): Promise<number> {
    while (!this.#task.isStopped && (await this.#sendBatch()) === batch);
    return this.#options.sweepMs ?? defaultSweepMs;
  }

  async #sendBatch(): Promise<number> {
    const { sql, now } = this.#options;
    const rows = await sql.all<AnnouncedRow>(
      `SELECT i.id, i.size, i.payload_start, i.content_type, i.received_at, h.bytes
       FROM upload_items i JOIN upload_heads h ON h.id = i.id
       WHERE i.announce_at IS NOT NULL AND i.announce_at <= ? ORDER BY i.announce_at LIMIT ?`,
      now(),
      batch,
    );
    if (rows.length === 0) return 0;
    await this.#announce(rows);
    await sql.transaction(async (tx) => {
      for (const { id } of rows) await tx.run('UPDATE upload_items SET announce_at = NULL WHERE id = ?', id);
    });
    return rows.length;
  }

  /** What the gateway will never take is found by halves and left out, so that the others need not wait. */
  async #announce(rows: readonly AnnouncedRow[]): Promise<void> {
    const status = await this.#post(rows.map(announcementOf));
    if (status >= 200 && status <= 299) return;
    if (!refusals.has(status)) throw new Error(`the gateway answered ${status}`);
    const [first] = rows;
    if (rows.length === 1) {
      this.#refused += 1;
      this.#options.log.error({ id: first?.id, status }, 'the gateway does not take an item');
      return;
    }
    const half = Math.ceil(rows.length / 2);
    await this.#announce(rows.slice(0, half));
    await this.#announce(rows.slice(half));
  }

  async #post(announcements: readonly object[]): Promise<number> {
    const { url, key } = this.#options.gateway;
    const headers = { authorization: `Bearer ${key}` };
    const answer = await this.#http.postJson(`${url}/ar-io/admin/queue-data-item`, announcements, {
      headers,
    });
    return answer.status;
  }
}

/** An item's header as it is announced: binary fields in base64url, without the payload. */
function announcementOf(row: AnnouncedRow) {
  const header = parseItemHeader(row.bytes);
  if (typeof header === 'string') throw new Error(`the stored header of ${row.id} is broken: ${header}`);
  const { tagBytes } = header;
  const tags: { name: string; value: string }[] = [];
  walkTags(tagBytes, 0, tagBytes.length, chainTagLimits, (nameStart, nameEnd, valueStart, valueEnd) => {
    tags.push({
      name: tagBytes.toString('base64url', nameStart, nameEnd),
      value: tagBytes.toString('base64url', valueStart, valueEnd),
    });
  });
  return {
    id: row.id,
    owner: header.owner.toString('base64url'),
    owner_address: header.ownerAddress,
    signature: header.signature.toString('base64url'),
    signature_type: header.signatureType,
    target: header.target.toString('base64url'),
    anchor: header.anchor.toString('base64url'),
    content_type: row.content_type,
    // Of the payload.
    data_size: row.size - row.payload_start,
    tags,
    uploaded_at: row.received_at,
  };
}
