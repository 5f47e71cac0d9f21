/** Seeds that once broke something, and what; each is a test. A change of the world's own code may give a seed another life. */
interface KeptSeed {
  readonly seed: number;
  readonly hours: number;
  /** The scenario. */
  readonly only: string;
  readonly found: string;
}

export const keptSeeds: readonly KeptSeed[] = [
  {
    seed: 2,
    hours: 12,
    only: 'uploads',
    found: 'a bundle that was put off by a clock that was ahead waited until that time came',
  },
];
