/** Seeds that once broke something, and what; each is a test. A change of the world's own code may give a seed another life. */
interface KeptSeed {
  readonly seed: number;
  readonly hours: number;
  /** The scenario. */
  readonly only: string;
  /** Names of the only faults that there are; undefined: the seed's own. */
  readonly faults?: readonly string[];
  readonly found: string;
}

export const keptSeeds: readonly KeptSeed[] = [
  {
    seed: 2,
    hours: 1,
    only: 'uploads',
    found: 'a bundle that was put off by a clock that was ahead waited until that time came',
  },
  {
    seed: 604_157_550,
    hours: 1,
    only: 'uploads',
    faults: ['empty wallet', 'hidden blobs'],
    found: 'an item was given up after one look, because its bundle had failed before',
  },
  {
    seed: 14_431,
    hours: 1,
    only: 'reading',
    faults: ['clock jump'],
    found:
      'a router took its own file for one of another hand after a clock was ahead, and blocked what was unblocked',
  },
  {
    seed: 512,
    hours: 2,
    only: 'reading',
    found:
      'a gateway said that it was not well after its database had been away, until the next bundle came; in a later life a router showed the text of a manifest of which gateways had told different types',
  },
  {
    seed: 700_002,
    hours: 2,
    only: 'reading',
    found: 'a name that was learnt by a clock ahead was fresh again when the time came that it had shown',
  },
  {
    seed: 2_137_379_720,
    hours: 1,
    only: 'reading',
    found: "a router told the length of a gateway's page for that of content, when asked by HEAD",
  },
  {
    seed: 5_049,
    hours: 1,
    only: 'upload-restores',
    found: 'after a restore items waited for a height that a node had made up',
  },
  {
    seed: 20_260_283,
    hours: 1,
    only: 'names',
    found:
      'an action was paid back though it had been sent since it was looked at; and locks left by a clock that was ahead kept others waiting for as long as it had been',
  },
  {
    seed: 30_000_204,
    hours: 1,
    only: 'uploads',
    found:
      'a bundle waited for a thousand blocks, because a node had made up its height when it gave the anchor',
  },
  {
    seed: 30_000_432,
    hours: 2,
    only: 'uploads',
    found:
      'items of a bundle that the chain had whole were paid for again, because bytes of one were lost here',
  },
  {
    seed: 40_001_016,
    hours: 1,
    only: 'payments',
    found:
      'credits of a card payment that had gone back as a whole stood, because some of them were being returned meanwhile',
  },
  {
    seed: 40_001_395,
    hours: 1,
    only: 'names',
    found:
      'a purchase was refused because another had made the list of its wallet, after a node had not known its block',
  },
  {
    seed: 80_000_527,
    hours: 1,
    only: 'uploads',
    found: 'a gateway served an upload whose bytes had rotted, and noted their hash for good',
  },
  {
    seed: 81_001_895,
    hours: 1,
    only: 'reading',
    found: "a router's blocklist was not read again after its database had been away, and said so for ever",
  },
  {
    seed: 81_004_912,
    hours: 1,
    only: 'restores',
    found: 'an upload in parts whose bytes were gone was tried again and again, for as long as it might live',
  },
  {
    seed: 82_000_002,
    hours: 1,
    only: 'upload-parts',
    found: 'an item of several blobs was given up because each of them had been missed a few times',
  },
  {
    seed: 82_000_035,
    hours: 1,
    only: 'upload-parts',
    found: 'an upload in parts was given up because each of its parts had been missed a few times',
  },
  {
    seed: 85_000_398,
    hours: 1,
    only: 'names',
    found:
      'a lease was paid for and not extended: a node that was behind showed what stood before the extension of a moment ago, whose effect then counted for both',
  },
  {
    seed: 86_002_234,
    hours: 1,
    only: 'reading',
    found:
      'a router told by HEAD the hash that one gateway made up, though the one that had the content denied it',
  },
  {
    seed: 86_003_400,
    hours: 1,
    only: 'names',
    found: 'a card paid for a name that another had bought for the same token, and the registry got nothing',
  },
  {
    seed: 86_004_294,
    hours: 1,
    only: 'reading',
    found: 'a gateway said that it did not get on when a block came after eight minutes without one',
  },
  {
    seed: 86_007_344,
    hours: 1,
    only: 'reading',
    found:
      'a transaction that was missing in its block and had been read since was shown as waiting, for up to an hour',
  },
  {
    seed: 86_050_097,
    hours: 1,
    only: 'reading',
    found:
      'a gateway was to say that no node answers half a minute after one was back, which was the mistake of the world',
  },
  {
    seed: 86_053_423,
    hours: 1,
    only: 'payments',
    found:
      'a return was left to a person after half an hour, because two clocks had used up its tries at once',
  },
  {
    seed: 517,
    hours: 1,
    only: 'upload-parts',
    faults: ['wrong clock', 'hidden blobs'],
    found:
      'an upload in parts was given up after its bytes were away for seconds, because two clocks had used up its tries at once',
  },
];
