/** For tests of time-outs, which are real time: a machine that stands still for longer than one is no fault of the program's. */
import { performance } from 'node:perf_hooks';

const mostRounds = 50;

/**
 * Does `round`; where it fails and this process stood still for longer than `limitMs` meanwhile, once more from the
 * beginning. `limitMs` is well below the shortest time-out that must not fire. A round that failed while the process
 * was awake failed for good.
 */
export async function whileAwake<T>(limitMs: number, round: () => Promise<T>): Promise<T> {
  for (let count = 1; ; count += 1) {
    const watch = watchStandstills();
    try {
      return await round();
    } catch (error) {
      if (watch.longestMs() < limitMs || count === mostRounds) throw error;
    } finally {
      watch.stop();
    }
  }
}

function watchStandstills() {
  const everyMs = 10;
  let last = performance.now();
  let longest = 0;
  const look = (): number => {
    const now = performance.now();
    longest = Math.max(longest, now - last - everyMs);
    last = now;
    return longest;
  };
  const timer = setInterval(look, everyMs);
  return { longestMs: look, stop: () => clearInterval(timer) };
}
