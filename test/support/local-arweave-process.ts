/** A local Arweave node in a process of its own, to be killed: `node local-arweave-process.ts <folder>`. */
import { startLocalArweave } from './local-arweave.ts';

const running = await startLocalArweave({
  dataDir: process.argv[2] ?? '',
  blockIntervalMs: 4,
  confirmBlocks: 2,
});
console.log(running.client.url);
