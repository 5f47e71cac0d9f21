/**
 * Looks at all services at once: whether they are well, what their metrics say, how far the chain is. Each is asked on its
 * own, so that one that is away costs the others nothing.
 */
import { isCount, memberOf, tryParseJson } from '../../formats/json.ts';
import type { HttpClient } from '../../outside/http.ts';
import type { LiveState, OperatorService, ServiceName, ServiceState } from '../api.ts';
import { operatorServices, type Reach } from '../reach.ts';
import { askState } from './ask-services.ts';
import type { AllFigures } from './charts.ts';
import { figuresOf, isUse, type Reading } from './figures.ts';
import { increases, Samples } from './prometheus.ts';

const timeoutMs = 3_000;
const metricsBytes = 8 * 1024 * 1024;
const blockBytes = 4 * 1024 * 1024;
/** Whoever asks within this gets the same look. */
const freshMs = 1_500;
/** Of networks with many pending transactions the list is long. */
const mempoolMs = 10_000;
const mempoolBytes = 2 * 1024 * 1024;

const metricsPaths: Readonly<Record<OperatorService, readonly string[]>> = {
  gateway: ['/gw/__gateway_metrics', '/ar-io/__gateway_metrics'],
  payment: ['/v1/metrics'],
  upload: ['/v1/metrics', '/bundler_metrics'],
  router: ['/router/metrics'],
};

interface Metrics {
  readonly before: Reading | undefined;
  readonly now: Reading;
}

type AllMetrics = Readonly<Partial<Record<OperatorService, Metrics>>>;

export class Observer {
  readonly #client: HttpClient;
  readonly #services: Reach['services'];
  readonly #readings = new Map<OperatorService, Reading>();
  readonly #sampled = new Map<OperatorService, Reading>();
  #looking: { readonly at: number; readonly metrics: Promise<AllMetrics> } | undefined;
  #block: { readonly height: number; readonly at: number | undefined } | undefined;
  #mempool: { readonly askedAt: number; readonly count: number | undefined } | undefined;

  constructor(client: HttpClient, services: Reach['services']) {
    this.#client = client;
    this.#services = services;
  }

  async live(): Promise<LiveState> {
    const [services, metrics, chain] = await Promise.all([this.#states(), this.#metrics(), this.#chain()]);
    const tell = (service: OperatorService, name: string) => metrics[service]?.now.samples.sum(name);
    return {
      at: Date.now(),
      services,
      ...chain,
      waitingItems: tell('upload', 'upload_items_waiting'),
      waitingBundles: tell('upload', 'upload_bundles_waiting'),
      creditsSold: wincOf(tell('payment', 'credits_sold_winc')),
      names: tell('payment', 'arns_names'),
      readsPerSecond: rateOf([metrics.gateway, metrics.router], () => true),
      errorsPerSecond: rateOf(Object.values(metrics), ({ status }) => Number(status) >= 500),
    };
  }

  /** Rates are those since it was last asked. */
  async figures(): Promise<AllFigures> {
    const metrics = await this.#metrics();
    const entries = operatorServices.flatMap((service) => {
      const now = metrics[service]?.now;
      const before = this.#sampled.get(service);
      if (now === undefined) this.#sampled.delete(service);
      else this.#sampled.set(service, now);
      return now === undefined ? [] : [[service, figuresOf(service, before, now)] as const];
    });
    return Object.fromEntries(
      entries.map(([service, one]) => [service, withLagOfProcess(service, one, metrics, entries)]),
    );
  }

  async #states(): Promise<Partial<Record<ServiceName, ServiceState>>> {
    const services = Object.entries(this.#services()) as [ServiceName, string][];
    const states = services.map(async ([name, base]) => {
      const { up, problems, version } = await askState(this.#client, name, base);
      return [name, { up, problems, version }] as const;
    });
    return Object.fromEntries(await Promise.all(states));
  }

  #metrics(): Promise<AllMetrics> {
    const now = performance.now();
    if (this.#looking === undefined || now - this.#looking.at > freshMs) {
      this.#looking = { at: now, metrics: this.#readMetrics() };
    }
    return this.#looking.metrics;
  }

  async #readMetrics(): Promise<AllMetrics> {
    const all = operatorServices.map(async (service) => {
      const now = await this.#read(service);
      if (now === undefined) {
        this.#readings.delete(service);
        return [];
      }
      const before = this.#readings.get(service);
      this.#readings.set(service, now);
      return [[service, { before, now }] as const];
    });
    return Object.fromEntries((await Promise.all(all)).flat());
  }

  async #read(service: OperatorService): Promise<Reading | undefined> {
    const base = this.#services()[service];
    if (base === undefined) return undefined;
    for (const path of metricsPaths[service]) {
      const answer = await this.#client
        .call(`${base}${path}`, { timeoutMs, maxBytes: metricsBytes })
        .catch(() => undefined);
      if (answer === undefined) return undefined;
      if (answer.status !== 200) continue;
      return { at: performance.now(), samples: new Samples(answer.body.toString()) };
    }
    return undefined;
  }

  async #chain(): Promise<Pick<LiveState, 'height' | 'lastBlockAt' | 'mempool'>> {
    const { gateway, arweave } = this.#services();
    const base = gateway ?? arweave;
    if (base === undefined) return {};
    const [info, mempool] = await Promise.all([this.#json(`${base}/info`), this.#pending(base)]);
    const height = memberOf(info, 'height');
    if (!isCount(height)) return { mempool };
    if (this.#block?.height !== height) {
      const block = await this.#json(`${base}/block/current`);
      const [at, of] = [memberOf(block, 'timestamp'), memberOf(block, 'height')];
      const found = of === height && isCount(at) ? at * 1_000 : undefined;
      if (found !== undefined) this.#block = { height, at: found };
    }
    return { height, lastBlockAt: this.#block?.height === height ? this.#block.at : undefined, mempool };
  }

  async #pending(base: string): Promise<number | undefined> {
    const now = performance.now();
    const isOld = this.#mempool === undefined || now - this.#mempool.askedAt > mempoolMs;
    if (isOld || (this.#mempool?.count ?? mempoolFew) < mempoolFew) {
      const list = await this.#json(`${base}/tx/pending`, mempoolBytes);
      this.#mempool = { askedAt: now, count: Array.isArray(list) ? list.length : undefined };
    }
    return this.#mempool?.count;
  }

  async #json(url: string, maxBytes = blockBytes): Promise<unknown> {
    const answer = await this.#client.call(url, { timeoutMs, maxBytes }).catch(() => undefined);
    return answer?.status === 200 ? tryParseJson(answer.body.toString()) : undefined;
  }
}

/** A list this short is asked for each time. */
const mempoolFew = 200;

/** Amounts beyond 2^53 lose digits that nobody reads in a figure on a page. */
const wincOf = (amount: number | undefined): string | undefined =>
  amount === undefined ? undefined : BigInt(Math.round(amount)).toString();

/** Requests per second of those services together; undefined where none of them was read twice. */
function rateOf(
  all: readonly (Metrics | undefined)[],
  counts: (labels: Readonly<Record<string, string>>) => boolean,
): number | undefined {
  const rates = all.flatMap((metrics) => {
    if (metrics?.before === undefined) return [];
    const { before, now } = metrics;
    const grown = increases(before.samples, now.samples, 'http_request_duration_seconds_count');
    const used = grown.filter(({ labels }) => isUse(labels.route ?? '') && counts(labels));
    const seconds = (now.at - before.at) / 1_000;
    return [used.reduce((sum, { value }) => sum + value, 0) / seconds];
  });
  return rates.length === 0 ? undefined : rates.reduce((sum, rate) => sum + rate, 0);
}

/**
 * A process measures how late its event loop is from one reading to the next. Surfaces of one process are read at the
 * same moment, and only the first of them is told.
 */
function withLagOfProcess(
  service: OperatorService,
  own: AllFigures[OperatorService] & object,
  metrics: AllMetrics,
  all: readonly (readonly [OperatorService, AllFigures[OperatorService] & object])[],
): AllFigures[OperatorService] & object {
  const startOf = (name: OperatorService) => metrics[name]?.now.samples.sum('process_start_time_seconds');
  const started = startOf(service);
  if (started === undefined) return own;
  const lags = all
    .filter(([name]) => startOf(name) === started)
    .flatMap(([, { figures }]) => figures.eventLoopLag ?? []);
  return {
    ...own,
    figures: { ...own.figures, eventLoopLag: lags.length === 0 ? undefined : Math.max(...lags) },
  };
}
