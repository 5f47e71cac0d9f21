/** What an operator watches: what comes in, what waits, how long it takes to the chain, and whether it can be paid. */
import type { Metrics } from '../kernel/metrics.ts';
import type { DiskSpace } from '../storage/disk-space.ts';

interface WatchedParts {
  readonly disk: Pick<DiskSpace, 'freeBytes' | 'reservedBytes' | 'isLow'>;
}

export type UploadMetrics = ReturnType<typeof createUploadMetrics>;

export function createUploadMetrics(metrics: Metrics, { disk }: WatchedParts) {
  const items = metrics.counter('upload_items_total', 'Data items taken in', ['type']);
  const bytes = metrics.counter('upload_bytes_total', 'Bytes of data items taken in', ['type']);
  const repeats = metrics.counter('upload_repeats_total', 'Data items that were here before');
  const refusals = metrics.counter('upload_refused_total', 'Uploads that were refused', ['status']);
  const waiting = metrics.gauge('upload_items_waiting', 'Items that are not permanent yet');
  const underway = metrics.gauge('upload_bundles_waiting', 'Bundles that are not permanent yet');
  const overdue = metrics.gauge('upload_items_overdue', 'Items past the height their receipt promised');
  const bundles = metrics.counter('upload_bundles_total', 'Bundles by how they ended', ['end']);
  const unread = metrics.counter(
    'upload_items_unread_total',
    'Items of bundles whose bytes were not found, or not those that were uploaded, by tries',
  );
  const lost = metrics.counter('upload_items_lost_total', 'Items that were given up for want of their bytes');
  const permanence = metrics.histogram(
    'upload_permanence_seconds',
    'From planning a bundle to reading it back from the chain',
    [],
    [1, 10, 60, 300, 600, 1_200, 2_400, 4_800, 9_600],
  );
  const announced = metrics.counter(
    'upload_announced_total',
    'Items that gateways were told of, or will not be because they waited too long',
    ['gateway', 'outcome'],
  );
  const listening = metrics.gauge('upload_gateway_listening', '1 while a gateway hears of new items', [
    'gateway',
  ]);
  const unannounced = metrics.gauge(
    'upload_announcements_waiting',
    'Items that a gateway is still to be told of',
    ['gateway'],
  );
  const looks = metrics.counter('upload_bundle_looks_total', 'Looks at permanent bundles by what was found', [
    'found',
  ]);
  const mended = metrics.counter(
    'upload_chunks_mended_total',
    'Chunks of permanent bundles that were given to the network again',
  );
  const damaged = metrics.gauge('upload_bundles_damaged', 'Permanent bundles of which chunks are missing');
  const wallet = metrics.gauge('upload_wallet_winston', 'What the bundler can pay with');
  const watch = (name: string, help: string, read: () => number) => metrics.gauge(name, help, [], read);
  watch('upload_disk_free_bytes', 'Free on the disk that uploads need', () => disk.freeBytes);
  metrics.shareGauge(
    'upload_disk_reserved_bytes',
    'Of bodies under way, announced and not written yet',
    () => disk.reservedBytes,
  );
  watch('upload_disk_low', '1 while uploads are refused for want of room', () => Number(disk.isLow));
  return {
    accepted(signatureType: number, size: number): void {
      const type = String(signatureType);
      items.inc({ type });
      bytes.inc({ type }, size);
    },
    repeated: (): void => repeats.inc(),
    refused: (status: number): void => refusals.inc({ status: String(status) }),
    waiting(items: number, bundles: number): void {
      waiting.set(items);
      underway.set(bundles);
    },
    overdue: (count: number): void => overdue.set(count),
    bundleEnded(end: 'permanent' | 'dropped', milliseconds: number): void {
      bundles.inc({ end });
      if (end === 'permanent') permanence.observe(milliseconds / 1_000);
    },
    unread: (items: number): void => unread.inc(items),
    lost: (items: number): void => lost.inc(items),
    announced: (gateway: string, outcome: 'told' | 'dropped', count: number): void =>
      announced.inc({ gateway, outcome }, count),
    gateway(gateway: string, isListening: boolean, waiting: number): void {
      listening.set({ gateway }, Number(isListening));
      unannounced.set({ gateway }, waiting);
    },
    looked: (found: 'whole' | 'damaged' | 'not known'): void => looks.inc({ found }),
    mended: (chunks: number): void => mended.inc(chunks),
    damaged: (bundles: number): void => damaged.set(bundles),
    wallet: (winston: bigint): void => wallet.set(Number(winston)),
  };
}
