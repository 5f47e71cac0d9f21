/**
 * Loaded before anything else (`--import`) in a process that tries mutants, and in its threads and children: hands out
 * the files that have mutants in them, and, where tests are collected, `node:test` as `collect.ts` has it.
 */
import { readdirSync, readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';
import { join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

declare global {
  var __mutant: (number: number) => boolean;
  var __mutants: { active: number; reached: Set<number> | undefined };
}

const root = resolve(import.meta.dirname, '../..');
const { MUTANTS_FOLDER: folder = '', MUTANT = '-1', MUTANTS_COLLECT: collects } = process.env;

const mutants: typeof globalThis.__mutants = { active: Number(MUTANT), reached: undefined };
globalThis.__mutants = mutants;
globalThis.__mutant = (number) => {
  mutants.reached?.add(number);
  return mutants.active === number;
};

const mutated = new Map(
  readdirSync(folder)
    .filter((name) => name.endsWith('.js'))
    .map((name) => [
      pathToFileURL(join(root, decodeURIComponent(name.slice(0, -3)))).href,
      join(folder, name),
    ]),
);

registerHooks({
  resolve(specifier, context, next) {
    if (specifier !== 'node:test' || collects === undefined) return next(specifier, context);
    const isOurs = context.parentURL?.startsWith(pathToFileURL(`${root}/`).href);
    if (!isOurs || context.parentURL?.includes('/scripts/mutants/')) return next(specifier, context);
    return { url: pathToFileURL(join(import.meta.dirname, 'collect.ts')).href, shortCircuit: true };
  },
  load(url, context, next) {
    const file = mutated.get(url);
    if (file === undefined) return next(url, context);
    return { format: 'module', source: readFileSync(file), shortCircuit: true };
  },
});

// A thread or child that a test starts is told by these what it is to try.
process.env.NODE_OPTIONS = `--disable-warning=ExperimentalWarning --import ${pathToFileURL(fileURLToPath(import.meta.url)).href}`;
