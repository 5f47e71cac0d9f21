/**
 * Runs every `*.bench.ts` here, or those whose name contains an argument, and prints one table; the same as JSON goes to
 * bench/results/latest.json, and with `--write` into docs/performance.md. Figures are ratios to a yardstick of the same
 * run, because machines differ and are shared.
 */
import { globSync, mkdirSync, writeFileSync } from 'node:fs';
import { arch, cpus } from 'node:os';
import { join } from 'node:path';
import type { Bench } from './bench.ts';
import { type BenchResult, rounded, writeTable } from './performance-table.ts';

/** What begins with a dash is for the measurement itself. */
const filters = process.argv.slice(2).filter((word) => !word.startsWith('-'));
const files = globSync('*.bench.ts', { cwd: import.meta.dirname }).sort();
const results: BenchResult[] = [];

console.log(row('measurement', 'value', 'ratio', 'bar', 'yardstick'));
for (const file of files) {
  const { benches } = (await import(`./${file}`)) as { benches: Bench[] };
  for (const bench of benches) {
    if (filters.length > 0 && !filters.some((filter) => bench.name.includes(filter))) continue;
    for (const measured of await bench.run()) {
      results.push({ bench: bench.name, ...measured });
      const missed = measured.bar !== undefined && measured.ratio < measured.bar;
      console.log(
        row(
          `${bench.name}: ${measured.name}`,
          `${rounded(measured.value)} ${measured.unit}`,
          rounded(measured.ratio),
          measured.bar === undefined ? '' : `${missed ? '< ' : '≥ '}${measured.bar}`,
          `${measured.yardstick}${measured.note === undefined ? '' : ` (${measured.note})`}`,
        ),
      );
    }
  }
}

const folder = join(import.meta.dirname, 'results');
mkdirSync(folder, { recursive: true });
const machine = { node: process.version, arch: arch(), cpus: cpus().length, model: cpus()[0]?.model };
writeFileSync(
  join(folder, 'latest.json'),
  `${JSON.stringify({ at: new Date().toISOString(), machine, results }, null, 2)}\n`,
);
if (process.argv.includes('--write')) writeTable(results);
const missed = results.filter((result) => result.bar !== undefined && result.ratio < result.bar);
console.log(`${results.length} measured, ${missed.length} below their bar`);

function row(name: string, value: string, ratio: string, bar: string, yardstick: string): string {
  return `${name.padEnd(58)} ${value.padStart(16)} ${ratio.padStart(8)} ${bar.padStart(8)}  ${yardstick}`;
}
