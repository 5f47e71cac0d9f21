/**
 * The figures of several processes as one Prometheus text. Each sample keeps the process it is of as the label
 * `worker`: summing is the reader's choice, since the sum of a height or of a share means nothing.
 */

interface Family {
  /** Its `# HELP` and `# TYPE` lines. */
  readonly head: string[];
  readonly samples: string[];
}

export function mergeMetrics(texts: readonly (readonly [worker: number, text: string])[]): string {
  const families = new Map<string, Family>();
  for (const [worker, text] of texts) {
    let family: Family = { head: [], samples: [] };
    let isFirst = true;
    for (const line of text.split('\n')) {
      const heading = /^# (HELP|TYPE) (\S+)/.exec(line);
      if (heading !== null) {
        const [, kind, name = ''] = heading;
        if (kind === 'HELP') {
          isFirst = !families.has(name);
          family = families.get(name) ?? { head: [], samples: [] };
          families.set(name, family);
        }
        if (isFirst) family.head.push(line);
      } else if (line !== '' && !line.startsWith('#')) {
        family.samples.push(labelled(line, worker));
      }
    }
  }
  return [...families.values()].map(({ head, samples }) => [...head, ...samples, ''].join('\n')).join('\n');
}

/** `name value` or `name{a="b"} value`, the worker first among the labels. */
function labelled(sample: string, worker: number): string {
  const end = sample.search(/[{ ]/);
  const name = sample.slice(0, end);
  const label = `worker="${worker}"`;
  return sample[end] === '{'
    ? `${name}{${label},${sample.slice(end + 1)}`
    : `${name}{${label}}${sample.slice(end)}`;
}
