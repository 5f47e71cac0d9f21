/** What may go wrong around uploads: stored bytes, and the nodes of the chain. Each leaves one honest way to find out the truth. */
import type { ArweaveNetwork } from '../arweave.ts';
import type { SimulatedBlobs } from '../blobs.ts';
import { changesOf, skewed } from '../faults.ts';
import type { Fault } from '../scenario.ts';

const second = 1_000;
const minute = 60 * second;
const usuallySlowest = 10;

/** `spoiled` is told of blobs that nobody can read any more: their items may be given up. */
export function blobFaults(blobs: SimulatedBlobs, spoiled: (digest: string) => void): Fault[] {
  return [
    {
      name: 'store away',
      longest: 20 * minute,
      begin() {
        if (blobs.isDown) return undefined;
        blobs.isDown = true;
        return {
          what: 'the store of blobs is away',
          end: () => {
            blobs.isDown = false;
          },
        };
      },
    },
    {
      name: 'slow store',
      longest: 20 * minute,
      begin(random) {
        if (blobs.slowest > usuallySlowest) return undefined;
        blobs.slowest = skewed(random, 100, 20 * second);
        return {
          what: 'the store of blobs is slow',
          end: () => {
            blobs.slowest = usuallySlowest;
          },
        };
      },
    },
    {
      // Each blob once, and shorter than the time in which bytes that are not found again and again count as lost.
      name: 'hidden blobs',
      longest: 4 * minute,
      begin(random) {
        const hidden = blobs.neverMissed.filter(() => random.below(2) === 0);
        if (hidden.length === 0) return undefined;
        for (const digest of hidden) blobs.hide(digest);
        return {
          what: `the store does not find ${hidden.length} blobs`,
          end: () => {
            for (const digest of hidden) blobs.show(digest);
          },
        };
      },
    },
    {
      name: 'missed blobs',
      longest: 0,
      begin(random) {
        const fresh = blobs.neverMissed.slice(-3);
        if (fresh.length === 0) return undefined;
        const looks = random.between(1, 3);
        for (const digest of fresh) blobs.hide(digest, looks);
        return { what: `the store will not find ${fresh.length} blobs at the next ${looks} looks` };
      },
    },
    {
      name: 'spoiled blob',
      longest: 0,
      begin(random) {
        const { digests } = blobs;
        // Most are on the chain by now: what is spoiled before it gets there is lost.
        const digest = digests[digests.length - 1 - Math.floor(skewed(random, 0, digests.length))];
        if (digest === undefined) return undefined;
        const how = random.pick(['flip', 'tear', 'lose'] as const);
        spoiled(digest);
        if (how === 'lose') blobs.lose(digest);
        else blobs.spoil(digest, how);
        return { what: `blob ${digest.slice(0, 8)} is spoiled (${how})` };
      },
    },
  ];
}

export function nodeFaults(arweave: ArweaveNetwork, wallet: string): Fault[] {
  const { nodes, pace } = arweave;
  const change = changesOf(nodes);
  return [
    change(
      'node down',
      240 * minute,
      'is down',
      (node) => node.down(),
      (node) => {
        if (!node.isUp) node.up();
      },
    ),
    change(
      'node alone',
      // No fork may be as deep as what counts as permanent.
      6 * minute * pace,
      'hears no other node',
      (node) => {
        node.isAlone = true;
      },
      (node) => {
        node.isAlone = false;
      },
    ),
    change(
      'node lacks headers',
      360 * minute,
      'knows no transaction of its blocks',
      (node) => {
        node.lacksHeaders = true;
      },
      (node) => {
        node.lacksHeaders = false;
      },
      nodes.length - 1,
    ),
    change(
      'node lies about its height',
      40 * minute,
      'says to be a thousand blocks higher',
      (node) => {
        node.heightLie = 1_000;
      },
      (node) => {
        node.heightLie = 0;
      },
      1,
    ),
    change(
      'node spoils chunks',
      40 * minute,
      'gives out wrong chunks',
      (node) => {
        node.spoilsChunks = true;
      },
      (node) => {
        node.spoilsChunks = false;
      },
    ),
    change(
      'node refuses',
      40 * minute,
      'takes no transaction',
      (node) => {
        node.refuses = true;
      },
      (node) => {
        node.refuses = false;
      },
    ),
    {
      name: 'forgotten mempool',
      longest: 0,
      begin(random) {
        const all = random.below(2) === 0;
        const forgetful = all ? nodes : [random.pick(nodes)];
        for (const node of forgetful) node.forgetMempool();
        return { what: `${all ? 'all nodes' : forgetful[0]?.process.name} forgot what waits to be mined` };
      },
    },
    {
      name: 'forgotten chunks',
      longest: 0,
      begin(random) {
        const node = random.pick(nodes);
        const lost = node.forgetChunks(random);
        return lost.length === 0
          ? undefined
          : { what: `${node.process.name} lost chunks of ${lost.length} bundles` };
      },
    },
    {
      name: 'empty wallet',
      longest: 120 * minute,
      begin() {
        const funds = arweave.funds.get(wallet) ?? 0n;
        if (funds === 0n) return undefined;
        arweave.funds.set(wallet, 0n);
        return {
          what: 'the wallet that pays for bundles is empty',
          end: () => arweave.funds.set(wallet, funds),
        };
      },
    },
  ];
}
