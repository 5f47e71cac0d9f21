/** The text in which services tell their figures (Prometheus exposition format 0.0.4), read within bounds. */

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
  /** The labels as they stand there: with the name, what tells one series from another. */
  readonly key: string;
}

const maxSamples = 50_000;
const line = /^([A-Za-z_:][A-Za-z0-9_:]*)(?:\{(.*)\})?[ \t]+(\S+)/;
const label = /([A-Za-z_][A-Za-z0-9_]*)="((?:[^"\\]|\\.)*)"/g;

/** The figures of one service at one moment. */
export class Samples {
  readonly #byName: ReadonlyMap<string, readonly Sample[]>;

  constructor(text: string) {
    const byName = new Map<string, Sample[]>();
    let count = 0;
    for (const row of linesOf(text)) {
      if (row === '' || row.startsWith('#')) continue;
      const [, name, labels = '', value] = line.exec(row) ?? [];
      if (name === undefined || value === undefined) continue;
      count += 1;
      if (count > maxSamples) break;
      const samples = byName.get(name) ?? [];
      if (samples.length === 0) byName.set(name, samples);
      samples.push({ labels: readLabels(labels), value: numberOf(value), key: labels });
    }
    this.#byName = byName;
  }

  all(name: string): readonly Sample[] {
    return this.#byName.get(name) ?? [];
  }

  /** Of a figure without labels, or the sum over all of them; undefined where it is not told. */
  sum(name: string): number | undefined {
    const values = this.all(name)
      .map(({ value }) => value)
      .filter(Number.isFinite);
    return values.length === 0 ? undefined : values.reduce((total, value) => total + value, 0);
  }
}

function* linesOf(text: string): Generator<string> {
  let from = 0;
  while (from < text.length) {
    const end = text.indexOf('\n', from);
    const to = end === -1 ? text.length : end;
    yield text.slice(from, to).trim();
    from = to + 1;
  }
}

function readLabels(text: string): Record<string, string> {
  return Object.fromEntries(
    [...text.matchAll(label)].map(([, name = '', value = '']) => [
      name,
      value.replaceAll(/\\(.)/g, (_all, letter: string) => (letter === 'n' ? '\n' : letter)),
    ]),
  );
}

function numberOf(text: string): number {
  if (text === '+Inf') return Number.POSITIVE_INFINITY;
  if (text === '-Inf') return Number.NEGATIVE_INFINITY;
  return Number(text);
}

/** By how much a counter grew. One that is smaller than before began anew. */
const growth = (before: number, now: number): number => (now < before ? now : now - before);

/** By how much each series of a counter grew; one that was not there before began at nothing. */
export function increases(
  before: Samples,
  now: Samples,
  name: string,
): { labels: Sample['labels']; value: number }[] {
  const earlier = new Map(before.all(name).map(({ key, value }) => [key, value]));
  return now
    .all(name)
    .map(({ key, labels, value }) => ({ labels, value: growth(earlier.get(key) ?? 0, value) }));
}

/** The value that a share of the observations was below, as Prometheus estimates it. `le` -> count, cumulated. */
export function quantile(share: number, buckets: ReadonlyMap<number, number>): number | undefined {
  const bounds = [...buckets].sort(([a], [b]) => a - b);
  const total = bounds.at(-1)?.[1] ?? 0;
  if (!(total > 0)) return undefined;
  const rank = share * total;
  let [lower, below] = [0, 0];
  for (const [bound, count] of bounds) {
    if (count >= rank) {
      // What is slower than the last bound is at least that slow.
      if (bound === Number.POSITIVE_INFINITY) return lower;
      return count === below ? bound : lower + ((bound - lower) * (rank - below)) / (count - below);
    }
    [lower, below] = [bound, count];
  }
  return lower;
}
