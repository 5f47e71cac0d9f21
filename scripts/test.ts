/**
 * Runs the test-suites by name: `node scripts/test.ts unit e2e`.
 *
 *   unit     src/**, scripts/**: beside the code, no port but free ones, quick
 *   e2e      test/e2e/**: whole stacks on free ports, one process per file
 *   servers  test/servers/**, and on PostgreSQL the unit suites that run on every engine
 *   clients  test/clients/**: published third-party clients, with a package of their own
 *
 * Further arguments after `--` narrow to files whose path contains one of them.
 */
import { spawnSync } from 'node:child_process';
import { globSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { installClients } from '../test/support/install-clients.ts';
import { preparePostgres } from '../test/support/postgres-server.ts';

const root = resolve(import.meta.dirname, '..');
interface Suite {
  readonly globs: string[];
  readonly flags: string[];
  /** Only files in which this stands. */
  readonly mentions?: RegExp;
}

const suites: Record<string, Suite> = {
  unit: { globs: ['src/**/*.test.ts', 'scripts/**/*.test.ts'], flags: ['--test-concurrency=2'] },
  e2e: { globs: ['test/e2e/**/*.test.ts'], flags: ['--test-concurrency=2'] },
  servers: {
    globs: ['test/servers/**/*.test.ts', 'src/**/*.test.ts'],
    flags: ['--test-concurrency=2'],
    mentions: /forEachEngine|of engines\b|TEST_DATABASE_URL|'npm'/,
  },
  clients: { globs: ['test/clients/**/*.test.ts'], flags: ['--test-concurrency=1'] },
};

const split = process.argv.indexOf('--');
const names = process.argv.slice(2, split === -1 ? undefined : split);
const filters = split === -1 ? [] : process.argv.slice(split + 1);
let failed = false;

for (const name of names) {
  const suite = suites[name];
  if (suite === undefined) {
    console.error(`no suite "${name}"; there are ${Object.keys(suites).join(', ')}`);
    process.exit(1);
  }
  const files = globSync(suite.globs, { cwd: root, exclude: (path) => String(path).includes('node_modules') })
    .filter(
      (file) => suite.mentions === undefined || suite.mentions.test(readFileSync(join(root, file), 'utf8')),
    )
    .filter((file) => filters.length === 0 || filters.some((filter) => file.includes(filter)))
    .sort();
  if (files.length === 0) continue;
  console.log(`\n== ${name}: ${files.length} files`);
  const environment = { ...process.env };
  const postgres = name === 'servers' ? await preparePostgres() : undefined;
  if (postgres !== undefined) environment.TEST_DATABASE_URL = postgres.url;
  if (name === 'clients') installClients();
  const run = spawnSync(process.execPath, ['--test', ...suite.flags, ...files], {
    cwd: root,
    env: environment,
    stdio: 'inherit',
    // A test that leaves a server running would be waited for without end; interrupted, the runner says which.
    timeout: 40 * 60_000,
  });
  await postgres?.stop();
  if (run.status !== 0) failed = true;
}
process.exit(failed ? 1 : 0);
