/**
 * What the reference library made of each odd bundle, for tests that run without it: a line for each, with a digest of
 * the bundle and one of every item that it read, or `no bundle`.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { OddBundle } from './cases.ts';
import type { Reading } from './reading.ts';

export const keptPath = join(import.meta.dirname, 'kept.txt');

const short = (bytes: string | Buffer): string => hash('sha256', bytes, 'base64url').slice(0, 16);

export function fingerprint(reading: Reading): string {
  if (reading === 'no bundle') return reading;
  return reading.map((item) => short(JSON.stringify([item.id, item.tags, item.payload]))).join(' ');
}

export function keptText(cases: readonly OddBundle[], readings: readonly Reading[]): string {
  const lines = cases.map(({ kind, bytes }, at) =>
    [kind, short(bytes), fingerprint(readings[at] ?? 'no bundle')].join('\t'),
  );
  return `${lines.join('\n')}\n`;
}

/** In the order of the cases, which must be those that were kept. */
export function keptFingerprints(cases: readonly OddBundle[]): string[] {
  const lines = readFileSync(keptPath, 'utf8').trimEnd().split('\n');
  assert.equal(lines.length, cases.length, 'the cases are others than were kept: KEEP_ODD_BUNDLES=1');
  return lines.map((line, at) => {
    const [kind, digest, found = ''] = line.split('\t');
    const odd = cases[at];
    assert.deepEqual([kind, digest], [odd?.kind, short(odd?.bytes ?? '')], 'a case is another than was kept');
    return found;
  });
}
