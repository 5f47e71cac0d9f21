/** All the looks, from the settings to what a reader gets. What rests on something that is wrong is not looked at. */
import { messageOf } from '../../kernel/errors.ts';
import { lookAtDatabases } from './databases.ts';
import { type Finding, isWrong, type NamedFinding, skipped, wrong } from './finding.ts';
import { lookAtCertificates, lookAtNames } from './hosts.ts';
import { lookAtClock, lookAtDisk, lookAtObjectStore } from './machine.ts';
import type { Patient } from './patient.ts';
import { lookAtProxy } from './proxy.ts';
import { lookAtContent } from './reading.ts';
import { lookAtServices } from './services.ts';
import { lookAtOutside, lookAtSettings } from './settings.ts';

interface Check {
  readonly name: string;
  look(patient: Patient): Promise<Finding[]>;
  /** Checks that must be well before this one makes sense. */
  readonly after?: readonly string[];
}

const checks: readonly Check[] = [
  { name: 'settings', look: lookAtSettings },
  { name: 'outside', look: lookAtOutside },
  { name: 'clock', look: lookAtClock },
  { name: 'disk', look: lookAtDisk },
  { name: 'database', look: lookAtDatabases },
  { name: 'object store', look: lookAtObjectStore },
  { name: 'services', look: lookAtServices },
  { name: 'dns', look: lookAtNames },
  { name: 'certificate', look: lookAtCertificates },
  { name: 'proxy', look: lookAtProxy, after: ['dns', 'certificate'] },
  { name: 'content', look: lookAtContent, after: ['dns', 'certificate', 'proxy'] },
];

/** In the order of the checks. */
export async function examine(patient: Patient): Promise<NamedFinding[]> {
  const results = new Map<string, Promise<Finding[]>>();
  for (const check of checks) results.set(check.name, lookInTurn(check, patient, results));
  const found = await Promise.all(
    checks.map(async ({ name }) => ((await results.get(name)) ?? []).map((one) => ({ check: name, ...one }))),
  );
  return found.flat();
}

async function lookInTurn(
  { name, look, after = [] }: Check,
  patient: Patient,
  results: ReadonlyMap<string, Promise<Finding[]>>,
): Promise<Finding[]> {
  for (const before of after) {
    const found = (await results.get(before)) ?? [];
    if (found.some(isWrong)) return [skipped(`not looked at before the ${before} is mended`)];
  }
  try {
    return await look(patient);
  } catch (error) {
    return [
      wrong(
        `the ${name} could not be looked at: ${messageOf(error)}`,
        'see what is said above, and try again',
      ),
    ];
  }
}
