/**
 * One Prometheus registry per surface. The process's own figures (memory, event loop, garbage collection)
 * are measured once per process and joined to every surface's text, since surfaces share the process.
 */
import { Counter, collectDefaultMetrics, Gauge, Histogram, Registry } from 'prom-client';
import { RequestHistogram } from './request-histogram.ts';

export type { Counter, Gauge, Histogram } from 'prom-client';

/** Of the process as a whole: shown by every surface. */
let processRegistry: Registry | undefined;
/** Those that wait for it: it is made when somebody asks for figures, which a command never does. */
const processGauges: Gauge<string>[] = [];
/** Of the surfaces there are. A surface that is gone, with all that its figures are read from, is not kept for them. */
let registries: readonly WeakRef<Registry>[] = [];
const living = (): Registry[] => registries.flatMap((registry) => registry.deref() ?? []);
let ofAllProcesses: (() => Promise<string>) | undefined;

/** Where several processes are one surface, `text` answers for all of them. Gives back what is this process's own. */
export function joinMetrics(collect: () => Promise<string>): () => Promise<string> {
  ofAllProcesses = collect;
  return () => exposition(living());
}

export class Metrics {
  readonly registry: Registry = new Registry();
  readonly contentType: string = Registry.PROMETHEUS_CONTENT_TYPE;
  /** Duration of every request by route, method and status; filled by the HTTP server. */
  readonly requests: RequestHistogram = new RequestHistogram();

  constructor() {
    registries = [...living(), this.registry].map((registry) => new WeakRef(registry));
    this.registry.registerMetric(this.requests);
    const inFlight = () => this.requests.inFlight;
    this.gauge('http_requests_in_flight', 'Requests whose answer is not out yet', [], inFlight);
  }

  counter<T extends string>(name: string, help: string, labelNames: readonly T[] = []): Counter<T> {
    return new Counter({ name, help, labelNames: [...labelNames], registers: [this.registry] });
  }

  /** A counter without labels for the hottest paths: adding is one addition on a plain number. */
  plainCounter(name: string, help: string): PlainCounter {
    return plainCounter(this.registry, name, help);
  }

  gauge<T extends string>(
    name: string,
    help: string,
    labelNames: readonly T[] = [],
    /** Asked at each scrape instead of being set. */
    read?: () => number,
  ): Gauge<T> {
    const base = { name, help, labelNames: [...labelNames], registers: [this.registry] };
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

  /** The whole text exposition, process figures first. */
  text(): Promise<string> {
    return ofAllProcesses === undefined ? exposition([this.registry]) : ofAllProcesses();
  }
}

async function exposition(ofSurfaces: readonly Registry[]): Promise<string> {
  processRegistry ??= startProcessMetrics();
  const texts = await Promise.all([processRegistry, ...ofSurfaces].map((registry) => registry.metrics()));
  return texts.join('\n');
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
