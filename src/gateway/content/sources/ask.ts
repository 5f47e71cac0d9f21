/** Asks the sources one after the other, until one has it. */

import { together, type Unavailability } from '../../../delivery/availability.ts';
import type { Logger } from '../../../kernel/log.ts';
import { traced } from '../../../kernel/tracing/tracing.ts';
import type { ByteRange } from '../../chain/byte-source.ts';
import { Unavailable, upstreamFailed } from '../../errors.ts';
import type { ContentMetrics } from '../metrics.ts';
import type { Described } from '../opened.ts';
import type { ContentSource, Journey, SourceBytes } from './source.ts';

export interface AskingParts {
  readonly sources: readonly ContentSource[];
  readonly metrics: Pick<ContentMetrics, 'opened' | 'failed'>;
  readonly log: Logger;
}

/** What is asked for, for whom, and who was asked before: those are passed by, and those asked are added. */
export type Question = [
  id: string,
  described: Described | undefined,
  range: ByteRange | undefined,
  journey: Journey,
  signal: AbortSignal,
  tried?: Set<ContentSource>,
];

export interface Found {
  readonly source: ContentSource;
  readonly bytes: SourceBytes;
}

/**
 * The first source that has it, or what those that were asked now come to. Where one could not say, and no other has
 * it, that failure is thrown.
 */
export async function askSources(
  { sources, metrics, log }: AskingParts,
  ...[id, described, range, journey, signal, tried = new Set()]: Question
): Promise<Found | Unavailability> {
  let failed: unknown;
  const states = new Set<Unavailability>(['absent']);
  for (const source of sources) {
    if (tried.has(source)) continue;
    tried.add(source);
    if (source.asks?.(journey) === false) {
      states.add('not-asked');
      continue;
    }
    try {
      const bytes = await traced(
        'fetch content',
        () => ({ 'turnpike.source': source.name, 'turnpike.data.id': id }),
        async (span) => {
          const opened = await source.open(id, described?.located, range, journey, signal);
          span?.setAttributes({ 'turnpike.found': opened !== undefined, 'turnpike.data.size': opened?.size });
          return opened;
        },
      );
      if (bytes === undefined) continue;
      if (described === undefined || bytes.size === described.size) {
        metrics.opened(source.name);
        return { source, bytes };
      }
      bytes.discard?.();
      throw upstreamFailed(new Error(`${source.name} has ${bytes.size} bytes of ${described.size}`));
    } catch (error) {
      if (signal.aborted) throw error;
      if (error instanceof Unavailable) {
        states.add(error.state);
        continue;
      }
      metrics.failed(source.name);
      log.debug({ id, source: source.name, err: error }, 'a source failed');
      failed = error;
    }
  }
  if (failed !== undefined) throw failed;
  return together(states);
}
