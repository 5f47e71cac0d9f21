/** Every mend that keeps somebody's credits, names or history: how to take it out, and which test then fails. */

export interface Mend {
  /** What a stranger could do without it. */
  readonly what: string;
  readonly undo: readonly {
    /** From the root of the repository. */
    readonly file: string;
    /** Occurs exactly once. */
    readonly find: string;
    readonly put: string;
  }[];
  readonly fails: Check;
}

/** A test file, or a run of the stranger that finds something within so many requests. */
export type Check =
  | { readonly unit: string }
  | {
      readonly strangers: {
        readonly seed: number;
        readonly requests: number;
        /** Further arguments, for example `--bound`. */
        readonly options?: readonly string[];
      };
    };

export const mends: readonly Mend[] = [
  {
    what: 'turn a published Ethereum item into a second one, charged to its signer, by its recovery byte',
    undo: [
      {
        file: 'src/wallets/ethereum/personal-message.ts',
        find: 'const recovery = v >= 27 ? v - 27 : options.allowRawRecovery === true ? v : -1;',
        put: 'const recovery = v >= 27 ? v - 27 : v;',
      },
    ],
    fails: { unit: 'src/wallets/data-items/data-items.test.ts' },
  },
];
