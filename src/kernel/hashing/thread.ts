/** The program of a hashing thread: the digest of what comes through the ring, one stream after the other. */
import { createHash } from 'node:crypto';
import { workerData } from 'node:worker_threads';
import { endOfData, leave, ringOf, slotBytes, slotCount, startAgain } from './ring.ts';

const { memory, algorithm }: { memory: SharedArrayBuffer; algorithm: string } = workerData;
const ring = ringOf(memory);
let hash = createHash(algorithm);

for (let next = 0; ; next++) {
  while (Atomics.load(ring.filled, 0) === next) Atomics.wait(ring.filled, 0, next);
  const slot = next % slotCount;
  const length = Atomics.load(ring.lengths, slot);
  if (length === leave) break;
  if (length > 0) {
    hash.update(ring.slots.subarray(slot * slotBytes, slot * slotBytes + length));
  } else {
    if (length === endOfData) {
      ring.digest.set(hash.digest());
      Atomics.add(ring.digests, 0, 1);
      Atomics.notify(ring.digests, 0);
    }
    if (length === endOfData || length === startAgain) hash = createHash(algorithm);
  }
  Atomics.store(ring.hashed, 0, next + 1);
  Atomics.notify(ring.hashed, 0);
}
