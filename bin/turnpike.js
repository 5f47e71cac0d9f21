#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still read it: it runs the program, or has the Node that came along run it.
import { accessSync, constants, existsSync } from 'node:fs';
import * as modules from 'node:module';
import { homedir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { becomeNewer, endWithLauncher } from './newer-node.js';

const neededMajor = 24;
const root = dirname(dirname(fileURLToPath(import.meta.url)));

if (Number(process.versions.node.split('.')[0]) < neededMajor) {
  becomeNewer(neededMajor, fileURLToPath(import.meta.url));
} else {
  endWithLauncher();
  forgetBrowserParts();
  // The next start finds the code compiled, which takes a third off it.
  const cache = compileCacheFolder();
  if (cache !== undefined) modules.enableCompileCache(cache);
  // A published package carries JavaScript in dist; a checkout runs its TypeScript as it is.
  const source = new URL('../src/cli/main.ts', import.meta.url);
  const built = new URL('../dist/main.js', import.meta.url);
  const { main } = await import((existsSync(source) ? source : built).href);
  await main(process.argv.slice(2));
}

/** To import `node:http` reads all it has, among it a WebSocket that brings the whole of fetch along: 14 MiB nobody uses. */
function forgetBrowserParts() {
  const http = modules.default.createRequire(import.meta.url)('node:http');
  for (const name of ['WebSocket', 'CloseEvent', 'MessageEvent']) delete http[name];
}

/** Beside the code; where that cannot be written, as in a global install, in the cache of the user. Never where others may write. */
function compileCacheFolder() {
  if (isWritable(root)) return join(root, '.cache', 'compile');
  const { XDG_CACHE_HOME, LOCALAPPDATA } = process.env;
  if (process.platform === 'win32') return LOCALAPPDATA && join(LOCALAPPDATA, 'turnpike', 'compile');
  if (XDG_CACHE_HOME) return join(XDG_CACHE_HOME, 'turnpike', 'compile');
  const caches = process.platform === 'darwin' ? ['Library', 'Caches'] : ['.cache'];
  const home = homedir();
  return isWritable(home) ? join(home, ...caches, 'turnpike', 'compile') : undefined;
}

function isWritable(folder) {
  try {
    accessSync(folder, constants.W_OK);
    return true;
  } catch {
    return false;
  }
}
