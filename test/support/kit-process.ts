/** A test run in miniature: starts a network, tells where it is, and ends without stopping it, or waits to be killed. */
import { startTurnpike } from '../../src/kit/testing.ts';

const turnpike = await startTurnpike({
  surfaces: ['gateway'],
  run: process.argv[3] === 'thread' ? 'thread' : 'process',
});
console.log(JSON.stringify({ url: turnpike.url, dataDir: turnpike.dataDir }));
if (process.argv[2] === 'wait') setInterval(() => {}, 60_000);
