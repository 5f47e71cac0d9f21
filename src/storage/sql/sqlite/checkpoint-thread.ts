/** The thread that copies write-ahead logs into their databases; see `checkpoints.ts`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../kernel/errors.ts';

export interface CheckpointRequest {
  readonly number: number;
  readonly path: string;
  /**
   * `copy` waits for nobody and copies what no reader still needs to find in the log (PASSIVE). `restart` also keeps
   * writers of all processes out while it copies the rest, and sees that the next one begins the log anew (RESTART).
   * `close` lets go of the file: its database is about to close.
   */
  readonly what: 'copy' | 'restart' | 'close';
}

export interface CheckpointReply {
  readonly number: number;
  /** Frames in the log, and how many of them are in the database now. */
  readonly frames: number;
  readonly copied: number;
  /** A reader of an old snapshot, or another checkpoint, stood in the way. */
  readonly blocked: boolean;
  readonly error: string | undefined;
}

const openTimeoutMs = 1_000;
/** How long writers may wait for readers of old snapshots; a log that is not begun anew now is so later. */
const restartTimeoutMs = 50;
const databases = new Map<string, DatabaseSync>();

parentPort?.on('message', ({ number, path, what }: CheckpointRequest) => {
  let reply: CheckpointReply = { number, frames: 0, copied: 0, blocked: false, error: undefined };
  try {
    if (what === 'close') {
      databases.get(path)?.close();
      databases.delete(path);
    } else {
      reply = { ...reply, ...checkpoint(path, what) };
    }
  } catch (error) {
    reply = { ...reply, error: messageOf(error) };
  }
  parentPort?.postMessage(reply);
});

function checkpoint(
  path: string,
  what: 'copy' | 'restart',
): Pick<CheckpointReply, 'frames' | 'copied' | 'blocked'> {
  let database = databases.get(path);
  if (database === undefined) {
    database = new DatabaseSync(path, { timeout: openTimeoutMs });
    database.exec(
      `PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0; PRAGMA busy_timeout = ${restartTimeoutMs}`,
    );
    databases.set(path, database);
  }
  const mode = what === 'copy' ? 'PASSIVE' : 'RESTART';
  const result = database.prepare(`PRAGMA wal_checkpoint(${mode})`).get();
  return {
    frames: Number(result?.log),
    copied: Number(result?.checkpointed),
    blocked: Number(result?.busy) !== 0,
  };
}
