import type { LocalNode } from './chain/local-node.ts';

/** A block, as readers know it. */
export interface ChainHead {
  readonly height: number;
  readonly id: string;
}

/** Who reads this chain in the same process. */
export interface ChainReaders {
  /** Resolves when they have this block and what is in it, or do not get it in time. */
  mined(head: ChainHead): Promise<void>;
  /** Resolves when they know a transaction that was accepted, by its JSON; it waits to be mined. */
  accepted(transaction: unknown): Promise<void>;
}

export const nobody: ChainReaders = { mined: async () => {}, accepted: async () => {} };

export const headOf = ({ head }: LocalNode): ChainHead => ({ height: head.height, id: head.indep_hash });
