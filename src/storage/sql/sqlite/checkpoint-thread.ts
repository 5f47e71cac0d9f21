/** The thread that copies write-ahead logs into their databases; see `checkpoints.ts`. */
import { DatabaseSync } from 'node:sqlite';
import { parentPort } from 'node:worker_threads';
import { messageOf } from '../../../kernel/errors.ts';

export interface CheckpointRequest {
  readonly number: number;
  readonly path: string;
  /** Closes the file instead: its database is about to close. */
  readonly close: boolean;
}

export interface CheckpointReply {
  readonly number: number;
  /** Frames in the log, and how many of them are in the database now. */
  readonly frames: number;
  readonly copied: number;
  readonly error: string | undefined;
}

const busyTimeoutMs = 1_000;
const databases = new Map<string, DatabaseSync>();

parentPort?.on('message', ({ number, path, close }: CheckpointRequest) => {
  let reply: CheckpointReply = { number, frames: 0, copied: 0, error: undefined };
  try {
    if (close) {
      databases.get(path)?.close();
      databases.delete(path);
    } else {
      reply = { ...reply, ...checkpoint(path) };
    }
  } catch (error) {
    reply = { ...reply, error: messageOf(error) };
  }
  parentPort?.postMessage(reply);
});

/** PASSIVE: waits for nobody, copies what no reader still needs to find in the log. */
function checkpoint(path: string): { frames: number; copied: number } {
  let database = databases.get(path);
  if (database === undefined) {
    database = new DatabaseSync(path, { timeout: busyTimeoutMs });
    database.exec('PRAGMA synchronous = NORMAL; PRAGMA wal_autocheckpoint = 0');
    databases.set(path, database);
  }
  const result = database.prepare('PRAGMA wal_checkpoint(PASSIVE)').get();
  return { frames: Number(result?.log), copied: Number(result?.checkpointed) };
}
