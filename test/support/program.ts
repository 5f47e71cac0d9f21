/**
 * The program that tests start in processes of its own: this checkout's, or, where the runner has packed it for the
 * whole run (`scripts/test.ts`), what a package has, which loads in half the time.
 */
import { resolve } from 'node:path';

export const program = process.env.TEST_PROGRAM ?? resolve(import.meta.dirname, '../../bin/turnpike.js');
