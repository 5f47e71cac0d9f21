/**
 * Ties a process to the one that started it. The system closes the pipe when the other end dies, however it dies, so
 * that a program whose tests were killed leaves nothing running. A worker thread, which ends with its process anyway, is
 * told by a message.
 */
import { parentPort } from 'node:worker_threads';

export function stopWhenInputEnds(): void {
  let asked = false;
  const stop = (): void => {
    if (asked) return;
    asked = true;
    // As if the signal had come: requests in flight are finished. Before anybody listens to it there is nothing to finish.
    if (!process.emit('SIGTERM')) process.exit(0);
  };
  // Neither keeps the program from ending by itself, when it could not start.
  if (parentPort !== null) {
    parentPort.once('message', stop).unref();
    return;
  }
  process.stdin.on('end', stop).on('close', stop).on('error', stop).resume();
  process.stdin.unref();
}
