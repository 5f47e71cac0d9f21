/** Throws unless `start` ≤ `end` are whole numbers within a blob of `size` bytes. */
export function checkedRange(start: number, end: number, size: number): void {
  if (!Number.isSafeInteger(start) || !Number.isSafeInteger(end) || start < 0 || start > end || end > size) {
    throw new RangeError(`bytes ${start} to ${end} are not within ${size}`);
  }
}
