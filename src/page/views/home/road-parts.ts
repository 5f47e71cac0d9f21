/** The parts of the road in the order in which things pass them, and how each of them stands. */
import type { ConsoleSettings, LiveState, ServiceName } from '../../../console/api.ts';
import { formatCount, formatCredits } from '../../kit/format.ts';
import type { Tone } from '../../kit/tone.ts';
import { texts } from '../../texts.ts';

const words = texts.home.road;

export type PartId = keyof typeof words.parts;

export interface RoadPart {
  readonly id: PartId;
  readonly label: string;
  readonly href: string;
  readonly tone: Tone;
  /** In a word or two. */
  readonly state: string;
  readonly what: string;
  /** Why it is not well. */
  readonly problem?: string | undefined;
}

interface Known {
  readonly settings: Pick<ConsoleSettings, 'services' | 'controlsLocalNetwork'>;
  /** Undefined until it is known. */
  readonly live: LiveState | undefined;
  /** As people call the one in use. */
  readonly wallet: string | undefined;
}

interface Place {
  readonly id: PartId;
  readonly href: string;
  /** Whose state it is; absent for parts that are no service. */
  readonly service?: ServiceName;
  /** In place of "Running". */
  readonly figure?: (live: LiveState) => string | undefined;
}

const count = (value: number | undefined, text: (count: string) => string): string | undefined =>
  value === undefined ? undefined : text(formatCount(value));

const places: readonly Place[] = [
  { id: 'wallet', href: '/wallet' },
  { id: 'card', href: '/wallet/top-up', service: 'card' },
  { id: 'x402', href: '/wallet/top-up', service: 'x402' },
  {
    id: 'payment',
    href: '/wallet/top-up',
    service: 'payment',
    figure: ({ creditsSold }) =>
      creditsSold === undefined ? undefined : words.sold(formatCredits(BigInt(creditsSold))),
  },
  {
    id: 'upload',
    href: '/upload',
    service: 'upload',
    figure: (live) => count(live.waitingItems, words.waitingItems),
  },
  {
    id: 'bundle',
    href: '/operator/bundler',
    service: 'upload',
    figure: (live) => count(live.waitingBundles, words.waitingBundles),
  },
  { id: 'chain', href: '/explorer', service: 'arweave', figure: (live) => count(live.height, words.height) },
  { id: 'names', href: '/names', service: 'payment', figure: (live) => count(live.names, words.registered) },
  { id: 'gateway', href: '/explorer', service: 'gateway' },
  {
    id: 'router',
    href: '/operator/router',
    service: 'router',
    figure: (live) =>
      count(live.readsPerSecond === undefined ? undefined : Math.round(live.readsPerSecond), words.reads),
  },
  { id: 'reader', href: '/explorer' },
];

export function roadParts({ settings, live, wallet }: Known): RoadPart[] {
  return places.map(({ id, href, service, figure }) => {
    const part = { id, label: words.parts[id], href, what: words.what[id] };
    if (id === 'wallet') {
      return wallet === undefined
        ? { ...part, tone: 'info', state: words.noWallet }
        : { ...part, tone: 'good', state: wallet };
    }
    if (service === undefined) return { ...part, tone: 'neutral', state: words.anybody };
    const told = live?.services[service];
    // A chain that is not ours is known by what the gateway tells of it.
    const isSeen = id === 'chain' && live?.height !== undefined;
    if (settings.services[service] === undefined && !isSeen)
      return { ...part, tone: 'neutral', state: words.elsewhere };
    if (live === undefined) return { ...part, tone: 'neutral', state: words.asking };
    if (told !== undefined && !told.up) {
      return { ...part, tone: 'bad', state: words.down, problem: told.problems[0] ?? words.downHint };
    }
    const state = figure?.(live) ?? words.up;
    const problem = told?.problems[0];
    if (problem !== undefined) return { ...part, tone: 'warn', state: words.unwell, problem };
    return { ...part, tone: 'good', state };
  });
}
