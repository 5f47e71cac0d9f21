/** Loads a package from where the caller has it installed, as the caller's own `import` would. */
import { existsSync, readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join, resolve } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';

/** What is chosen among the `exports` of a package, in the package's own order. */
const conditions: readonly string[] = ['node', 'import', 'module-sync', 'default'];

export async function importFromCaller(name: string): Promise<Record<string, unknown>> {
  const folder = packageFolder(name);
  if (folder === undefined) {
    throw new Error(
      `the package ${name} is not installed; "npm install --save-dev ${name}" gives this client`,
    );
  }
  const file = join(folder, entryOf(folder));
  try {
    return (await import(pathToFileURL(file).href)) as Record<string, unknown>;
  } catch (error) {
    // A test framework that runs modules in a context of its own may be able to require only.
    if (!isImportMissing(error)) throw error;
    return createRequire(join(folder, 'package.json'))(folder) as Record<string, unknown>;
  }
}

/** Its error may be of another context, in which `Error` is another class. */
function isImportMissing(error: unknown): boolean {
  return String((error as { code?: unknown } | null)?.code).startsWith('ERR_VM_DYNAMIC_IMPORT');
}

/** Above the working folder, above the script that runs, or beside this package. */
function packageFolder(name: string): string | undefined {
  const script = process.argv[1];
  const starts = [
    process.cwd(),
    ...(script === undefined ? [] : [dirname(resolve(script))]),
    dirname(fileURLToPath(import.meta.url)),
  ];
  for (const start of starts) {
    for (let folder = start; ; folder = dirname(folder)) {
      const found = join(folder, 'node_modules', name);
      if (existsSync(join(found, 'package.json'))) return found;
      if (folder === dirname(folder)) break;
    }
  }
  return undefined;
}

function entryOf(folder: string): string {
  const manifest: unknown = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'));
  const { exports, main } = manifest as { exports?: unknown; main?: unknown };
  return chosen(rootExport(exports)) ?? (typeof main === 'string' ? main : 'index.js');
}

/** `exports` may be the entry itself or hold it under `.`. */
function rootExport(exports: unknown): unknown {
  return typeof exports === 'object' && exports !== null && '.' in exports ? exports['.'] : exports;
}

function chosen(target: unknown): string | undefined {
  if (typeof target === 'string') return target;
  if (typeof target !== 'object' || target === null) return undefined;
  for (const [condition, inner] of Object.entries(target)) {
    const found = conditions.includes(condition) ? chosen(inner) : undefined;
    if (found !== undefined) return found;
  }
  return undefined;
}
