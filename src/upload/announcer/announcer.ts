/**
 * Announces to gateways which items were taken in, so that they can be found before their bundle is mined. What is still
 * to be announced is stored with the item; it is sent in batches to all gateways at once, and again to each that did not
 * take it. An upload never waits for it.
 */
import { backoffMs } from '../../kernel/background/backoff.ts';
import type { RunReport } from '../../kernel/background/run-record.ts';
import { WakeableTask } from '../../kernel/background/wakeable-task.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Sql } from '../../storage/sql/sql.ts';
import type { UploadMetrics } from '../metrics.ts';
import { announcementOf } from './announcement.ts';
import { type GatewayPlace, type Offered, ToldGateway } from './told-gateway.ts';
import {
  bitOf,
  forgetOthers,
  markOffered,
  newItems,
  numberGateway,
  ownNumber,
} from './waiting-announcements.ts';

const batch = 50;
/** Items that come in one after the other share a call. */
const gatherMs = 20;
/** How often it is checked for what another process or an earlier run left. */
const defaultSweepMs = 5_000;
const backoff = { firstMs: 1_000, longestMs: 60_000 };
/** A gateway that takes longer does not hold up what the others are told next. */
const offerTimeoutMs = 500;
/** Where there are no others. */
const loneTimeoutMs = 10_000;

interface AnnouncerOptions {
  readonly sql: Sql;
  readonly log: Logger;
  readonly metrics: UploadMetrics;
  readonly now: () => number;
  /** The one of this service. */
  readonly own: GatewayPlace | undefined;
  readonly others: readonly GatewayPlace[];
  readonly maxWaiting: number;
  readonly sweepMs?: number;
}

export class Announcer {
  readonly #options: AnnouncerOptions;
  #gateways: readonly ToldGateway[] = [];
  readonly #task = new WakeableTask({
    name: 'announce new items',
    run: () => this.#announce(),
    failed: (error, failures) => {
      const delay = backoffMs(backoff, failures);
      this.#options.log.warn({ err: error, delay }, 'new items could not be announced');
      return delay;
    },
  });

  constructor(options: AnnouncerOptions) {
    this.#options = options;
  }

  /** Those that are told of items: the one of this service first. */
  get gateways(): readonly ToldGateway[] {
    return this.#gateways;
  }

  async open(): Promise<void> {
    const { own, others, sweepMs = defaultSweepMs, ...options } = this.#options;
    const places = own === undefined ? [] : [{ ...own, number: ownNumber, assumed: true }];
    for (const place of others) {
      places.push({ ...place, number: await numberGateway(options.sql, place.url), assumed: false });
    }
    await forgetOthers(
      options.sql,
      places.map(({ number }) => number),
    );
    const limits = { sweepMs, offerTimeoutMs: places.length === 1 ? loneTimeoutMs : offerTimeoutMs };
    this.#gateways = places.map((place) => new ToldGateway({ ...options, ...limits, ...place }));
    await Promise.all(this.#gateways.map((gateway) => gateway.open()));
  }

  start(): void {
    for (const gateway of this.#gateways) gateway.start();
    this.#task.start();
  }

  reports(): readonly RunReport[] {
    return [...this.#task.reports(), ...this.#gateways.flatMap((gateway) => gateway.reports())];
  }

  /** There is something new to announce. */
  wake(): void {
    this.#task.wake(gatherMs);
  }

  async stop(): Promise<void> {
    // A gateway that hangs keeps nobody waiting: what it did not take is stored for it.
    await Promise.all([...this.#gateways.map((gateway) => gateway.stop()), this.#task.stop()]);
  }

  /** Those that an item's row says have taken it. */
  toldOf(told: number | null): readonly ToldGateway[] {
    const bits = BigInt(told ?? 0);
    return this.#gateways.filter(({ number }) => (bits & BigInt(bitOf(number))) !== 0n);
  }

  async #announce(): Promise<number> {
    while (!this.#task.isStopped && (await this.#announceBatch()) === batch);
    return this.#options.sweepMs ?? defaultSweepMs;
  }

  async #announceBatch(): Promise<number> {
    const { sql, now } = this.#options;
    const rows = await newItems(sql, now(), batch);
    if (rows.length === 0) return 0;
    const announcements = rows.flatMap((row) => announcementOf(row) ?? []);
    const offers = await Promise.all(
      this.#gateways.map(async (gateway) => {
        const offered: Offered =
          announcements.length === 0 ? { refused: new Set() } : await gateway.offer(announcements);
        return { gateway, offered };
      }),
    );
    const known = new Set(announcements.map(({ id }) => id));
    const bitsFor = (id: string): number =>
      offers.reduce((bits, { gateway, offered }) => {
        const isTold = offered !== 'later' && known.has(id) && !offered.refused.has(id);
        return isTold ? bits + bitOf(gateway.number) : bits;
      }, 0);
    const late = offers.flatMap(({ gateway, offered }) => (offered === 'later' ? [gateway] : []));
    await markOffered(
      sql,
      rows.map(({ id, received_at }) => ({ id, received_at, told: bitsFor(id) })),
      late.map(({ number }) => number),
    );
    for (const gateway of late) await gateway.wakeFor(rows.length);
    return rows.length;
  }
}
