import type { Migration } from '../../storage/sql/sql.ts';

/** Hourly totals are exact; single events are a sample, each with the number of events it stands for. */
export const telemetryMigrations: readonly Migration[] = [
  {
    id: 'router-telemetry-001',
    up: `
CREATE TABLE gateway_hourly_stats (
  gateway TEXT NOT NULL,
  hour_bucket TEXT NOT NULL,
  total_requests BIGINT NOT NULL,
  successful_requests BIGINT NOT NULL,
  client_errors BIGINT NOT NULL,
  server_errors BIGINT NOT NULL,
  timeouts BIGINT NOT NULL,
  connection_errors BIGINT NOT NULL,
  verification_attempts BIGINT NOT NULL,
  verification_success BIGINT NOT NULL,
  verification_failed BIGINT NOT NULL,
  verification_skipped BIGINT NOT NULL,
  consensus_participations BIGINT NOT NULL,
  consensus_agreements BIGINT NOT NULL,
  consensus_disagreements BIGINT NOT NULL,
  latency_sum REAL NOT NULL,
  latency_count BIGINT NOT NULL,
  latency_buckets TEXT NOT NULL,
  bytes_served BIGINT NOT NULL,
  PRIMARY KEY (gateway, hour_bucket)
) CLUSTERED;
CREATE INDEX gateway_hourly_stats_hour ON gateway_hourly_stats (hour_bucket);
CREATE TABLE gateway_events (
  id SERIAL_KEY,
  timestamp BIGINT NOT NULL,
  gateway TEXT NOT NULL,
  role TEXT NOT NULL,
  outcome TEXT NOT NULL,
  http_status BIGINT,
  latency_ms REAL NOT NULL,
  weight REAL NOT NULL
);
CREATE INDEX gateway_events_timestamp ON gateway_events (timestamp);
`,
  },
];
