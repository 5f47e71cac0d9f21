#!/usr/bin/env node
// Plain JavaScript, so that an old Node can still read it and say what to do.
import { existsSync } from 'node:fs';
import * as modules from 'node:module';
import { fileURLToPath } from 'node:url';

const major = Number(process.versions.node.split('.')[0]);
if (major < 24) {
  console.error(
    `turnpike needs Node 24 or newer, this is ${process.versions.node}: start it with "npm start" or "npm run turnpike -- <command>", which bring the right Node along.`,
  );
  process.exit(1);
}

// The next start finds the code compiled, which takes a third off it. Not in a folder that others may write to; where
// ours cannot be written either, nothing is kept.
modules.enableCompileCache(fileURLToPath(new URL('../.cache/compile', import.meta.url)));

// A published package carries plain JavaScript in dist; a checkout runs its TypeScript as it is.
const built = new URL('../dist/src/cli/main.js', import.meta.url);
const source = new URL('../src/cli/main.ts', import.meta.url);
const { main } = await import(existsSync(source) ? source.href : built.href);
await main(process.argv.slice(2));
