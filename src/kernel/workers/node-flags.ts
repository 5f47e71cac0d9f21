/**
 * What Node is started with for a process that serves. V8 lets the young generation grow to 128 MiB, which a busy gateway
 * soon does though nearly nothing in it outlives a request; in a quarter of that it does the same work. The deployments
 * in `deploy/` and `bin/newer-node.js` say the same. A flag that was given comes later, and counts.
 */
export const servingFlags: readonly string[] = ['--max-semi-space-size=16'];
