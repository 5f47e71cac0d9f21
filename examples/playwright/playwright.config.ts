import { existsSync } from 'node:fs';
import { defineConfig } from '@playwright/test';

/** The system's own browser where there is one, else the one that "npx playwright install chromium" brings. */
const installed = ['/usr/bin/chromium', '/usr/bin/chromium-headless-shell', '/usr/bin/google-chrome'].find(
  (path) => existsSync(path),
);

export default defineConfig({
  testDir: './test',
  timeout: 120_000,
  workers: 1,
  reporter: 'line',
  use: {
    launchOptions: {
      ...(installed === undefined ? {} : { executablePath: installed }),
      args: ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'],
    },
  },
});
