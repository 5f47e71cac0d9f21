/** A bundler in a process of its own, which begins when it is told to: `node bundling.server.ts <folder> <store> <node> <items>`. */
import { openBundling } from './bundling.ts';
import { reportServer } from './report-server.ts';

const [folder = '', store = '', node = '', maxItems = '1'] = process.argv.slice(2);
const { bundler } = await openBundling({ folder, store, node, maxItems: Number(maxItems) });
process.on('message', (message) => {
  if (message === 'begin') bundler.start();
});
process.on('disconnect', () => process.exit());
reportServer('');
