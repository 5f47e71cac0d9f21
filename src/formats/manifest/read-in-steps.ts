/** A manifest read without holding up everybody else: after each step others have their turn. */
import { setImmediate as others } from 'node:timers/promises';
import type { Manifest } from './manifest.ts';
import { ManifestReader } from './reader.ts';

/** Some milliseconds' worth. */
const stepBytes = 512 * 1024;

export async function readManifestInSteps(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<Manifest | undefined> {
  const reader = new ManifestReader();
  let sinceOthers = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += stepBytes) {
      const step = piece.subarray(at, at + stepBytes);
      if (!reader.write(step)) return undefined;
      sinceOthers += step.length;
      if (sinceOthers < stepBytes) continue;
      sinceOthers = 0;
      await others();
    }
  }
  return reader.end();
}
