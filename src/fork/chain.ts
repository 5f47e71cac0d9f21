/** Another chain of Arweave, as its parts read it. */
import type { ForkedAnswers } from './answers.ts';
import type { ForkedContent } from './content.ts';
import type { ForkedNames } from './names.ts';
import type { ForkedTransactions } from './transactions.ts';

/** What is read by ids of Arweave. */
export interface ForkedChain {
  /** Where it is, for people. */
  readonly shown: string;
  readonly transactions: ForkedTransactions;
  readonly content: ForkedContent;
  readonly answers: ForkedAnswers;
  /** Undefined where accounts are forked: names are among them. */
  readonly names: ForkedNames | undefined;
}
