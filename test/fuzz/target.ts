/** Something that reads what strangers send, and what must hold whatever they send. */
export interface Target {
  /** `item-header` */
  readonly name: string;
  /** Throws where something does not hold; an input that is refused as it should be is no fault. */
  run(input: Buffer): void | Promise<void>;
  /** Inputs that are accepted, to begin with. */
  seeds(): readonly (Buffer | string)[];
  /** In bytes; 4096 unless told. */
  readonly longest?: number;
  /** Before the first input, where something has to be started; answers how to end it. */
  open?(): Promise<() => Promise<void>>;
}

/** What a reader answers, or undefined where it refuses with one of the errors it declares. */
export function readOrRefused<T>(
  declared: readonly (new (...parameters: never[]) => Error)[],
  read: () => T,
): T | undefined {
  try {
    return read();
  } catch (error) {
    if (declared.some((kind) => error instanceof kind)) return undefined;
    throw error;
  }
}

/** The input as so many texts that a zero byte divides; those that are not there are empty. */
export function textsOf(input: Buffer): (index: number) => string {
  const texts = input.toString('utf8').split('\0');
  return (index) => texts[index] ?? '';
}

/** The first byte decides about options, the rest is what is read. */
export function optionsOf(input: Buffer): { readonly bits: number; readonly rest: Buffer } {
  return { bits: input[0] ?? 0, rest: input.subarray(1) };
}
