/** Published clients live in a package of their own, so that the root install stays light. */
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../..');
const folder = join(root, 'test', 'clients');
const modules = join(folder, 'node_modules');
const stampName = '.installed-lock';

/**
 * Runs `npm ci` for test/clients unless what is there was installed from the same lock file. It is made elsewhere and moved
 * there whole: two runs of tests may need it at once.
 */
export function installClients(): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  if (isInstalled(lock)) return;
  console.log('installing the published clients (test/clients)');
  const made = join(root, '.cache', `clients-${process.pid}`);
  mkdirSync(made, { recursive: true });
  try {
    for (const file of ['package.json', 'package-lock.json']) cpSync(join(folder, file), join(made, file));
    // Nothing is compiled: what some of them would build is only faster than what they bring along.
    const install = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
      cwd: made,
      stdio: 'inherit',
    });
    if (install.status !== 0) throw new Error('npm ci failed for test/clients');
    writeFileSync(join(made, 'node_modules', stampName), lock);
    if (isInstalled(lock)) return;
    if (existsSync(modules)) renameSync(modules, join(made, 'replaced'));
    renameSync(join(made, 'node_modules'), modules);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

function isInstalled(lock: string): boolean {
  const stamp = join(modules, stampName);
  return existsSync(stamp) && readFileSync(stamp, 'utf8') === lock;
}
