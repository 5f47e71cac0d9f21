/**
 * Loaded before the tests (`scripts/test.ts`). Node's test runner follows every promise by an async hook, to tell which
 * test an error came from that nobody caught: awaiting in a loop takes twenty times as long with it. Without, such an
 * error still fails the file, but no test of it; where it came from is told here.
 */
const { isMainThread } = require('node:worker_threads');
const hooks = require('node:async_hooks');

const { createHook } = hooks;
hooks.createHook = (callbacks) =>
  createHook({ trackPromises: callbacks.promiseResolve !== undefined, ...callbacks });

// Not in threads and programs that tests start, which inherit this: they are to end by such an error.
if (isMainThread && /\.test\.ts$|turnpike-test-/.test(process.argv[1] ?? ''))
  process.on('unhandledRejection', (error) => console.error('nobody caught', error));
