/** Thrown by every parser of this room for bytes or text that break the format: the input is at fault. */
export class FormatError extends Error {
  override readonly name: string = 'FormatError';
}
