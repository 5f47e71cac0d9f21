/** Who reads this chain in the same process. */
export interface ChainReaders {
  /** Resolves when they have this block and what is in it, or do not get it in time. */
  mined(head: { readonly height: number; readonly id: string }): Promise<void>;
  /** Resolves when they know a transaction that was accepted, by its JSON; it waits to be mined. */
  accepted(transaction: unknown): Promise<void>;
}

export const nobody: ChainReaders = { mined: async () => {}, accepted: async () => {} };
