/** Traces of the whole process, where a collector is configured. */

import type { Config } from '../../config/config.ts';
import { tryDecodePercent } from '../../formats/percent-encoding.ts';
import { StartupError } from '../../kernel/errors.ts';
import type { Logger } from '../../kernel/log.ts';
import { processCounter } from '../../kernel/metrics.ts';
import type { Surface } from '../../kernel/part.ts';
import { startTracing } from '../../kernel/tracing/tracing.ts';
import { version } from '../version.ts';

/** Goes before all others: it starts before any server is made, and sends the last spans when all have stopped. */
export function traces(config: Config, log: Logger): Surface[] {
  const endpoint = config.OTEL_EXPORTER_OTLP_ENDPOINT;
  if (endpoint === undefined) return [];
  const headers = parseHeaders(config.OTEL_EXPORTER_OTLP_HEADERS ?? '');
  let tracing: Awaited<ReturnType<typeof startTracing>> | undefined;
  return [
    {
      name: 'traces',
      url: '',
      async start() {
        tracing = await startTracing({
          endpoint,
          headers,
          serviceName: config.OTEL_SERVICE_NAME,
          serviceVersion: version,
          ratio: config.OTEL_TRACES_SAMPLER_ARG,
          log,
          counters: {
            exported: processCounter('otel_spans_exported_total', 'Spans that the collector took'),
            dropped: processCounter('otel_spans_dropped_total', 'Spans that found no room or were not taken'),
          },
        });
      },
      drain: async () => true,
      async stop() {
        await tracing?.stop();
      },
    },
  ];
}

/** `name=value` pairs as the OpenTelemetry specification writes them. */
export function parseHeaders(text: string): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const pair of text.split(',')) {
    if (pair.trim() === '') continue;
    const [, name, value] = /^\s*([!#$%&'*+.^_`|~0-9A-Za-z-]+)\s*=(.*)$/.exec(pair) ?? [];
    const plain = value === undefined ? undefined : tryDecodePercent(value.trim());
    if (name === undefined || plain === undefined || /[^\t\x20-\x7e]/.test(plain)) {
      throw new StartupError('OTEL_EXPORTER_OTLP_HEADERS must be `name=value` pairs separated by commas');
    }
    headers[name.toLowerCase()] = plain;
  }
  return headers;
}
