/** A page in Chromium that may speak https to a local network, and an application's code bundled for it. */
import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { build } from 'esbuild';
import { polyfillNode } from 'esbuild-plugin-polyfill-node';
import { type BrowserContext, chromium, type Browser as PlaywrightBrowser } from 'playwright-core';
import { program } from '../support/program.ts';

const executablePath = [
  '/usr/bin/chromium-headless-shell',
  '/usr/bin/chromium',
  '/usr/bin/google-chrome',
].find((path) => existsSync(path));
// Where one is installed for the tests, tests that are left out would hide that it was not.
if (executablePath === undefined && process.env.CI !== undefined) throw new Error('no Chromium is installed');
export const noChromium = executablePath === undefined ? 'SKIPPED: no Chromium is installed' : false;

/** As bundlers of web applications do it: turbo-sdk's web build wants Node's `crypto` and `stream`. */
export async function bundleForPage(file: string): Promise<string> {
  const { outputFiles } = await build({
    entryPoints: [file],
    bundle: true,
    write: false,
    format: 'esm',
    platform: 'browser',
    logLevel: 'silent',
    plugins: [polyfillNode({ polyfills: { crypto: true, async_hooks: 'empty' } })],
  });
  return outputFiles[0]?.text ?? '';
}

export interface Site {
  readonly url: string;
  close(): void;
}

/** An origin of its own: its files by path, and the page for every other path. */
export async function serveSite(html: string, files: Readonly<Record<string, string>>): Promise<Site> {
  const server = createServer((request, response) => {
    const script = files[request.url ?? ''];
    if (script !== undefined) response.setHeader('content-type', 'text/javascript').end(script);
    else response.setHeader('content-type', 'text/html').end(html);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    close() {
      server.closeAllConnections();
      server.close();
    },
  };
}

const plainArguments = ['--no-sandbox', '--disable-gpu', '--disable-dev-shm-usage'];

/** For pages that speak to no network of ours. */
export const launchChromium = (): Promise<PlaywrightBrowser> =>
  chromium.launch({ executablePath: executablePath ?? '', args: plainArguments });

export interface Browser {
  readonly context: BrowserContext;
  close(): Promise<void>;
}

/** It takes the certificates of the network in this folder, and of no other. */
export async function openChromium(dataDir: string): Promise<Browser> {
  const told = execFileSync(process.execPath, [program, 'certificate', '--json'], {
    cwd: resolve(import.meta.dirname, '../..'),
    env: { ...process.env, DATA_DIR: dataDir },
    encoding: 'utf8',
  });
  const { serverKeyHash } = JSON.parse(told);
  const profile = mkdtempSync(join(tmpdir(), 'turnpike-chromium-'));
  const context = await chromium.launchPersistentContext(profile, {
    executablePath: executablePath ?? '',
    args: [...plainArguments, `--ignore-certificate-errors-spki-list=${serverKeyHash}`],
  });
  return {
    context,
    async close() {
      await context.close();
      rmSync(profile, { recursive: true, force: true });
    },
  };
}

/** The address as a page reaches it over TLS. */
export const secureUrl = (url: string): string => `https://localhost:${new URL(url).port}`;
