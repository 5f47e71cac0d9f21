/** `npm run tour`: walks the whole road on a fresh stack and prints each step as a person would read it. */
import { installClients } from '../test/support/install-clients.ts';

installClients();
const started = performance.now();
const { tour } = (await import('../test/clients/tour.ts')) as {
  tour: (print: (line: string) => void) => Promise<void>;
};
await tour((line) => console.log(line));
console.log(`\nThe whole road in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
process.exit(0);
