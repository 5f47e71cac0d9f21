/**
 * The table of docs/performance.md: what was measured beside its bar. `npm run bench -- --write` puts the figures of a run into
 * it; what limits each is written by hand and stays.
 */
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Measurement } from './bench.ts';

export type BenchResult = Measurement & { readonly bench: string };

const page = join(import.meta.dirname, '..', 'docs', 'performance.md');
const [begin, end] = ['<!-- bars -->', '<!-- end of bars -->'];
const heads = ['Measurement', 'Bar', 'Ratio', 'Value', 'Yardstick', 'What limits it now'];

/** How growth is measured has tables of its own, in docs/scaling.md. */
const isTold = ({ bench, bar }: BenchResult): boolean => bar !== undefined && !bench.startsWith('scale/');

export function writeTable(results: readonly BenchResult[]): void {
  const text = readFileSync(page, 'utf8');
  const [from, to] = [text.indexOf(begin), text.indexOf(end)];
  if (from < 0 || to < from) throw new Error(`docs/performance.md has no place for ${begin}`);
  const rows = new Map<string, readonly string[]>();
  for (const line of text.slice(from, to).split('\n').slice(3)) {
    const cells = line
      .split('|')
      .slice(1, -1)
      .map((cell) => cell.trim());
    if (cells.length === heads.length) rows.set(cells[0] ?? '', cells);
  }
  for (const result of results.filter(isTold)) {
    const name = `${result.bench}: ${result.name}`.replaceAll('|', '/');
    const value = `${rounded(result.value)} ${result.unit}`;
    const limit = rows.get(name)?.at(-1) ?? '';
    rows.set(name, [
      name,
      `${Number((result.bar ?? 0).toPrecision(2))}`,
      rounded(result.ratio),
      value,
      result.yardstick,
      limit,
    ]);
  }
  const sorted = [...rows].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, cells]) => cells);
  const table = [heads, heads.map(() => '---'), ...sorted].map((cells) => `| ${cells.join(' | ')} |`);
  writeFileSync(page, `${text.slice(0, from)}${begin}\n${table.join('\n')}\n${text.slice(to)}`);
}

export function rounded(value: number): string {
  return value >= 100 ? Math.round(value).toLocaleString('en') : value.toPrecision(3);
}
