/** The projects of `examples/` as an app developer has them: installed by npm, with the packed tarball. */
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { basename, delimiter, dirname, join, resolve } from 'node:path';

import { packageName } from './pack.ts';

const root = resolve(import.meta.dirname, '../..');
const examples = join(root, 'examples');

export const exampleNames: readonly string[] = readdirSync(examples, { withFileTypes: true })
  .filter((entry) => entry.isDirectory() && existsSync(join(examples, entry.name, 'package.json')))
  .map(({ name }) => name);

/**
 * The examples with everything they depend on, in a folder of their own. The tarball is of no version that the lock file
 * could name, so it is installed after the rest.
 */
export function installExamples(tarball: string, folder: string): void {
  copyExamples(folder);
  const lock = readFileSync(join(examples, 'package-lock.json'), 'utf8');
  const stamp = join(folder, 'node_modules', '.installed-lock');
  if (!existsSync(stamp) || readFileSync(stamp, 'utf8') !== lock) {
    npm(folder, 'ci', '--ignore-scripts');
    writeFileSync(stamp, lock);
  }
  npm(folder, 'install', '--no-save', '--ignore-scripts', tarball);
}

/** Writes `examples/package-lock.json` anew, for every kind of machine: of what is installed npm takes only its own. */
export function lockExamples(folder: string): void {
  copyExamples(folder);
  for (const name of ['package-lock.json', 'node_modules']) {
    rmSync(join(folder, name), { recursive: true, force: true });
  }
  npm(folder, 'install', '--package-lock-only', '--ignore-scripts');
  cpSync(join(folder, 'package-lock.json'), join(examples, 'package-lock.json'));
}

/** Runs `npm test` of an example with this Node; answers what it printed, and throws that where it failed. */
export async function runExample(folder: string, name: string, node: string): Promise<string> {
  const run = spawn('npm', ['test'], {
    cwd: join(folder, name),
    // Nothing of the test run that this is part of.
    env: {
      PATH: [dirname(node), process.env.PATH].join(delimiter),
      HOME: process.env.HOME,
      CI: 'true',
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: 5 * 60_000,
  });
  let printed = '';
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      printed += text;
    });
  }
  await once(run, 'close');
  if (run.exitCode !== 0) throw new Error(`the example ${name} failed:\n${printed}`);
  return printed;
}

/** A Node of the PATH that is older than the program needs, as many apps have. */
export function olderNode(): string | undefined {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'node')).filter((file) => existsSync(file));
  return found.find((file) => /^v2[0-3]\./.test(execFileSync(file, ['--version'], { encoding: 'utf8' })));
}

function copyExamples(folder: string): void {
  mkdirSync(folder, { recursive: true });
  for (const name of exampleNames) rmSync(join(folder, name), { recursive: true, force: true });
  cpSync(examples, folder, { recursive: true, filter: (path) => basename(path) !== 'node_modules' });
  for (const name of exampleNames) {
    const file = join(folder, name, 'package.json');
    const manifest = JSON.parse(readFileSync(file, 'utf8'));
    delete manifest.devDependencies[packageName];
    writeFileSync(file, JSON.stringify(manifest, null, 2));
  }
}

function npm(folder: string, ...args: string[]): void {
  execFileSync('npm', [...args, '--no-audit', '--no-fund'], {
    cwd: folder,
    stdio: ['ignore', 'ignore', 'inherit'],
  });
}
