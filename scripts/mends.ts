/**
 * What keeps strangers out, taken out again one piece at a time: `npm run mends [-- part of a name …]`. Each undo is
 * made in a copy of the tree, and then a test must fail that passes with it. A mend whose undo no test notices is not
 * kept by any. The same tests are run on the tree as it is first: one that fails there says nothing. `--show` prints what
 * the tests print.
 *
 * The undos are in `mends/list.ts`; `mends.test.ts` sees to it that each still finds its text.
 */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { foundCode } from './mends/found-code.ts';
import { type Check, type Mend, mends } from './mends/list.ts';

const root = resolve(import.meta.dirname, '..');
const longestMs = 10 * 60_000;

/** The text with each undo made; fails where one does not fit exactly once. */
export function undone(mend: Mend, read: (file: string) => string): Map<string, string> {
  const files = new Map<string, string>();
  for (const { file, find, put } of mend.undo) {
    const text = files.get(file) ?? read(file);
    const parts = text.split(find);
    if (parts.length !== 2) {
      throw new Error(`${mend.what}: the text occurs ${parts.length - 1} times in ${file}`);
    }
    files.set(file, parts.join(put));
  }
  return files;
}

/** The tree as it is here, with what is not committed, and the installed packages. */
function copyTree(): string {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-mends-'));
  const listed = spawnSync('git', ['ls-files', '-z', '--cached', '--others', '--exclude-standard'], {
    cwd: root,
    encoding: 'utf8',
    maxBuffer: 64 * 1024 * 1024,
  });
  for (const file of listed.stdout.split('\0').filter(Boolean)) {
    mkdirSync(dirname(join(folder, file)), { recursive: true });
    cpSync(join(root, file), join(folder, file));
  }
  symlinkSync(join(root, 'node_modules'), join(folder, 'node_modules'));
  return folder;
}

function argumentsOf(check: Check): string[] {
  if ('unit' in check) return ['--test', check.unit];
  if ('fuzz' in check) {
    const { target, runs } = check.fuzz;
    return ['scripts/fuzz.ts', target, '--seed', '1', '--runs', String(runs), '--first'];
  }
  if ('simulation' in check) {
    const { from, minutes, only, faults } = check.simulation;
    const first = from === undefined ? [] : ['--from', String(from)];
    const which = ['--only', only, ...first, ...(faults === undefined ? [] : ['--faults', faults])];
    return [
      'scripts/simulate.ts',
      '--seeds',
      '100000',
      '--jobs',
      '2',
      '--minutes',
      String(minutes),
      ...which,
    ];
  }
  const { seed, requests, options = [] } = check.strangers;
  return ['scripts/strangers.ts', '--seed', String(seed), '--requests', String(requests), ...options];
}

function statusOf(check: Check, folder: string, show: boolean): number | null {
  return spawnSync(process.execPath, argumentsOf(check), {
    cwd: folder,
    stdio: show ? 'inherit' : 'ignore',
    timeout: longestMs,
  }).status;
}

/** Whether the check fails as it should: a run of the stranger or of the world that breaks down otherwise has found nothing. */
function fails(check: Check, folder: string, show: boolean): boolean {
  return statusOf(check, folder, show) === ('unit' in check ? 1 : foundCode);
}

/** Every test file of the mends, a short search of each target, and for each way to run the stranger or the simulated world a short run. */
function checksOfTree(chosen: readonly Mend[]): Check[] {
  const checks = chosen.map(({ fails: check }): Check => {
    if ('unit' in check) return check;
    if ('fuzz' in check) return { fuzz: { ...check.fuzz, runs: 2_000 } };
    if ('simulation' in check) return { simulation: { from: 1, minutes: 0.2, only: check.simulation.only } };
    const { options = [] } = check.strangers;
    return { strangers: { seed: 1, requests: 2_000, options } };
  });
  return [...new Map(checks.map((check) => [JSON.stringify(check), check])).values()];
}

if (process.argv[1] === import.meta.filename) {
  const { values, positionals: filters } = parseArgs({
    options: { show: { type: 'boolean', default: false } },
    allowPositionals: true,
  });
  const chosen = mends.filter(
    ({ what }) => filters.length === 0 || filters.some((part) => what.includes(part)),
  );
  const folder = copyTree();
  const read = (file: string) => readFileSync(join(root, file), 'utf8');
  let found = 0;
  try {
    for (const check of checksOfTree(chosen)) {
      if (statusOf(check, folder, values.show) === 0) continue;
      console.error(`fails without any undo: node ${argumentsOf(check).join(' ')}`);
      process.exitCode = 1;
    }
    if (process.exitCode === 1) process.exit();
    for (const mend of chosen) {
      const files = undone(mend, read);
      for (const [file, text] of files) writeFileSync(join(folder, file), text);
      const from = performance.now();
      const isFound = fails(mend.fails, folder, values.show);
      for (const file of files.keys()) writeFileSync(join(folder, file), read(file));
      if (isFound) found += 1;
      const seconds = Math.round((performance.now() - from) / 1_000);
      console.log(`${isFound ? 'found    ' : 'NOT FOUND'} ${mend.what} (${seconds} s)`);
    }
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
  console.log(`${found} found, ${chosen.length - found} not found`);
  process.exit(found === chosen.length ? 0 : 1);
}
