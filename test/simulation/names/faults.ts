/** What may go wrong with the nodes of Solana. Of what is on the chain, one node at least still knows. */
import type { SolanaAddress } from '../../../src/formats/solana/address.ts';
import { changesOf, skewed } from '../faults.ts';
import type { Fault } from '../scenario.ts';
import type { SolanaNetwork } from '../solana.ts';

const second = 1_000;
const minute = 60 * second;

/** `service`: the key that pays for names. */
export function solanaFaults(solana: SolanaNetwork, service: SolanaAddress): Fault[] {
  const { nodes, traffic } = solana;
  const change = changesOf(nodes);
  return [
    change(
      'solana node behind',
      30 * minute,
      'falls behind',
      (node, random) => {
        node.behindMs = skewed(random, second, 15 * minute);
      },
      (node) => {
        node.behindMs = node.usuallyBehindMs;
      },
    ),
    change(
      'solana node down',
      30 * minute,
      'is down',
      (node) => node.process.kill(),
      (node) => node.up(),
    ),
    change(
      'solana node loses transactions',
      30 * minute,
      'loses what it is sent',
      (node) => {
        node.loses = true;
      },
      (node) => {
        node.loses = false;
      },
    ),
    change(
      'solana node forgets',
      60 * minute,
      'forgets old transactions',
      (node) => {
        node.remembers = 150;
      },
      (node) => {
        node.remembers = Number.POSITIVE_INFINITY;
      },
      nodes.length - 1,
    ),
    change(
      'solana node refuses',
      20 * minute,
      'has too much to do',
      (node, random) => {
        // Most refuse some of what they are asked, a few all of it.
        node.refuses = Math.min(1, 0.2 + skewed(random, second, minute) / minute);
      },
      (node) => {
        node.refuses = 0;
      },
    ),
    {
      // All of them answer now and then only, so that one question goes to one node and the next to another; one is behind.
      name: 'solana overloaded',
      longest: 40 * minute,
      begin(random) {
        const late = random.pick(nodes);
        if (nodes.some(({ refuses }) => refuses > 0) || late.behindMs !== late.usuallyBehindMs)
          return undefined;
        late.behindMs = skewed(random, minute, 15 * minute);
        for (const node of nodes) node.refuses = 0.1 + 0.4 * random.fraction();
        return {
          what: `all nodes have too much to do, and ${late.process.name} falls behind`,
          end() {
            late.behindMs = late.usuallyBehindMs;
            for (const node of nodes) node.refuses = 0;
          },
        };
      },
    },
    {
      name: 'empty names wallet',
      longest: 60 * minute,
      begin() {
        const { accounts } = solana.ledger;
        const { lamports } = accounts.get(service);
        if (lamports === 0n) return undefined;
        const change = (by: bigint) => {
          const account = accounts.get(service);
          solana.write(new Map([[service, { ...account, lamports: account.lamports + by }]]));
        };
        change(-lamports);
        return { what: 'the key that pays for names has no SOL', end: () => change(lamports) };
      },
    },
    {
      name: 'solana congested',
      longest: 40 * minute,
      begin(random) {
        if (traffic.lost > 0) return undefined;
        traffic.lost = 0.1 + 0.8 * random.fraction();
        traffic.longestMs = skewed(random, 2 * second, 100 * second);
        return {
          what: 'the chain is congested: transactions are lost and late',
          end() {
            traffic.lost = 0;
            traffic.longestMs = second;
          },
        };
      },
    },
  ];
}
