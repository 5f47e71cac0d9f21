/**
 * When something that waits is due: its time has come, or is further ahead than anything here ever waits. Such a time was
 * written by a process whose clock was ahead, and nobody should wait for that clock.
 */
export const isDue = (column: string): string => `(${column} <= ? OR ${column} > ?)`;

/** The values of `isDue`, in the unit of its column; `longest` is the longest that anything of its kind waits. */
export const dueBounds = (now: number, longest: number): readonly [number, number] => [
  now,
  now + 2 * longest,
];
