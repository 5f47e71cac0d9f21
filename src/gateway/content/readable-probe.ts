/**
 * Reads ids again that this gateway has had before, by the way that readers have: one that cannot give out what it knows
 * is not healthy, whatever else answers.
 */
import { createJob } from '../../kernel/background/job.ts';
import { messageOf } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import type { Metrics } from '../../kernel/metrics.ts';
import type { Part } from '../../kernel/part.ts';
import type { ByteSource } from '../chain/byte-source.ts';
import type { SqlGatewayIndex } from '../chain-index/sql-index.ts';

export interface ReadableProbeOptions {
  readonly index: SqlGatewayIndex;
  readonly bytes: ByteSource;
  readonly metrics: Metrics;
  readonly log: Logger;
  readonly everyMs?: number;
}

const usuallyEveryMs = 30_000;
/** How far back records are looked at, and how many of them are read. */
const newest = 2_000;
const probed = 3;
const mostBytes = 64 * 1024;
const timeoutMs = 10_000;
/** One bad moment is no news. */
const worrying = 2;

export function createReadableProbe(options: ReadableProbeOptions): Part {
  const { index, log, metrics, everyMs = usuallyEveryMs } = options;
  let failures = 0;
  let last = '';
  const cannotServe = (): boolean => failures >= worrying;
  metrics.gauge(
    'gateway_known_id_unreadable',
    'Whether ids that this gateway has had cannot be read',
    [],
    () => Number(cannotServe()),
  );
  return {
    name: 'readable',
    jobs: [
      createJob({
        name: 'read known ids',
        everyMs,
        log,
        async run() {
          const known = await knownIds(index);
          const outcomes = await Promise.all(known.map((one) => read(options, one)));
          const broken = outcomes.filter((outcome) => outcome !== undefined);
          // One whose source is gone is its own loss; nothing readable is ours.
          const isBroken = broken.length > 0 && broken.length === outcomes.length;
          failures = isBroken ? failures + 1 : 0;
          last = broken[0] ?? '';
          if (failures === worrying) log.error({ reason: last }, 'known ids cannot be read');
        },
      }),
    ],
    fatal: () => (cannotServe() ? [`A known id cannot be read: ${last}.`] : []),
  };
}

interface KnownId {
  readonly id: string;
  readonly size: number;
}

/** Of the newest records those whose bytes went through here once: their hash is known. */
async function knownIds({ sql }: SqlGatewayIndex): Promise<KnownId[]> {
  const rows = await sql.all<{ id: Buffer; data_size: number }>(
    `SELECT id, data_size FROM records
     WHERE record > (SELECT MAX(record) FROM records) - ? AND hash IS NOT NULL AND data_size > 0
     ORDER BY record DESC LIMIT ?`,
    newest,
    probed,
  );
  return rows.map((row) => ({
    id: row.id.toString('base64url'),
    size: row.data_size,
  }));
}

/** What went wrong; undefined: it can be read. */
async function read({ bytes }: ReadableProbeOptions, { id, size }: KnownId): Promise<string | undefined> {
  const end = Math.min(size, mostBytes);
  try {
    const signal = AbortSignal.timeout(timeoutMs);
    const opened = await bytes.stream(id, { start: 0, end }, signal);
    if (opened === undefined) return `${id} is said not to be there`;
    let length = 0;
    for await (const piece of opened.stream) length += piece.length;
    return length === end ? undefined : `${id} ends after ${length} of ${end} bytes`;
  } catch (error) {
    return `${id}: ${messageOf(error)}`;
  }
}
