/** Seeds that once broke something, and what; each is a test. A change of the world's own code may give a seed another life. */
export const keptSeeds: readonly {
  readonly seed: number;
  readonly hours: number;
  /** Those that took part. */
  readonly scenarios: readonly string[];
  readonly found: string;
}[] = [
  {
    seed: 2,
    hours: 12,
    scenarios: ['uploads'],
    found: 'a bundle that was put off by a clock that was ahead waited until that time came',
  },
];
