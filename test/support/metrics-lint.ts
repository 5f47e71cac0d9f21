/** What Prometheus' own linter says of an exposition: names that tell kind and unit, and help for each. */

export interface MetricFamily {
  readonly name: string;
  readonly kind: string;
  readonly help: string;
}

/** Names of the published services, which dashboards and alerts ask for. */
const published: ReadonlySet<string> = new Set([
  'cache_objects_total',
  'credit_pending_tx_job_failure',
  'payment_intent_succeeded',
  'payment_intent_refunded',
  'payment_intent_chargeback',
  'stripe_session_creation_error',
  'suspicious_wallet_activity',
  'arns_purchase_quote_success',
  'arns_purchase_quote_failed',
]);

/** Other units of a thing that has a base unit: seconds, bytes, ratios, metres … */
const otherUnits =
  /(^|_)(milliseconds?|ms|microseconds?|us|nanoseconds?|ns|minutes?|hours?|days?|weeks?|kilobytes?|kib|kb|megabytes?|mib|mb|gigabytes?|gib|gb|bits?|percent)(_|$)/;

export function lintMetric({ name, kind, help }: MetricFamily): string[] {
  if (published.has(name)) return [];
  const faults: string[] = [];
  const isTotal = name.endsWith('_total');
  if (kind === 'counter' && !isTotal) faults.push(`${name}: a counter ends in _total`);
  if (kind !== 'counter' && isTotal) faults.push(`${name}: a ${kind} does not end in _total`);
  if (/_(count|sum|bucket|info)$/.test(name) && !(kind === 'gauge' && name.endsWith('_info'))) {
    faults.push(`${name}: its end is that of a histogram's series`);
  }
  if (/_(counter|gauge|histogram|summary)(_|$)/.test(name)) {
    faults.push(`${name}: the kind is no part of a name`);
  }
  const unit = otherUnits.exec(name)?.[2];
  if (unit !== undefined) faults.push(`${name}: ${unit} is no base unit`);
  if (!/^[a-z][a-z0-9_]*$/.test(name)) faults.push(`${name}: names are in snake case`);
  if (help.trim() === '') faults.push(`${name}: has no help`);
  return faults;
}

/** Of all metrics but those that the runtime has of itself. */
export function lintExposition(exposition: string): string[] {
  const help = new Map(
    [...exposition.matchAll(/^# HELP (\S+) (.*)$/gm)].map(([, name, words]) => [name, words]),
  );
  return [...exposition.matchAll(/^# TYPE (\S+) (\S+)$/gm)]
    .map(([, name = '', kind = '']) => ({ name, kind, help: help.get(name) ?? '' }))
    .filter(({ name }) => !name.startsWith('nodejs_'))
    .flatMap(lintMetric);
}
