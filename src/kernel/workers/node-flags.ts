/**
 * What Node is started with for a process that serves. V8 lets the young generation grow to 128 MiB, which a busy gateway
 * soon does though nearly nothing in it outlives a request; in a quarter of that it does the same work. The deployments
 * in `deploy/` and `bin/newer-node.js` say the same. A flag that was given comes later, and counts.
 */
export const servingFlags: readonly string[] = ['--max-semi-space-size=16'];

/**
 * The C library gives each thread a pool of memory of its own, of which it returns little. Two for all are enough for
 * threads that seldom meet there.
 */
export const servingEnvironment: Readonly<Record<string, string>> = { MALLOC_ARENA_MAX: '2' };
