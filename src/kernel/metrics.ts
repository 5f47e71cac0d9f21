/**
 * One Prometheus registry per surface. The process's own figures (memory, event loop, garbage collection)
 * are measured once per process and joined to every surface's text, since surfaces share the process.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { type Figures, isFigures, mergedText } from './merged-metrics.ts';
import { RequestHistogram } from './request-histogram.ts';
import { fellows } from './workers/fellows.ts';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Of the process as a whole: shown by every surface. */
let processRegistry: Registry | undefined;
/** By surface, for the other processes of a start. One that is gone, with all that its figures are read from, is not kept. */
const bySurface = new Map<string, WeakRef<Registry>>();
/** Those that wait for it: it is made when somebody asks for figures, which a command never does. */
const processGauges: Gauge<string>[] = [];

export const metricsTopic = 'metrics';

/** This process's own figures of a surface, for `hear(metricsTopic, …)`. */
export async function ownFigures(surface: unknown): Promise<Figures> {
  const registry = bySurface.get(String(surface))?.deref();
  if (registry === undefined) return [];
  processRegistry ??= startProcessMetrics();
  const read = await Promise.all([processRegistry.getMetricsAsJSON(), registry.getMetricsAsJSON()]);
  // Without the functions that they are read by, which cannot be sent.
  return read
    .flat()
    .map(({ name, help, type, aggregator, values }) => ({ name, help, type, aggregator, values }));
}

export class Metrics {
  readonly registry: Registry = new Registry();
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  /** Duration of every request by route, method and status; filled by the HTTP server. */
  readonly requests: RequestHistogram = new RequestHistogram();

  readonly #surface: string;

  /** `surface`: the same in every process that has it. */
  constructor(surface = '') {
    this.#surface = surface;
    if (surface !== '') bySurface.set(surface, new WeakRef(this.registry));
    this.registry.registerMetric(this.requests);
    const inFlight = () => this.requests.inFlight;
    this.shareGauge('http_requests_in_flight', 'Requests whose answer is not out yet', inFlight);
  }

  counter<T extends string>(name: string, help: string, labelNames: readonly T[] = []): Counter<T> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  /** A counter without labels for the hottest paths: adding is one addition on a plain number. */
  plainCounter(name: string, help: string): PlainCounter {
    return plainCounter(this.registry, name, help);
  }

  /** Where several processes have it, the largest counts: it is about what they share. */
  gauge<T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[] = [],
    /** Asked at each scrape instead of being set. */
    read?: () => number,
  ): Gauge<T> {
    return this.#gauge('max', name, help, labelNames, read);
  }

  /** A gauge of what each process has for itself: where there are several, it is the sum. */
  shareGauge(name: string, help: string, read: () => number): void {
    this.#gauge('sum', name, help, [], read);
  }

  /** A gauge that each process sees for itself: where there are several, the smallest counts. */
  leastGauge(name: string, help: string, read: () => number): void {
    this.#gauge('min', name, help, [], read);
  }

  #gauge<T extends string>(
    aggregator: 'max' | 'sum' | 'min',
    name: string,
    help: string,
    labelNames: readonly T[],
    read: (() => number) | undefined,
  ): Gauge<T> {
    const base = { name, help, labelNames: [...labelNames], registers: [this.registry], aggregator };
    if (read === undefined) return new Gauge(base);
    return new Gauge({
      ...base,
      collect() {
        this.set(read());
      },
    });
  }

  /**
   * A gauge that takes time to read. A scrape does not wait for it: it tells what was last read and has it read again
   * where that is older than `freshMs`. Nothing is known before the first time, and after one that failed.
   */
  slowGauge(name: string, help: string, read: () => Promise<number>, freshMs: number): void {
    let [value, readAt, isReading] = [Number.NaN, Number.NEGATIVE_INFINITY, false];
    const readAgain = async () => {
      isReading = true;
      value = await read().catch(() => Number.NaN);
      [readAt, isReading] = [performance.now(), false];
    };
    this.gauge(name, help, [], () => {
      if (!isReading && performance.now() - readAt > freshMs) void readAgain();
      return value;
    });
  }

  histogram<T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[] = [],
    buckets?: readonly number[],
  ): Histogram<T> {
    return new Histogram({
      name,
      help,
      labelNames: [...labelNames],
      registers: [this.registry],
      ...(buckets === undefined ? {} : { buckets: [...buckets] }),
    });
  }

  /** The whole text exposition, process figures first. Of several processes one answers for all. */
  async text(): Promise<string> {
    const told = await fellows()?.askAll(metricsTopic, this.#surface);
    if (told !== undefined) {
      const text = await mergedText(told.filter(isFigures).filter((figures) => figures.length > 0));
      if (text !== undefined) return text;
    }
    processRegistry ??= startProcessMetrics();
    const texts = await Promise.all([processRegistry, this.registry].map((registry) => registry.metrics()));
    return texts.join('\n');
  }
}

/** A counter of the process, which belongs to no surface. */
export function processCounter(name: string, help: string): PlainCounter {
  processRegistry ??= startProcessMetrics();
  return plainCounter(processRegistry, name, help);
}

/** A gauge of the process with one label, read at each scrape. */
export function processGauge(
  name: string,
  help: string,
  label: string,
  read: () => Iterable<readonly [label: string, value: number]>,
): void {
  const gauge = new Gauge({
    name,
    help,
    labelNames: [label],
    registers: [],
    // Processes that share a file tell the same of it.
    aggregator: 'max',
    collect() {
      this.reset();
      for (const [of, value] of read()) this.set({ [label]: of }, value);
    },
  });
  if (processRegistry === undefined) processGauges.push(gauge);
  else processRegistry.registerMetric(gauge);
}

function plainCounter(registry: Registry, name: string, help: string): PlainCounter {
  const plain = new PlainCounter();
  new Counter({
    name,
    help,
    registers: [registry],
    collect() {
      this.reset();
      this.inc(plain.value);
    },
  });
  return plain;
}

export class PlainCounter {
  value = 0;

  add(amount = 1): void {
    this.value += amount;
  }
}

function startProcessMetrics(): Registry {
  const registry = new Registry();
  collectDefaultMetrics({ register: registry });
  for (const gauge of processGauges) registry.registerMetric(gauge);
  return registry;
}
