/**
 * Runs the test-suites by name: `node scripts/test.ts unit e2e`.
 *
 *   unit     src/**, scripts/**, test/fuzz/**: beside the code, no port but free ones, quick; those of one
 *            room share processes, because to load its modules costs more than most of the tests
 *   e2e      test/e2e/**: whole stacks on free ports, one process per file
 *   long     test/long/**, test/simulation/**: stacks that are killed again and again, slow readers, random days, thousands
 *            of items, kept seeds of the simulated world
 *   servers  test/servers/**, and on PostgreSQL the suites of the others that run on every engine
 *   clients  test/clients/**: published third-party clients, with a package of their own
 *
 * Further arguments after `--` narrow to files whose path contains one of them; a filter that fits no file is an error.
 *
 * With `CI` set, a file that failed is run once more by itself. One that then passes is told at the end as flaky, with
 * its first output: it holds nothing up and is not forgotten.
 */
import { spawnSync } from 'node:child_process';
import {
  cpSync,
  existsSync,
  globSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { installClients } from '../test/support/install-clients.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';

const root = resolve(import.meta.dirname, '..');
interface Suite {
  readonly globs: string[];
  readonly flags: string[];
  /** Only files in which this stands, and those of `test/servers/`. */
  readonly mentions?: RegExp;
}

const suites: Record<string, Suite> = {
  unit: {
    globs: ['test/fuzz/**/*.test.ts', 'scripts/**/*.test.ts', 'src/**/*.test.ts'],
    flags: ['--test-concurrency=4'],
  },
  // Four at once on two cores: whole stacks wait a good part of their time.
  e2e: { globs: ['test/e2e/**/*.test.ts'], flags: ['--test-concurrency=4'] },
  long: {
    globs: ['test/long/**/*.test.ts', 'test/simulation/**/*.test.ts'],
    flags: ['--test-concurrency=4'],
  },
  servers: {
    globs: ['test/servers/**/*.test.ts', 'test/{e2e,long}/**/*.test.ts', 'src/**/*.test.ts'],
    flags: ['--test-concurrency=2'],
    mentions: /forEachEngine|itOnEngine|of engines\b|TEST_DATABASE_URL|'npm'/,
  },
  clients: { globs: ['test/clients/**/*.test.ts'], flags: ['--test-concurrency=2'] },
};

const split = process.argv.indexOf('--');
const names = process.argv.slice(2, split === -1 ? undefined : split);
const filters = split === -1 ? [] : process.argv.slice(split + 1);
const isContinuousIntegration = process.env.CI !== undefined && process.env.CI !== '';
const filesOfGroup = 40;
const leastMemoryBytes = 4 * 1024 ** 3;
/** More than this is no flake: the change is broken. */
const mostRunAgain = 10;
const flaky: string[] = [];
const fitted = new Set<string>();
let failed = false;

const unknown = names.find((name) => suites[name] === undefined);
if (unknown !== undefined) {
  console.error(`no suite "${unknown}"; there are ${Object.keys(suites).join(', ')}`);
  process.exit(1);
}

// The suites that need no server run as one, the long files first: no core waits for the last file of a suite.
const together = ['e2e', 'unit'].filter((name) => names.includes(name));
const runs = [together, ...names.filter((name) => !together.includes(name)).map((name) => [name])];

for (const run of runs) {
  const files = run.flatMap(filesOf);
  for (const filter of filters) if (files.some((file) => file.includes(filter))) fitted.add(filter);
  if (files.length === 0) continue;
  console.log(`\n== ${run.join(' and ')}: ${files.length} files`);
  // Modules are stripped of their types and compiled once for all the processes of a run, not once in each.
  const environment: NodeJS.ProcessEnv = {
    NODE_COMPILE_CACHE: join(root, 'node_modules/.cache/compiled'),
    ...process.env,
  };
  const postgres = run.includes('servers') ? await preparePostgres() : undefined;
  if (postgres !== undefined) environment.TEST_DATABASE_URL = postgres.url;
  if (run.includes('clients')) installClients();
  if (startsPrograms(files)) environment.TEST_PROGRAM = packProgram();
  const failures = runFiles(files, suites[run[0] ?? '']?.flags ?? [], environment);
  for (const file of new Set(failures.flat())) {
    if (isContinuousIntegration && failures.length <= mostRunAgain && passesAlone(file, environment))
      flaky.push(file);
    else failed = true;
  }
  await postgres?.stop();
}

for (const filter of filters.filter((one) => !fitted.has(one))) {
  console.error(`no test file of ${names.join(', ')} has "${filter}" in its path`);
  failed = true;
}
if (flaky.length > 0) {
  console.log(
    `\n== flaky: ${flaky.length} files failed at first and passed by themselves (their first output is above)`,
  );
  for (const file of flaky) console.log(`flaky ${file}`);
}
process.exit(failed ? 1 : 0);

/** Whether it pays to pack the program first, which takes as long as two starts of the checkout's. */
function startsPrograms(files: readonly string[]): boolean {
  return files.filter((file) => file.startsWith('test/')).length > 2;
}

/**
 * The program as a package has it, beside a `bin` of its own; for all tests that start it (`test/support/program.ts`). Below
 * the checkout, whose packages it needs, and one for each run: two may go on at once.
 */
function packProgram(): string {
  const folder = join(root, '.cache', `program-${process.pid}`);
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }));
  const { status } = spawnSync(process.execPath, ['scripts/build.ts', join(folder, 'dist')], {
    cwd: root,
    stdio: 'inherit',
  });
  if (status !== 0) throw new Error('the program cannot be packed');
  for (const part of ['bin', 'package.json'])
    cpSync(join(root, part), join(folder, part), { recursive: true });
  return join(folder, 'bin', 'turnpike.js');
}

/** The files of a suite that the filters let through; `test/` and `scripts/`, which start whole stacks, come first. */
function filesOf(name: string): string[] {
  const { globs = [], mentions } = suites[name] ?? {};
  return globSync(globs, { cwd: root, exclude: (path) => String(path).includes('node_modules') })
    .filter(
      (file) =>
        mentions === undefined ||
        file.startsWith('test/servers/') ||
        mentions.test(readFileSync(join(root, file), 'utf8')),
    )
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort()
    .reverse();
}

/**
 * Runs files together; answers those that failed, and as one those of a process of which nobody can say which it was. A
 * run that ended otherwise failed as a whole.
 */
function runFiles(files: readonly string[], flags: readonly string[], env: NodeJS.ProcessEnv): string[][] {
  const cache = join(root, 'test', '.cache');
  mkdirSync(cache, { recursive: true });
  const folder = mkdtempSync(join(cache, 'run-'));
  const list = join(folder, 'failed');
  const reporters = [
    '--test-reporter=spec',
    '--test-reporter-destination=stdout',
    `--test-reporter=${pathToFileURL(join(root, 'scripts', 'failed-files.ts')).href}`,
    `--test-reporter-destination=${list}`,
  ];
  const groups = groupsOf(files);
  const memory = groups.some(({ length }) => length > 1) ? memoryFolder() : undefined;
  // Node sorts what it is given. Whole stacks wait much and are to begin first: absolute paths come before relative ones.
  const entries = groups.map((group, index) => {
    const [file = ''] = group;
    if (group.length === 1) return join(root, file);
    const entry = join(folder, `${String(index).padStart(3, '0')}-${roomOf(file)?.replaceAll('/', '-')}.mjs`);
    writeFileSync(entry, groupModule(group, memory));
    return relative(root, entry);
  });
  try {
    const preload = ['--require', join(root, 'scripts', 'untracked-promises.cjs')];
    const run = spawnSync(process.execPath, [...preload, '--test', ...flags, ...reporters, ...entries], {
      cwd: root,
      env,
      stdio: 'inherit',
      // A test that leaves a server running would be waited for without end; interrupted, the runner says which.
      timeout: 40 * 60_000,
    });
    if (run.status === 0) return [];
    const told = existsSync(list) ? readFileSync(list, 'utf8').split('\n').filter(Boolean) : [];
    if (run.status === null || told.length === 0) return files.map((file) => [file]);
    const started = entries.map((entry) => resolve(root, entry));
    return told.map(
      (file) => groups[started.indexOf(resolve(root, file))] ?? [relative(root, resolve(root, file))],
    );
  } finally {
    for (const made of [folder, memory])
      if (made !== undefined) rmSync(made, { recursive: true, force: true });
  }
}

/**
 * Where those of a room have their temporary folders: in memory, if there is room and programs may be run there. On a
 * disk they sync thousands of small databases. Whole stacks and what is run by itself stay on the disk.
 */
function memoryFolder(): string | undefined {
  const place = '/dev/shm';
  if (process.env.TMPDIR !== undefined || !existsSync(place)) return undefined;
  const { bavail, bsize } = statfsSync(place);
  if (bavail * bsize < leastMemoryBytes) return undefined;
  const folder = mkdtempSync(join(place, 'turnpike-test-'));
  const probe = join(folder, 'probe');
  writeFileSync(probe, '#!/bin/sh\n', { mode: 0o700 });
  if (spawnSync(probe).status === 0) return folder;
  rmSync(folder, { recursive: true });
  return undefined;
}

/** Files of a room, some in one process; any other file has a process of its own. */
function groupsOf(files: readonly string[]): string[][] {
  const groups: string[][] = [];
  let last: string | undefined;
  for (const file of files) {
    const room = roomOf(file);
    const group = groups.at(-1);
    if (room !== undefined && room === last && group !== undefined && group.length < filesOfGroup)
      group.push(file);
    else groups.push([file]);
    last = room;
  }
  // What takes longest is to begin first: no core waits for the last.
  return groups.sort((one, other) => other.length - one.length);
}

/** `src/gateway` of `src/gateway/paths.test.ts`. */
function roomOf(file: string): string | undefined {
  return /^src\/[^/]+(?=\/)/.exec(file)?.[0];
}

/**
 * A module that runs test files as suites, so that the hooks of a file stay its own. They are loaded one after the
 * other: a module that is waited for by two files would continue both in the suite of the first.
 */
function groupModule(files: readonly string[], temporary: string | undefined): string {
  const named = files.map((file) => [file, pathToFileURL(join(root, file)).href]);
  return `import { describe } from 'node:test';
${temporary === undefined ? '' : `process.env.TMPDIR = ${JSON.stringify(temporary)};`}
let loaded = Promise.resolve();
for (const [name, url] of ${JSON.stringify(named)}) {
  describe(name, () => (loaded = loaded.then(() => import(url))).then(() => undefined));
}
`;
}

function passesAlone(file: string, env: NodeJS.ProcessEnv): boolean {
  console.log(`\n== ${file} failed: once more, by itself`);
  return runFiles([file], [], env).length === 0;
}
