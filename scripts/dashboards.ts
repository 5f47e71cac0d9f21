/** The Grafana dashboards in deploy/grafana, one per surface, made from this table by `npm run docs`. */
import { join, resolve } from 'node:path';

interface Panel {
  readonly title: string;
  /** As Grafana names it. */
  readonly unit: string;
  /** Expression and legend; `$job` stands for the chosen jobs. */
  readonly lines: readonly (readonly [string, string])[];
}

const mine = 'job=~"$job"';
/** A counter's growth per second. */
const rate = (metric: string, by = '', more = ''): string => {
  const grown = `rate(${metric}{${mine}${more}}[5m])`;
  return by === '' ? `sum(${grown})` : `sum by (${by}) (${grown})`;
};
const value = (metric: string): string => `${metric}{${mine}}`;
const increase = (metric: string, by = ''): string =>
  by === '' ? `sum(increase(${metric}{${mine}}[1h]))` : `sum by (${by}) (increase(${metric}{${mine}}[1h]))`;

/** What every surface has. */
const ofAll: readonly Panel[] = [
  {
    title: 'Requests per second',
    unit: 'reqps',
    lines: [[rate('http_request_duration_seconds_count', 'route'), '{{route}}']],
  },
  {
    title: 'Slowest 5 % of requests',
    unit: 's',
    lines: [
      [
        `histogram_quantile(0.95, sum by (le) (rate(http_request_duration_seconds_bucket{${mine}}[5m])))`,
        'p95',
      ],
    ],
  },
  {
    title: 'Answers 5xx',
    unit: 'reqps',
    lines: [[rate('http_request_duration_seconds_count', 'status', ',status=~"5.."'), '{{status}}']],
  },
  {
    title: 'Processor',
    unit: 'percentunit',
    lines: [[`rate(process_cpu_seconds_total{${mine}}[5m])`, '{{instance}}']],
  },
  { title: 'Memory', unit: 'bytes', lines: [[value('process_resident_memory_bytes'), '{{instance}}']] },
  {
    title: 'Event loop lag',
    unit: 's',
    lines: [[value('nodejs_eventloop_lag_p99_seconds'), '{{instance}}']],
  },
];

const hits = (hit: string, miss: string): string => `${rate(hit)} / (${rate(hit)} + ${rate(miss)})`;

const surfaces: Readonly<Record<string, readonly Panel[]>> = {
  gateway: [
    {
      title: 'What is wrong',
      unit: 'short',
      lines: [
        [value('gateway_nobody_imports'), 'nobody imports'],
        [value('gateway_known_id_unreadable'), 'a known id cannot be read'],
        [value('clock_off'), 'the clock is off'],
      ],
    },
    { title: 'Blocks behind the chain', unit: 'short', lines: [[value('chain_import_lag_blocks'), 'lag']] },
    {
      title: 'Height',
      unit: 'short',
      lines: [
        [value('last_height_imported'), 'imported'],
        [value('last_stable_height'), 'stable'],
      ],
    },
    {
      title: 'Who imports, which nodes answer',
      unit: 'short',
      lines: [
        [value('block_importer_running'), 'imports: {{instance}}'],
        [value('arweave_nodes_healthy'), 'nodes that answer'],
      ],
    },
    {
      title: 'Forks and import errors',
      unit: 'short',
      lines: [
        [increase('forks_total'), 'forks'],
        [increase('block_import_errors_total'), 'errors'],
        [increase('missing_block_transactions_total'), 'transactions that no node gave'],
      ],
    },
    {
      title: 'Bundles',
      unit: 'ops',
      lines: [
        [rate('bundles_queued_total'), 'queued'],
        [rate('bundles_unbundled_total'), 'read'],
        [rate('bundles_failed_total'), 'failed'],
      ],
    },
    {
      title: 'Data items per second',
      unit: 'ops',
      lines: [
        [rate('data_items_indexed_total'), 'indexed'],
        [rate('data_items_invalid_total'), 'invalid'],
      ],
    },
    { title: 'Queues', unit: 'short', lines: [[value('operator_queue_length'), '{{queue_name}}']] },
    {
      title: 'Cache hits',
      unit: 'percentunit',
      lines: [[hits('contiguous_data_cache_hit_total', 'contiguous_data_cache_miss_total'), 'share']],
    },
    { title: 'Cache size', unit: 'bytes', lines: [[value('cache_size_bytes'), '{{instance}}']] },
    {
      title: 'Sources',
      unit: 'ops',
      lines: [
        [rate('get_data_stream_successes_total', 'source'), '{{source}}'],
        [rate('get_data_errors_total', 'source'), '{{source}} failed'],
      ],
    },
    {
      title: 'Metered KiB per second',
      unit: 'KiBs',
      lines: [
        [rate('rate_limit_tokens_consumed_total'), 'free'],
        [rate('rate_limit_paid_tokens_consumed_total'), 'paid'],
      ],
    },
    {
      title: 'Refused by the meter',
      unit: 'reqps',
      lines: [[rate('rate_limit_exceeded_total', 'limit_type'), '{{limit_type}}']],
    },
    {
      title: 'Blocked, and damage on disk',
      unit: 'short',
      lines: [
        [value('content_blocks'), 'blocked {{kind}}'],
        [increase('contiguous_data_cache_corruption_total'), 'damaged in the cache'],
        [increase('scrub_corrupt_total', 'store'), 'damaged: {{store}}'],
      ],
    },
    {
      title: 'Events and webhooks',
      unit: 'short',
      lines: [
        [value('events_readers'), 'readers'],
        [value('webhooks'), 'webhooks'],
        [increase('webhook_dead_letters_total'), 'messages given up'],
      ],
    },
    { title: 'Searches', unit: 'ops', lines: [[rate('graphql_requests_total'), 'GraphQL']] },
  ],
  payment: [
    {
      title: 'What is wrong',
      unit: 'short',
      lines: [
        [value('ledger_unchecked'), 'the ledger is not checked'],
        [value('ledger_drift_winc'), 'winc by which it does not add up'],
        [value('card_events_open'), 'card payments without a quote'],
        [value('clock_off'), 'the clock is off'],
      ],
    },
    {
      title: 'Credits sold',
      unit: 'short',
      lines: [
        [rate('card_top_ups_winc_total'), 'by card, winc per second'],
        [rate('chain_top_ups_winc_total'), 'in tokens, winc per second'],
      ],
    },
    {
      title: 'Cards',
      unit: 'short',
      lines: [
        [increase('payment_intent_succeeded'), 'credited'],
        [increase('payment_intent_refunded'), 'given back'],
        [increase('payment_intent_chargeback', 'reason'), 'taken back: {{reason}}'],
        [increase('stripe_session_creation_error'), 'checkouts refused'],
      ],
    },
    {
      title: 'Refunds and returns that wait',
      unit: 'short',
      lines: [
        [value('card_refunds_owed'), 'card refunds owed'],
        [value('card_refunds_given_up'), 'card refunds given up'],
        [value('credit_returns_by_hand'), 'returns for the operator'],
      ],
    },
    {
      title: 'Payments on chains',
      unit: 'short',
      lines: [
        [increase('chain_payment_credited_total', 'token'), '{{token}}'],
        [increase('chain_payment_failed_total', 'token, reason'), '{{token}} failed: {{reason}}'],
        [increase('credit_pending_tx_job_failure'), 'looks that failed'],
      ],
    },
    {
      title: 'x402',
      unit: 'short',
      lines: [[increase('x402_settlement_total', 'network, result'), '{{network}} {{result}}']],
    },
    {
      title: 'Age of prices',
      unit: 's',
      lines: [
        [value('rates_oracle_age_seconds'), 'tokens'],
        [value('network_oracle_age_seconds'), 'storage'],
      ],
    },
    {
      title: 'Names',
      unit: 'short',
      lines: [
        [increase('arns_actions_total', 'action, outcome'), '{{action}} {{outcome}}'],
        [increase('arns_action_refunds_total', 'reason'), 'refunded: {{reason}}'],
      ],
    },
    {
      title: 'What pays for names',
      unit: 'short',
      lines: [
        [value('arns_sponsor_lamports'), 'lamports'],
        [value('arns_sponsor_mtokens'), 'millionths of ARIO'],
      ],
    },
  ],
  upload: [
    {
      title: 'What is wrong',
      unit: 'short',
      lines: [
        [value('upload_nobody_bundles'), 'nobody bundles'],
        [value('upload_wallet_low'), 'the wallet runs dry'],
        [value('upload_disk_low'), 'the disk is full'],
        [value('clock_off'), 'the clock is off'],
      ],
    },
    { title: 'Items taken in', unit: 'ops', lines: [[rate('upload_items_total', 'type'), '{{type}}']] },
    { title: 'Bytes taken in', unit: 'Bps', lines: [[rate('upload_bytes_total', 'type'), '{{type}}']] },
    { title: 'Refused', unit: 'ops', lines: [[rate('upload_refused_total', 'status'), '{{status}}']] },
    {
      title: 'On the way to the chain',
      unit: 'short',
      lines: [
        [value('upload_items_waiting'), 'items'],
        [value('upload_bundles_waiting'), 'bundles'],
        [value('upload_items_overdue'), 'items past their promise'],
      ],
    },
    {
      title: 'Until permanent',
      unit: 's',
      lines: [
        [
          `histogram_quantile(0.5, sum by (le) (rate(upload_permanence_seconds_bucket{${mine}}[1h])))`,
          'half',
        ],
        [
          `histogram_quantile(0.95, sum by (le) (rate(upload_permanence_seconds_bucket{${mine}}[1h])))`,
          'p95',
        ],
      ],
    },
    {
      title: 'Bundles by how they ended',
      unit: 'short',
      lines: [[increase('upload_bundles_total', 'end'), '{{end}}']],
    },
    {
      title: 'What the bundler can pay with',
      unit: 'short',
      lines: [[value('upload_wallet_winston'), 'winston']],
    },
    {
      title: 'Disk',
      unit: 'bytes',
      lines: [
        [value('upload_disk_free_bytes'), 'free'],
        [value('upload_disk_reserved_bytes'), 'under way'],
      ],
    },
    {
      title: 'Gateways that are told',
      unit: 'short',
      lines: [
        [value('upload_gateway_listening'), '{{gateway}} listens'],
        [value('upload_announcements_waiting'), '{{gateway}} waits for'],
      ],
    },
    {
      title: 'Permanent bundles looked at again',
      unit: 'short',
      lines: [
        [increase('upload_bundle_looks_total', 'found'), '{{found}}'],
        [increase('upload_chunks_mended_total'), 'chunks mended'],
        [value('upload_bundles_damaged'), 'damaged'],
        [value('upload_blobs_damaged'), 'damaged on disk'],
      ],
    },
  ],
  router: [
    {
      title: 'Gateways',
      unit: 'short',
      lines: [
        [value('router_gateways'), 'known'],
        [value('router_gateways_healthy'), 'may be asked'],
        [value('router_gateways_circuit_open'), 'left alone'],
      ],
    },
    {
      title: 'Asked of gateways',
      unit: 'ops',
      lines: [[rate('router_upstream_attempts_total', 'gateway, outcome'), '{{gateway}} {{outcome}}']],
    },
    {
      title: 'Proofs',
      unit: 'ops',
      lines: [[rate('router_verifications_total', 'method, outcome'), '{{method}} {{outcome}}']],
    },
    {
      title: 'Cache hits',
      unit: 'percentunit',
      lines: [[hits('router_cache_hits_total', 'router_cache_misses_total'), 'share']],
    },
    { title: 'Cache size', unit: 'bytes', lines: [[value('router_cache_bytes'), '{{instance}}']] },
    {
      title: 'Names',
      unit: 'ops',
      lines: [[rate('router_arns_resolutions_total', 'outcome'), '{{outcome}}']],
    },
    {
      title: 'Refused',
      unit: 'ops',
      lines: [
        [rate('router_shed_total', 'reason'), 'to stay alive: {{reason}}'],
        [rate('router_rate_limited_total'), 'beyond the rate limit'],
        [rate('router_blocked_requests_total', 'type'), 'blocked {{type}}'],
      ],
    },
    {
      title: 'Lies and damage',
      unit: 'short',
      lines: [
        [increase('router_gateway_lies_total', 'gateway'), '{{gateway}} lied'],
        [increase('router_arns_consensus_mismatch_total', 'gateway'), '{{gateway}}: another name target'],
        [increase('router_cache_corruption_total'), 'damaged in the cache'],
      ],
    },
    { title: 'In flight', unit: 'short', lines: [[value('router_http_in_flight'), '{{instance}}']] },
  ],
};

const datasource = { type: 'prometheus', uid: '$datasource' };
const perRow = 3;
const [width, height] = [8, 8];

function dashboard(surface: string, panels: readonly Panel[]): object {
  return {
    title: `Turnpike ${surface}`,
    uid: `turnpike-${surface}`,
    schemaVersion: 39,
    version: 2,
    editable: true,
    refresh: '30s',
    time: { from: 'now-6h', to: 'now' },
    tags: ['turnpike'],
    templating: {
      list: [
        { name: 'datasource', type: 'datasource', query: 'prometheus', label: 'Data source' },
        {
          name: 'job',
          type: 'query',
          label: 'Job',
          datasource,
          query: `label_values(up{job=~".*${surface}.*"}, job)`,
          includeAll: true,
          multi: true,
          current: { text: 'All', value: '$__all' },
        },
      ],
    },
    panels: panels.map(({ title, unit, lines }, at) => ({
      id: at + 1,
      type: 'timeseries',
      title,
      datasource,
      gridPos: { h: height, w: width, x: (at % perRow) * width, y: Math.floor(at / perRow) * height },
      fieldConfig: { defaults: { unit }, overrides: [] },
      targets: lines.map(([expr, legendFormat], line) => ({
        refId: String.fromCharCode(65 + line),
        expr,
        legendFormat,
      })),
    })),
  };
}

/** Path -> text of each. */
export function dashboards(): Map<string, string> {
  const folder = join(resolve(import.meta.dirname, '..'), 'deploy/grafana');
  return new Map(
    Object.entries(surfaces).map(([surface, panels]) => [
      join(folder, `turnpike-${surface}.json`),
      `${JSON.stringify(dashboard(surface, [...ofAll, ...panels]), undefined, 2)}\n`,
    ]),
  );
}
