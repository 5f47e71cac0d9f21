/**
 * Publishes or subscribes in a process of its own that kills itself (SIGKILL) at its n-th act on the disk:
 * `node index-process.ts publish|subscribe <data folder> <n> [<publisher's url>]`. Prints `done` when it came through.
 */
import fs from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';

const [mode = '', dataDir = '', killAt = '0', url = ''] = process.argv.slice(2);
let acts = 0;

function counted(owner: object, names: readonly string[]): void {
  for (const name of names) {
    const act: unknown = Reflect.get(owner, name);
    if (typeof act !== 'function') throw new Error(`there is no ${name}`);
    Reflect.set(owner, name, function (this: unknown, ...args: unknown[]) {
      acts += 1;
      if (acts === Number(killAt)) process.kill(process.pid, 'SIGKILL');
      return Reflect.apply(act, this, args);
    });
  }
}

// Before anything else is loaded: whatever imports these functions gets the counted ones.
counted(fs, ['open', 'rename', 'link', 'rm', 'mkdir', 'writeFile', 'copyFile']);
syncBuiltinESMExports();
const probe = await fs.open(import.meta.filename, 'r');
counted(Object.getPrototypeOf(probe), ['write', 'writeFile', 'truncate', 'sync']);
await probe.close();
acts = 0;

const { testPublisher, buildTestBand, pollOnce } = await import('./bands.ts');
acts = 0;

if (mode === 'publish') {
  await buildTestBand(dataDir, ['old', 'new', 'more']);
  await testPublisher(dataDir).publish();
} else {
  const outcome = await pollOnce(dataDir, url);
  if (outcome !== 'installed') throw new Error(outcome);
}
console.log(`done ${acts}`);
