/** What may go wrong around readers: other people's gateways, the registry, and answers that break off. */
import { changesOf } from '../faults.ts';
import type { Network } from '../network.ts';
import type { Fault, Server } from '../scenario.ts';
import type { ForeignGateway, Lie } from './foreign-gateway.ts';
import type { Registry } from './registry.ts';

const minute = 60_000;

/** What each does, in words; of those that would prove each other right, one at a time. */
const lies: readonly { readonly lie: Lie; readonly what: string; readonly most?: number }[] = [
  { lie: 'bytes', what: 'sends other bytes' },
  { lie: 'digest', what: 'tells other hashes' },
  { lie: 'type', what: 'says that everything is a page', most: 1 },
  { lie: 'shorter', what: 'leaves the last byte out', most: 1 },
  { lie: 'longer', what: 'adds a byte', most: 1 },
  { lie: 'page', what: 'answers with a page that it is busy' },
  { lie: 'fields', what: 'tells fields that nobody signed', most: 1 },
  { lie: 'places', what: 'says that items lie elsewhere', most: 1 },
  { lie: 'absent', what: 'does not have what it has' },
  { lie: 'errors', what: 'fails again and again' },
  { lie: 'stall', what: 'stops in the middle' },
  { lie: 'break', what: 'breaks off in the middle' },
  { lie: 'slow', what: 'sends slowly' },
  { lie: 'cut', what: 'leaves the end out' },
];

export function foreignFaults(gateways: readonly ForeignGateway[]): Fault[] {
  const change = changesOf(gateways);
  return [
    ...lies.map(({ lie, what, most }) =>
      change(
        `foreign gateway: ${lie}`,
        90 * minute,
        what,
        (gateway) => void gateway.lies.add(lie),
        (gateway) => void gateway.lies.delete(lie),
        most,
      ),
    ),
    change(
      'foreign gateway: names',
      90 * minute,
      'says that names point elsewhere',
      (gateway) => {
        gateway.liesAboutNames = true;
      },
      (gateway) => {
        gateway.liesAboutNames = false;
      },
      1,
    ),
    change(
      'foreign gateway down',
      120 * minute,
      'is down',
      (gateway) => gateway.process.kill(),
      (gateway) => gateway.up(),
    ),
  ];
}

export function registryFaults(registry: Registry): Fault[] {
  return [
    {
      name: 'registry away',
      longest: 60 * minute,
      begin() {
        if (registry.isDown) return undefined;
        registry.isDown = true;
        return {
          what: 'nobody can ask the registry of names',
          end: () => {
            registry.isDown = false;
          },
        };
      },
    },
  ];
}

export function tornAnswers(
  network: Network,
  origins: readonly string[],
  servers: readonly Server[],
): Fault[] {
  return [
    {
      name: 'torn answers',
      longest: 40 * minute,
      begin(random) {
        const origin = random.pick(origins);
        const from = random.below(2) === 0 ? '' : random.pick(servers).process.name;
        const weather = network.weather(origin, from);
        if (weather.tear > 0) return undefined;
        weather.tear = 0.6 * random.fraction();
        return {
          what: `answers of ${origin} to ${from || 'everybody'} break off in the middle`,
          end: () => {
            weather.tear = 0;
          },
        };
      },
    },
  ];
}
