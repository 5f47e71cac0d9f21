/**
 * A proxy on Bun, for comparison: installed into a temporary folder where the registry has it, never a dependency. It does
 * the least that a proxy there can do.
 */
import { execFile } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { arch, platform, tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

const version = '1.4.4';
const installMs = 120_000;

const proxy = `
const [upstream] = process.argv.slice(2);
const server = Bun.serve({
  port: 0,
  hostname: '127.0.0.1',
  fetch: (request) => fetch(upstream + '/raw' + new URL(request.url).pathname),
});
process.send({ kind: 'listening', url: 'http://127.0.0.1:' + server.port });
`;

export interface BunProxy extends Disposable {
  readonly execPath: string;
  /** Takes the address of what it stands before. */
  readonly script: string;
}

/** Says why where Bun cannot be had. */
export async function installBunProxy(): Promise<BunProxy | string> {
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-bun-'));
  const remove = (): void => rmSync(folder, { recursive: true, force: true });
  const name = `bun-${platform()}-${arch() === 'arm64' ? 'aarch64' : arch()}`;
  const install = ['install', '--no-audit', '--no-fund', '--prefix', folder, `@oven/${name}@${version}`];
  try {
    await promisify(execFile)('npm', install, { timeout: installMs });
    const execPath = join(folder, 'node_modules', '@oven', name, 'bin', 'bun');
    await promisify(execFile)(execPath, ['--version'], { timeout: installMs });
    const script = join(folder, 'proxy.js');
    writeFileSync(script, proxy);
    return { execPath, script, [Symbol.dispose]: remove };
  } catch (error) {
    remove();
    return `Bun ${version} cannot be had here: ${error instanceof Error ? error.message.split('\n')[0] : error}`;
  }
}
