/** The chain's formats beside arweave-js. */
import merkle from 'arweave/node/lib/merkle.js';
import { DataRootBuilder } from '../src/formats/arweave/data-root.ts';
import type { Bench } from './bench.ts';

const MiB = 1_024 * 1_024;
const pieceBytes = 64 * 1_024;

/** CPU seconds, which other load on the machine hardly moves. */
async function cpuSeconds(work: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  await work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** Streams `size` bytes in the pieces a socket gives; answers the most memory above the start. */
function streamDataRoot(size: number): number {
  const piece = Buffer.alloc(pieceBytes, 7);
  const before = process.memoryUsage.rss();
  let most = before;
  const builder = new DataRootBuilder();
  for (let sent = 0; sent < size; sent += pieceBytes) {
    builder.update(piece);
    if (sent % (4 * MiB) === 0) most = Math.max(most, process.memoryUsage.rss());
  }
  builder.finish();
  return Math.max(most, process.memoryUsage.rss()) - before;
}

const arweaveSeconds = (size: number): Promise<number> => {
  const data = new Uint8Array(size).fill(7);
  return cpuSeconds(() => merkle.computeRootHash(data));
};

const dataRoot: Bench = {
  name: 'formats/data-root',
  async run() {
    // The first pass warms up the compiler and the allocator.
    streamDataRoot(16 * MiB);
    let memory = 0;
    const ours = await cpuSeconds(() => {
      memory = streamDataRoot(128 * MiB);
    });
    // arweave-js copies the rest of the data for each chunk: t(n) = a·n + b·n², fitted on 16 and 48 MiB.
    const small = Math.min(await arweaveSeconds(16 * MiB), await arweaveSeconds(16 * MiB));
    const large = await arweaveSeconds(48 * MiB);
    const square = (large - 3 * small) / 6;
    const theirs = square > 0 ? 8 * (small - square) + 64 * square : (8 / 3) * large;
    return [
      {
        name: '128 MiB, streamed in 64 KiB pieces',
        value: 128 / ours,
        unit: 'MiB/cpu-s',
        yardstick: 'arweave-js',
        ratio: theirs / ours,
        bar: 100,
        note: `it took ${small.toFixed(2)} s for 16 MiB, ${large.toFixed(2)} s for 48; 128 MiB extrapolated: ${theirs.toFixed(1)} s`,
      },
      {
        name: 'memory above baseline while hashing 128 MiB',
        value: memory / MiB,
        unit: 'MiB',
        yardstick: '32 MiB',
        ratio: (32 * MiB) / Math.max(memory, MiB / 4),
        bar: 1,
      },
    ];
  },
};

export const benches: Bench[] = [dataRoot];
