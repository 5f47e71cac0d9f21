/** Some MiB of memory mounted as a disk, to fill it; undefined where the tests may not mount. */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface SmallDisk {
  readonly folder: string;
  remove(): void;
}

/** `inodes`: how many files and folders there may be at most. */
export function mountSmallDisk(mebibytes = 2, inodes?: number): SmallDisk | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const folder = mkdtempSync(join(tmpdir(), 'turnpike-small-disk-'));
  const options = `size=${mebibytes}m${inodes === undefined ? '' : `,nr_inodes=${inodes}`}`;
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', folder]).status !== 0) {
    rmSync(folder, { recursive: true });
    return undefined;
  }
  return {
    folder,
    remove() {
      // Lazily: what a test that failed has left open must not hide why it failed.
      spawnSync('umount', ['--lazy', folder]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
