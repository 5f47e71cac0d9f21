/**
 * V8 lets the heap of a process grow to nearly twice of what lives in it before it looks for what can go, and gives
 * little of that back. A gateway that has filled its caches took 85 MiB more for it; so it is looked for when two fifths
 * are new, which costs less than a hundredth of its CPU time. Not while it starts: all that is new then stays, and to
 * look for more made the start in a thread a quarter longer. Node takes this flag on no command line of others
 * (`NODE_OPTIONS`), so that it is set here, for every process that serves; not by a thread, whose process is somebody
 * else's.
 */
import { setFlagsFromString } from 'node:v8';
import { isMainThread } from 'node:worker_threads';

const startIsOverMs = 5_000;

if (isMainThread) setTimeout(() => setFlagsFromString('--heap-growing-percent=40'), startIsOverMs).unref();
