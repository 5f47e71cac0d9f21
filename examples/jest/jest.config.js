module.exports = {
  testEnvironment: 'node',
  globalSetup: './test/start-network.js',
  globalTeardown: './test/stop-network.js',
  testTimeout: 60_000,
};
