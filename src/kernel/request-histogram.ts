/**
 * `http_request_duration_seconds{route,method,status}` at the price of a few additions per request: a
 * route's series are kept beside the route, counts live in a typed array, and labels are only spelled
 * out at a scrape.
 */
import { Histogram } from 'prom-client';

const name = 'http_request_duration_seconds';
const help = 'Time from the head of a request to the last byte of its answer';
const bounds = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30];
type Label = 'route' | 'method' | 'status';

/** Counts of one route, method and status: one per bucket (not cumulated), the last for everything slower. */
class Series {
  readonly counts = new Float64Array(bounds.length + 1);
  sum = 0;

  observe(seconds: number): void {
    let bucket = 0;
    while (bucket < bounds.length && seconds > (bounds[bucket] ?? Number.POSITIVE_INFINITY)) bucket++;
    this.counts[bucket] = (this.counts[bucket] ?? 0) + 1;
    this.sum += seconds;
  }
}

/** What the HTTP server keeps beside each route. */
export class RouteTimings {
  readonly route: string;
  readonly byMethod: Map<string, Map<number, Series>> = new Map();

  constructor(route: string) {
    this.route = route;
  }

  observe(method: string, status: number, seconds: number): void {
    const series = this.byMethod.get(method)?.get(status) ?? this.#add(method, status);
    series.observe(seconds);
  }

  #add(method: string, status: number): Series {
    const byStatus = this.byMethod.get(method) ?? new Map<number, Series>();
    this.byMethod.set(method, byStatus);
    const series = new Series();
    byStatus.set(status, series);
    return series;
  }
}

export class RequestHistogram extends Histogram<Label> {
  /** Requests whose answer is not out yet. */
  inFlight = 0;
  readonly #routes = new Map<string, RouteTimings>();

  constructor() {
    super({
      name,
      help,
      labelNames: ['route', 'method', 'status'],
      buckets: bounds,
      registers: [],
    });
  }

  route(route: string): RouteTimings {
    const timings = this.#routes.get(route) ?? new RouteTimings(route);
    this.#routes.set(route, timings);
    return timings;
  }

  /** What prom-client asks for at each scrape, both for text and (through `get`) for JSON. */
  async getForPromString() {
    const values = [...this.#routes.values()].flatMap(({ route, byMethod }) =>
      [...byMethod].flatMap(([method, byStatus]) =>
        [...byStatus].flatMap(([status, series]) => exposition({ route, method, status }, series)),
      ),
    );
    return { name, help, type: 'histogram', values, aggregator: 'sum' };
  }
}

/** prom-client expects this field of every value. */
const shared = { sharedLabels: {} };

/** One series as Prometheus wants it: buckets that include the smaller ones, then sum and count. */
function exposition(labels: Record<Label, string | number>, series: Series) {
  let total = 0;
  const buckets = [...bounds, '+Inf'].map((le, bucket) => {
    total += series.counts[bucket] ?? 0;
    return { metricName: `${name}_bucket`, labels: { ...labels, le }, value: total, ...shared };
  });
  return [
    ...buckets,
    { metricName: `${name}_sum`, labels, value: series.sum, ...shared },
    { metricName: `${name}_count`, labels, value: total, ...shared },
  ];
}
