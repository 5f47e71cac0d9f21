/** The thread that reads a large database file for `integrity.ts`. */
import { parentPort, workerData } from 'node:worker_threads';
import { checkIntegrity } from './integrity-check.ts';

parentPort?.postMessage(checkIntegrity(String(workerData)));
