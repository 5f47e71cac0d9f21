/**
 * Ties a process to the one that started it. The system closes the pipe when the other end dies, however it dies, so
 * that a program whose tests were killed leaves nothing running. In a worker thread the stream of the thread is meant.
 */
export function stopWhenInputEnds(): void {
  let asked = false;
  const stop = (): void => {
    if (asked) return;
    asked = true;
    // As if the signal had come: requests in flight are finished. Before anybody listens to it there is nothing to finish.
    if (!process.emit('SIGTERM')) process.exit(0);
  };
  process.stdin.on('end', stop).on('close', stop).on('error', stop).resume();
}
