/** What a benchmark is: named measurements, each beside a yardstick taken in the same run. */
export interface Measurement {
  readonly name: string;
  readonly value: number;
  readonly unit: string;
  /** What the ratio is taken against, for example `bare node:http`. */
  readonly yardstick: string;
  /** value / yardstick, or yardstick / value for times: larger is always better. */
  readonly ratio: number;
  /** The ratio to reach; undefined where the figure is only reported. */
  readonly bar?: number;
  readonly note?: string;
}

export interface Bench {
  /** `area/what`, for example `formats/data-root`. */
  readonly name: string;
  run(): Promise<Measurement[]>;
}
