/**
 * Loaded before the tests (`scripts/test.ts`). Node's test runner follows every promise by an async hook, to tell which
 * test an error came from that nobody caught: that takes twenty times as long as the promise itself. Without, such an
 * error still fails the file, at times under another test's name.
 */
const hooks = require('node:async_hooks');

const { createHook } = hooks;
hooks.createHook = (callbacks) =>
  createHook({ trackPromises: callbacks.promiseResolve !== undefined, ...callbacks });
