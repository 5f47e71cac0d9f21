/** Reads a manifest without blocking the event loop: after each step other work has its turn. */
import { setImmediate as yieldToOthers } from 'node:timers/promises';
import type { Manifest } from './manifest.ts';
import { ManifestReader } from './reader.ts';

/** Some milliseconds' worth. */
const stepBytes = 512 * 1024;

export async function readManifestInSteps(
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<Manifest | undefined> {
  const reader = new ManifestReader();
  let sinceYield = 0;
  for await (const piece of pieces) {
    for (let at = 0; at < piece.length; at += stepBytes) {
      const step = piece.subarray(at, at + stepBytes);
      if (!reader.write(step)) return undefined;
      sinceYield += step.length;
      if (sinceYield < stepBytes) continue;
      sinceYield = 0;
      await yieldToOthers();
    }
  }
  return reader.end();
}
