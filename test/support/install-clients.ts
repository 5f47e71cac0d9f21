/** Published clients live in a package of their own, so that the root install stays light. */
import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const folder = resolve(import.meta.dirname, '../clients');

/** Runs `npm ci` in test/clients unless what is there was installed from the same lock file. */
export function installClients(): void {
  const lock = readFileSync(join(folder, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'node_modules', '.installed-lock');
  if (existsSync(stamp) && readFileSync(stamp, 'utf8') === lock) return;
  console.log('installing the published clients (test/clients)');
  // Nothing is compiled: what some of them would build is only faster than what they bring along.
  const install = spawnSync('npm', ['ci', '--ignore-scripts', '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: 'inherit',
  });
  if (install.status !== 0) throw new Error('npm ci failed in test/clients');
  writeFileSync(stamp, lock);
}
