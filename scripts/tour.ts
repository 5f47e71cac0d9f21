/** `npm run tour`: walks the whole road on a fresh stack and prints each step as a person would read it. */
import { installClients } from '../test/support/install-clients.ts';

installClients();
const started = performance.now();
// By address: the clients it imports are installed only now, and types are checked without them.
const { tour } = (await import(new URL('../test/clients/tour.ts', import.meta.url).href)) as {
  tour: (print: (line: string) => void) => Promise<void>;
};
await tour((line) => console.log(line));
console.log(`\nThe whole road in ${((performance.now() - started) / 1000).toFixed(1)} s.`);
process.exit(0);
