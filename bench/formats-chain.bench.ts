/** The chain's formats beside arweave-js. */
import merkle from 'arweave/node/lib/merkle.js';
import { DataRootBuilder } from '../src/formats/arweave/data-root.ts';
import type { Bench } from './bench.ts';

const MiB = 1_024 * 1_024;
const pieceBytes = 64 * 1_024;

/** Streams `size` bytes in the pieces a socket gives; answers seconds and the most memory above the start. */
function streamDataRoot(size: number): { seconds: number; memory: number } {
  const piece = Buffer.alloc(pieceBytes, 7);
  const before = process.memoryUsage.rss();
  let most = before;
  const started = performance.now();
  const builder = new DataRootBuilder();
  for (let sent = 0; sent < size; sent += pieceBytes) {
    builder.update(piece);
    if (sent % (4 * MiB) === 0) most = Math.max(most, process.memoryUsage.rss());
  }
  builder.finish();
  const seconds = (performance.now() - started) / 1_000;
  return { seconds, memory: Math.max(most, process.memoryUsage.rss()) - before };
}

async function arweaveSeconds(size: number): Promise<number> {
  const data = new Uint8Array(size).fill(7);
  const started = performance.now();
  await merkle.computeRootHash(data);
  return (performance.now() - started) / 1_000;
}

const dataRoot: Bench = {
  name: 'formats/data-root',
  async run() {
    // The first pass warms up the compiler and the allocator.
    streamDataRoot(16 * MiB);
    const ours = streamDataRoot(128 * MiB);
    // arweave-js copies the rest of the data for each chunk: t(n) = a·n + b·n², fitted on two sizes.
    const [small, large] = [await arweaveSeconds(16 * MiB), await arweaveSeconds(32 * MiB)];
    const square = (large - 2 * small) / 2;
    const theirs = square > 0 ? 8 * (small - square) + 64 * square : 4 * large;
    return [
      {
        name: '128 MiB, streamed in 64 KiB pieces',
        value: 128 / ours.seconds,
        unit: 'MiB/s',
        yardstick: 'arweave-js',
        ratio: theirs / ours.seconds,
        bar: 100,
        note: `it took ${small.toFixed(2)} s for 16 MiB and ${large.toFixed(2)} s for 32 MiB; 128 MiB extrapolated: ${theirs.toFixed(1)} s`,
      },
      {
        name: 'memory above baseline while hashing 128 MiB',
        value: ours.memory / MiB,
        unit: 'MiB',
        yardstick: '32 MiB',
        ratio: (32 * MiB) / Math.max(ours.memory, MiB / 4),
        bar: 1,
      },
    ];
  },
};

export const benches: Bench[] = [dataRoot];
