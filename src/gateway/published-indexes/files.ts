/** Small durable acts on files: written whole or not at all, and there after a crash. */

import { createHash, randomBytes, subtle } from 'node:crypto';
import { constants, createReadStream } from 'node:fs';
import {
  copyFile,
  link,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { hasCode } from '../../kernel/errors.ts';
import type { Steps } from '../../storage/pace.ts';

/** The disk is full or broken: nothing that is tried elsewhere helps. */
export function isDiskError(error: unknown): boolean {
  return hasCode(error, 'ENOSPC', 'EDQUOT', 'EIO', 'EROFS');
}

/** What `writeFileDurably` left when it was killed. Only for who alone writes the file. */
export async function removeHalfWritten(path: string): Promise<void> {
  const half = `${basename(path)}.`;
  for (const name of await readdir(dirname(path)))
    if (name.startsWith(half) && name.endsWith('.tmp')) await rm(join(dirname(path), name), { force: true });
}

/** The whole file, or undefined where there is none; throws for one beyond the limit. */
export async function readBounded(path: string, limit: number): Promise<Buffer | undefined> {
  try {
    const file = await open(path, 'r');
    try {
      const { size } = await file.stat();
      if (size > limit) throw new Error(`${path} is larger than ${limit} bytes`);
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if (hasCode(error, 'ENOENT', 'ENOTDIR')) return undefined;
    throw error;
  }
}

/** undefined where there is no file, or none that can be looked at. */
export function sizeOf(path: string): Promise<number | undefined> {
  return stat(path).then(
    ({ size }) => size,
    () => undefined,
  );
}

/** Files up to here are hashed whole, on another thread. */
const wholeDigestBytes = 8 * 1024 * 1024;
const slowPieceBytes = 256 * 1024;

/** By `steps` where it is to be done slowly. */
export async function digestFile(path: string, steps?: Steps): Promise<{ sha256: string; size: number }> {
  if (steps !== undefined) return digestSlowly(path, steps);
  if ((await stat(path)).size <= wholeDigestBytes) {
    const bytes = await readFile(path);
    const digest = await subtle.digest('SHA-256', bytes);
    return { sha256: Buffer.from(digest).toString('hex'), size: bytes.length };
  }
  const hash = createHash('sha256');
  let size = 0;
  for await (const piece of createReadStream(path, { highWaterMark: 1024 * 1024 })) {
    hash.update(piece);
    size += piece.length;
  }
  return { sha256: hash.digest('hex'), size };
}

async function digestSlowly(path: string, steps: Steps): Promise<{ sha256: string; size: number }> {
  const hash = createHash('sha256');
  const piece = Buffer.allocUnsafeSlow(slowPieceBytes);
  const file = await steps(() => open(path, 'r'));
  try {
    for (let size = 0; ; ) {
      const count = await steps(async () => {
        const { bytesRead } = await file.read(piece, 0, piece.length, size);
        hash.update(piece.subarray(0, bytesRead));
        return bytesRead;
      });
      if (count === 0) return { sha256: hash.digest('hex'), size };
      size += count;
    }
  } finally {
    await file.close();
  }
}

/**
 * A second name for a file under its digest, which pins the very bytes that were hashed: a file that is replaced
 * later under its first name does not change what is served. Copied where the file system cannot link.
 */
export async function pinByDigest(path: string, folder: string): Promise<{ sha256: string; size: number }> {
  await mkdir(folder, { recursive: true });
  const temporary = join(folder, `.${randomBytes(8).toString('hex')}.tmp`);
  try {
    try {
      await link(path, temporary);
    } catch (error) {
      if (!hasCode(error, 'EXDEV', 'EPERM', 'ENOTSUP', 'EMLINK')) throw error;
      await copyFile(path, temporary);
    }
    const digest = await digestFile(temporary);
    await rename(temporary, join(folder, digest.sha256));
    return digest;
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Somebody else has it, for longer than the asker waits. */
export class LockHeld extends Error {
  override readonly name = 'LockHeld';
}

/** Locks that this process has or tries to take: one asker at a time, so that a file with our number is of a dead one. */
const held = new Set<string>();

/** One at a time, among all processes; a lock whose holder is gone is taken over. */
export async function withLock<T>(path: string, work: () => Promise<T>, timeoutMs = 30_000): Promise<T> {
  const until = Date.now() + timeoutMs;
  const waitFor = async (holder: number): Promise<void> => {
    if (Date.now() > until) throw new LockHeld(`${path} is held by process ${holder}`);
    await sleep(50);
  };
  while (held.has(path)) await waitFor(process.pid);
  held.add(path);
  try {
    await mkdir(dirname(path), { recursive: true });
    const mine = `${path}.${randomBytes(6).toString('hex')}.tmp`;
    await writeFile(mine, String(process.pid));
    try {
      // A link comes with its content: no moment at which a lock does not say whose it is.
      while (!(await linked(mine, path))) {
        const holder = Number(await readFile(path, 'utf8').catch(() => ''));
        if (holder === process.pid || (holder > 0 && !isAlive(holder))) await breakLock(path, holder);
        else await waitFor(holder);
      }
    } finally {
      await rm(mine, { force: true });
    }
    try {
      return await work();
    } finally {
      await rm(path, { force: true });
    }
  } finally {
    held.delete(path);
  }
}

async function linked(existing: string, path: string): Promise<boolean> {
  try {
    await link(existing, path);
    return true;
  } catch (error) {
    if (hasCode(error, 'EEXIST')) return false;
    if (!hasCode(error, 'EPERM', 'ENOTSUP')) throw error;
    return copyFile(existing, path, constants.COPYFILE_EXCL).then(
      () => true,
      () => false,
    );
  }
}

/** Moved aside before it is read again: of several who find it dead one breaks it, and no living one is lost. */
async function breakLock(path: string, holder: number): Promise<void> {
  const aside = `${path}.${randomBytes(6).toString('hex')}.tmp`;
  try {
    await rename(path, aside);
  } catch (error) {
    if (hasCode(error, 'ENOENT')) return;
    throw error;
  }
  const found = Number(await readFile(aside, 'utf8').catch(() => ''));
  if (found !== holder) await linked(aside, path);
  await rm(aside, { force: true });
}

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return hasCode(error, 'EPERM');
  }
}
