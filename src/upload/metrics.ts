/** What an operator watches: what comes in, what waits, how long it takes to the chain, and whether it can be paid. */
import type { Counter, Gauge, Histogram, Metrics } from '../kernel/metrics.ts';
import type { DiskSpace } from '../storage/disk-space.ts';

interface WatchedParts {
  gatewayListens(): boolean;
  readonly disk: Pick<DiskSpace, 'freeBytes' | 'reservedBytes' | 'isLow'>;
}

export class UploadMetrics {
  readonly #items: Counter<'type'>;
  readonly #bytes: Counter<'type'>;
  readonly #repeats: Counter<string>;
  readonly #refused: Counter<'status'>;
  readonly #waiting: Gauge<string>;
  readonly #overdue: Gauge<string>;
  readonly #bundles: Counter<'end'>;
  readonly #permanence: Histogram<string>;
  readonly #wallet: Gauge<string>;

  constructor(metrics: Metrics, { gatewayListens, disk }: WatchedParts) {
    this.#items = metrics.counter('upload_items_total', 'Data items taken in', ['type']);
    this.#bytes = metrics.counter('upload_bytes_total', 'Bytes of data items taken in', ['type']);
    this.#repeats = metrics.counter('upload_repeats_total', 'Data items that were here before');
    this.#refused = metrics.counter('upload_refused_total', 'Uploads that were refused', ['status']);
    this.#waiting = metrics.gauge('upload_items_waiting', 'Items that are not permanent yet');
    this.#overdue = metrics.gauge('upload_items_overdue', 'Items past the height their receipt promised');
    this.#bundles = metrics.counter('upload_bundles_total', 'Bundles by how they ended', ['end']);
    this.#permanence = metrics.histogram(
      'upload_permanence_seconds',
      'From planning a bundle to reading it back from the chain',
      [],
      [1, 10, 60, 300, 600, 1_200, 2_400, 4_800, 9_600],
    );
    this.#wallet = metrics.gauge('upload_wallet_winston', 'What the bundler can pay with');
    metrics.gauge('upload_gateway_listening', '1 while the gateway hears of new items', [], () =>
      gatewayListens() ? 1 : 0,
    );
    metrics.gauge('upload_disk_free_bytes', 'Free on the disk that uploads need', [], () => disk.freeBytes);
    metrics.gauge(
      'upload_disk_reserved_bytes',
      'Of bodies under way, announced and not written yet',
      [],
      () => disk.reservedBytes,
    );
    metrics.gauge('upload_disk_low', '1 while uploads are refused for want of room', [], () =>
      disk.isLow ? 1 : 0,
    );
  }

  accepted(signatureType: number, bytes: number): void {
    const type = String(signatureType);
    this.#items.inc({ type });
    this.#bytes.inc({ type }, bytes);
  }

  repeated(): void {
    this.#repeats.inc();
  }

  refused(status: number): void {
    this.#refused.inc({ status: String(status) });
  }

  waiting(items: number, overdue: number): void {
    this.#waiting.set(items);
    this.#overdue.set(overdue);
  }

  bundleEnded(end: 'permanent' | 'dropped', milliseconds: number): void {
    this.#bundles.inc({ end });
    if (end === 'permanent') this.#permanence.observe(milliseconds / 1_000);
  }

  wallet(winston: bigint): void {
    this.#wallet.set(Number(winston));
  }
}
