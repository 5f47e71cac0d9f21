/** No node answered, or none in a way that can be used: nothing is known, the caller may try again. */
export class ChainUnavailable extends Error {
  override readonly name = 'ChainUnavailable';
}

/** A node answered with an error: it understood and said no. */
export class ChainRefused extends Error {
  override readonly name = 'ChainRefused';
  readonly code: number;
  readonly data: unknown;

  constructor(code: number, message: string, data: unknown) {
    super(message);
    this.code = code;
    this.data = data;
  }
}
