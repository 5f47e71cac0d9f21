import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    globalSetup: './test/network.ts',
    testTimeout: 60_000,
    hookTimeout: 60_000,
  },
});
