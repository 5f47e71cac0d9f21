/**
 * The program that tests start in processes of its own: this checkout's, or, where the runner has packed it for the
 * whole run (`scripts/test.ts`), what a package has, which loads in half the time.
 */
import { join, resolve } from 'node:path';

const packed = process.env.TEST_PROGRAM;

export const program = packed ?? resolve(import.meta.dirname, '../../bin/turnpike.js');

/** The module of `src/` that the package has as this file of `dist/`: of the package where it is packed. */
export function importOfProgram(name: 'main' | 'testing' | 'arlocal'): Promise<unknown> {
  if (packed !== undefined) return import(join(packed, '../../dist', `${name}.js`));
  return import(name === 'main' ? '../../src/cli/main.ts' : `../../src/kit/${name}.ts`);
}
