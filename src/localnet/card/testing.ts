/** A provider of its own for each test, the official client pointed at it, and an endpoint that takes webhooks. */
import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import Stripe from 'stripe';
import { silentLog } from '../../kernel/testing.ts';
import { createLocalCardProvider, type LocalCardProvider } from './local-card-provider.ts';

export interface ProviderForTest {
  readonly provider: LocalCardProvider;
  readonly stripe: Stripe;
  readonly dataDir: string;
  /** Stops it and starts another on the same data, as a restart does. */
  restart(): Promise<ProviderForTest>;
}

/** Removed after the test, once everything opened in it is closed: hooks run in the order they were added. */
export async function temporaryFolder(context: TestContext, close: () => Promise<void>): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), 'turnpike-card-'));
  context.after(async () => {
    await close();
    await rm(folder, { recursive: true, force: true });
  });
  return folder;
}

export async function startProvider(
  context: TestContext,
  options: { now?: () => number } = {},
): Promise<ProviderForTest> {
  let current: LocalCardProvider | undefined;
  const dataDir = await temporaryFolder(context, async () => current?.stop());
  const start = async (): Promise<ProviderForTest> => {
    const provider = createLocalCardProvider(
      { LOCAL_NETWORK_HOST: '127.0.0.1', LOCAL_CARD_PORT: 0, DATA_DIR: dataDir },
      { log: silentLog, ...options },
    );
    current = provider;
    await provider.start();
    return {
      provider,
      stripe: clientOf(provider),
      dataDir,
      async restart() {
        await provider.stop();
        return start();
      },
    };
  };
  return start();
}

/** The official client, told only where the server is. */
export function clientOf(provider: LocalCardProvider): Stripe {
  const { hostname, port } = new URL(provider.url);
  return new Stripe(provider.secretKey, {
    host: hostname,
    port,
    protocol: 'http',
    maxNetworkRetries: 0,
    telemetry: false,
  });
}

export interface Received {
  readonly event: Stripe.Event;
  readonly signature: string;
  readonly body: string;
}

export interface Endpoint {
  readonly url: string;
  readonly received: Received[];
  /** Resolves when `count` webhooks have come in all. */
  until(count: number): Promise<void>;
  /** What it answers from now on. */
  answer: number;
}

export async function startEndpoint(context: TestContext): Promise<Endpoint> {
  const received: Received[] = [];
  const waiting: { count: number; resolve: () => void }[] = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const chunk of request) body += chunk;
    received.push({ event: JSON.parse(body), signature: String(request.headers['stripe-signature']), body });
    response.statusCode = endpoint.answer;
    response.end();
    for (const waiter of waiting) if (received.length >= waiter.count) waiter.resolve();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  context.after(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  const endpoint: Endpoint = {
    url: `http://127.0.0.1:${port}/hook`,
    received,
    answer: 200,
    until: (count) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise((resolve) => waiting.push({ count, resolve })),
  };
  return endpoint;
}
