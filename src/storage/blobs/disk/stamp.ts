/**
 * What the file system says of a file: another inode, size or time means that somebody may have changed its bytes. Any
 * program can set the time of the last write; the time of the last change is the kernel's own. A file that is linked,
 * renamed or removed gets another one too, and is then looked at once more than needed.
 *
 * A change within the same tick of the kernel's clock (some milliseconds) as the last one is not seen. Nor are bits that
 * flip on the medium. Those are for the scrub to find.
 */
export interface Stamp {
  readonly ino: number;
  readonly size: number;
  readonly mtimeMs: number;
  readonly ctimeMs: number;
}

/** A copy, because what a file system answers holds much more. */
export function stampOf({ ino, size, mtimeMs, ctimeMs }: Stamp): Stamp {
  return { ino, size, mtimeMs, ctimeMs };
}

export function isSameStamp(one: Stamp, other: Stamp): boolean {
  return (
    one.ctimeMs === other.ctimeMs &&
    one.mtimeMs === other.mtimeMs &&
    one.ino === other.ino &&
    one.size === other.size
  );
}
