/**
 * Odd bundles are read here as the reference library reads them, item by item; where not, `differences` says why. What
 * the reference made of each is kept in test/support/odd-bundles/kept.txt, for tests without it: KEEP_ODD_BUNDLES=1
 * writes the file anew.
 */
import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { Bundle, type DataItem } from '@dha-team/arbundles/node';
import { type OddBundle, oddBundles } from '../support/odd-bundles/cases.ts';
import { fingerprint, keptFingerprints, keptPath, keptText } from '../support/odd-bundles/kept.ts';
import { eachOnce, type FoundItem, type Reading } from '../support/odd-bundles/reading.ts';

async function referenceReading({ bytes }: OddBundle): Promise<Reading> {
  let items: readonly DataItem[];
  try {
    items = new Bundle(Buffer.from(bytes)).items;
  } catch {
    return 'no bundle';
  }
  const found: FoundItem[] = [];
  for (const item of items) {
    const isValid = await item.isValid().catch(() => false);
    if (!isValid) continue;
    found.push({
      id: item.id,
      tags: item.tags.map(({ name, value }) => [name, value] as const),
      payload: hash('sha256', item.rawData, 'base64url'),
    });
  }
  return eachOnce(found);
}

test('the reference reads every odd bundle as it did when its readings were kept', async () => {
  const cases = await oddBundles();
  const readings: Reading[] = [];
  for (const odd of cases) readings.push(await referenceReading(odd));
  if (process.env.KEEP_ODD_BUNDLES === '1') writeFileSync(keptPath, keptText(cases, readings));
  assert.deepEqual(
    readings.map((reading) => fingerprint(reading)),
    keptFingerprints(cases),
  );
});
