/**
 * The chain's height as a node last said it. Taking an item in never waits for the chain: the deadline in a receipt
 * counts from the last known height, and only a height that is hours old is no longer good enough.
 */
import { createJob, type Job } from '../../kernel/background/job.ts';
import type { Logger } from '../../kernel/log.ts';
import type { ArweaveNodes } from '../../outside/arweave/nodes.ts';

const refreshMs = 15_000;
const usableMs = 3 * 60 * 60 * 1_000;
/** Longer than it takes to start a node again. */
const toldAfterMs = 5 * 60 * 1_000;

export interface ChainHead {
  /** The last known height, or undefined when it is unknown or too old. */
  readonly height: number | undefined;
  /** Asks now. Does not fail: the height of before stays. */
  refresh(): Promise<void>;
  /** That no node tells it, once that has gone on for a while or nothing is known at all. */
  problems(): readonly string[];
  readonly refreshing: Job;
}

export function createChainHead(
  nodes: Pick<ArweaveNodes, 'height'>,
  log: Logger,
  now: () => number,
): ChainHead {
  let height: number | undefined;
  let heightAt = 0;
  let isSilent = false;
  async function refresh(): Promise<void> {
    try {
      height = await nodes.height();
      heightAt = now();
      isSilent = false;
    } catch (error) {
      isSilent = true;
      log.warn({ err: error }, 'no Arweave node says the height');
    }
  }
  return {
    get height() {
      return now() - heightAt < usableMs ? height : undefined;
    },
    refresh,
    problems: () =>
      isSilent && now() - heightAt > toldAfterMs ? ['No Arweave node tells the height of the chain.'] : [],
    refreshing: createJob({ name: 'chain height', everyMs: refreshMs, log, run: refresh }),
  };
}
