import { fraction, secret, text, url } from '../kinds.ts';

/** Named as every OpenTelemetry program names them. */
export const tracing = {
  OTEL_EXPORTER_OTLP_ENDPOINT: url({
    meaning:
      'OpenTelemetry collector, OTLP over HTTP: traces go to `/v1/traces` below it; without it nothing is traced',
    default: undefined,
  }),
  OTEL_EXPORTER_OTLP_HEADERS: secret({
    meaning: 'Headers for the collector, `name=value` separated by commas, values percent-encoded',
  }),
  OTEL_SERVICE_NAME: text({ meaning: '`service.name` of the traces', default: 'turnpike' }),
  OTEL_TRACES_SAMPLER_ARG: fraction({
    meaning: 'Share of the traces that begin here and are recorded; one that comes with a decision keeps it',
    default: 1,
  }),
};
